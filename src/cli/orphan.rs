//! Decides when a client is gone although its pipes are open: a process that the client started may still hold them.
//!
//! The end of the parent process alone proves nothing: the parent may have been a launcher, and the client may still run. A
//! stdout that nobody reads any more is proof that the client is gone. If the protocol has a ping, the gateway sends one, which
//! every living client answers; any other line from the client also proves that it lives. If the client cannot be asked (no
//! session is open yet, the stateless era has no ping, or the ping waits behind a blocked stdout), it is gone once it has been
//! silent longer than any living client is.
//!
//! Time is measured by the number of looks, so the time during which the machine sleeps does not count as silence.

use std::time::Duration;

use crate::limits::{CLIENT_ANSWER_MAX, CLIENT_ASK_EVERY, CLIENT_OPENING_MAX, CLIENT_SILENCE_MAX, PARENT_WATCH_EVERY};

/// Whether the gateway can send the client a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// No session is open: a ping may not be sent before the handshake.
    None,
    Asks,
    Mute,
}

/// What one look shows of a client whose parent process has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub session: Session,
    pub heard: u64,
    /// Whether lines for the client are still queued. If so, the client may not have received the ping yet.
    pub is_behind: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    Ask,
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Orphan {
    heard: u64,
    silent: Duration,
    /// How long the client has had a ping without answering; `None` if no ping is unanswered.
    asked: Option<Duration>,
    /// How long ago the last ping was sent; `None` if none was sent yet.
    since_asked: Option<Duration>,
}

impl Orphan {
    /// Returns what to do next. Must be called every `PARENT_WATCH_EVERY`.
    pub fn look(&mut self, look: Look) -> Next {
        self.silent += PARENT_WATCH_EVERY;
        self.since_asked = self.since_asked.map(|since| since + PARENT_WATCH_EVERY);
        if look.heard != self.heard {
            (self.heard, self.silent, self.asked) = (look.heard, Duration::ZERO, None);
        }
        // The time to answer a ping runs only while no line waits in the queue: only then the client surely has the ping.
        self.asked = self.asked.map(|asked| if look.is_behind { Duration::ZERO } else { asked + PARENT_WATCH_EVERY });
        let silence_max = if look.session == Session::None { CLIENT_OPENING_MAX } else { CLIENT_SILENCE_MAX };
        let is_due = self.since_asked.is_none_or(|since| since >= CLIENT_ASK_EVERY);
        if self.silent >= silence_max || self.asked.is_some_and(|asked| asked >= CLIENT_ANSWER_MAX) {
            Next::Gone
        } else if look.session == Session::Asks && self.asked.is_none() && is_due {
            Next::Ask
        } else {
            Next::Wait
        }
    }

    pub fn asked(&mut self) {
        (self.asked, self.since_asked) = (Some(Duration::ZERO), Some(Duration::ZERO));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Look = Look { session: Session::Asks, heard: 1, is_behind: false };

    /// Returns how long it takes until the client counts as gone, if each look shows `look`.
    fn lasts(orphan: &mut Orphan, look: Look) -> Duration {
        let mut looks = 0;
        loop {
            looks += 1;
            match orphan.look(look) {
                Next::Gone => return PARENT_WATCH_EVERY * looks,
                Next::Ask => orphan.asked(),
                Next::Wait => {}
            }
        }
    }

    fn about(took: Duration, bound: Duration) {
        assert!(took.abs_diff(bound) <= 2 * PARENT_WATCH_EVERY, "{took:?}, not {bound:?}");
    }

    #[test]
    fn a_client_that_answers_no_ping_is_gone_and_one_that_says_anything_stays() {
        about(lasts(&mut Orphan::default(), QUIET), CLIENT_ANSWER_MAX);
        let mut orphan = Orphan::default();
        let mut pings = 0;
        for n in 0..1000 {
            match orphan.look(Look { heard: 2 + pings, ..QUIET }) {
                Next::Ask => {
                    orphan.asked();
                    pings += 1;
                }
                next => assert_eq!(next, Next::Wait, "look {n}"),
            }
        }
        assert_eq!(pings, 17, "one every 30 of 500 s");
    }

    #[test]
    fn a_ping_that_waits_behind_a_blocked_stdout_is_no_unanswered_one() {
        let mut orphan = Orphan::default();
        assert_eq!(orphan.look(QUIET), Next::Ask);
        orphan.asked();
        for _ in 0..100 {
            assert_eq!(orphan.look(Look { is_behind: true, ..QUIET }), Next::Wait);
        }
        // The client reads again, so the time to answer the ping starts here.
        about(lasts(&mut orphan, QUIET), CLIENT_ANSWER_MAX);
        about(lasts(&mut Orphan::default(), Look { is_behind: true, ..QUIET }), CLIENT_SILENCE_MAX);
    }

    #[test]
    fn who_cannot_be_asked_is_never_asked_and_gone_after_a_silence() {
        for (session, bound) in [(Session::None, CLIENT_OPENING_MAX), (Session::Mute, CLIENT_SILENCE_MAX)] {
            for is_behind in [false, true] {
                let mut orphan = Orphan::default();
                about(lasts(&mut orphan, Look { session, heard: 0, is_behind }), bound);
                assert_eq!(orphan.since_asked, None);
            }
        }
    }

    #[test]
    fn a_ping_that_found_no_room_is_tried_again() {
        let mut orphan = Orphan::default();
        assert_eq!((orphan.look(QUIET), orphan.look(QUIET)), (Next::Ask, Next::Ask));
    }
}
