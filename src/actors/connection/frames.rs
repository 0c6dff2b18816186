//! A message on its way into a socket.

use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::core::calls::Terms;
use crate::core::exchange::After;
use crate::protocol::ids::CallId;

/// A call that is encoded, and claimed as the last step before its first byte.
pub(super) struct Outgoing {
    pub(super) call: CallId,
    pub(super) terms: Terms,
    pub(super) after: After,
}

/// What was written of a message that is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// Proof that not a byte of it left.
    NoByte,
    /// Some of it may have left.
    Part,
}

/// Writes all of a message.
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
