//! Replies that name no request.

use super::Line;
use crate::protocol::dialect::Inbound;

impl Line {
    /// Such a reply belongs to the only request that is open, where the dialect says so.
    pub(super) fn named(&self, inbound: Inbound, frame: &[u8]) -> Inbound {
        let Inbound::Unmatched { .. } = inbound else { return inbound };
        let open = match self.awaiting().keys().collect::<Vec<_>>().as_slice() {
            [number] => **number,
            _ => return inbound,
        };
        self.target.dialect.read_unnamed(frame).map_or(inbound, |reply| Inbound::Reply { number: open, reply })
    }
}
