//! Writing a message to a socket.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::core::calls::Terms;
use crate::core::exchange::After;
use crate::link::Recording;
use crate::protocol::ids::CallId;

/// What is needed to claim an encoded call. The claim is the last step before the call's first byte is written.
pub(super) struct Outgoing {
    pub(super) call: CallId,
    /// What is recorded of the call before it is claimed; `None` if no record is kept.
    pub(super) record: Option<Recording>,
    pub(super) terms: Terms,
    pub(super) after: After,
}

/// How much of a message was written before writing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// It is certain that no byte was written.
    NoByte,
    /// Part of the message may have been written.
    Part,
}

/// Writes a whole message.
pub(super) async fn write_whole(socket: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> Result<(), Torn> {
    let mut rest = frame;
    while !rest.is_empty() {
        match socket.write(rest).await {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            Ok(_) | Err(_) if rest.len() == frame.len() => return Err(Torn::NoByte),
            Ok(_) | Err(_) => return Err(Torn::Part),
        }
    }
    socket.flush().await.map_err(|_| Torn::Part)
}
