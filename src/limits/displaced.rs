//! Another client of an editor that serves one.

use std::time::Duration;

/// How soon after it was made a second connection in a row must end, without an answered call, to show that another client displaces us.
/// The server of the package that serves one client looks for editors every 5 s.
pub const DISPLACED_WITHIN: Duration = Duration::from_secs(5);
/// The first pause of a client that was displaced; it doubles from here. An editor is not fought over.
pub const DISPLACED_PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The longest such pause. While a call waits, none is longer than the first.
pub const DISPLACED_PAUSE_MAX: Duration = Duration::from_secs(30);
