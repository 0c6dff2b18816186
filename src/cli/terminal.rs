//! Waits for a person at a terminal, and notices when the terminal is gone. The crate that reads keys never returns
//! then, and uses a whole processor.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use crate::limits::WATCH_EVERY;
use crate::platform::stdio;

/// Asks a person on the terminal, and returns the answer. Returns `None` if nobody has the other end of the terminal
/// any more. `ask` then ends only with the program.
pub(super) fn while_it_is_open<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = sync_channel(1);
    std::thread::spawn(move || tell.send(ask()));
    loop {
        match told.recv_timeout(WATCH_EVERY) {
            // Drawing on a terminal that is gone fails, and such a failure is no answer.
            Ok(answer) => return Some(answer).filter(|_| !stdio::stdin_hung_up()),
            Err(RecvTimeoutError::Timeout) if !stdio::stdin_hung_up() => {}
            // After a panic there is nobody to wait for.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}
