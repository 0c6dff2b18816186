//! What a session's process has of a link of a hub, beside the link's state.

use std::sync::{Arc, Mutex};

use super::hub::HubPort;
use super::standing::Standing;
use crate::core::calls::Lookup;
use crate::core::port::messages::Sighting;
use crate::protocol::ids::CallId;
use crate::runtime::enter;

/// How many results that were fetched from the hub wait to be read. Each may have megabytes.
const LOOKED_UP_MAX: usize = 8;

/// What a session's process has of a link of a hub.
#[derive(Debug)]
pub struct Remote {
    /// The port to the hub.
    pub(super) hub: Arc<HubPort>,
    /// The last sighting, with the number of the connection over which it came.
    pub(super) sighted: Mutex<Option<(u64, Sighting)>>,
    /// How the link stood when the hub was asked last.
    pub(super) stands: Mutex<Option<Arc<Standing>>>,
    /// What the hub said of calls that it was asked for, until it is read.
    looked_up: Mutex<Vec<(CallId, Lookup)>>,
    /// The last of them that was read.
    last: Mutex<Option<(CallId, Lookup)>>,
}

impl Remote {
    pub(super) fn of(hub: Arc<HubPort>) -> Self {
        Self {
            hub,
            sighted: Mutex::default(),
            stands: Mutex::default(),
            looked_up: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Keeps what the hub said of a call, until it is read. If nobody reads them, the oldest are dropped.
    pub(super) fn keep(&self, call: CallId, lookup: Lookup) {
        let mut looked_up = enter(&self.looked_up);
        looked_up.retain(|(of, _)| *of != call);
        looked_up.push((call, lookup));
        let surplus = looked_up.len().saturating_sub(LOOKED_UP_MAX);
        looked_up.drain(..surplus);
    }

    /// Whether the hub was asked for this call and its word was not read yet.
    pub(super) fn has(&self, call: CallId) -> bool {
        enter(&self.looked_up).iter().any(|(of, _)| *of == call)
    }

    /// Returns what the hub said of this call, and marks it as read.
    pub(super) fn looked_up(&self, call: CallId) -> Option<Lookup> {
        let mut looked_up = enter(&self.looked_up);
        let mut last = enter(&self.last);
        if let Some(at) = looked_up.iter().position(|(of, _)| *of == call) {
            *last = Some(looked_up.remove(at));
        }
        last.as_ref().filter(|(of, _)| *of == call).map(|(_, lookup)| lookup.clone())
    }
}
