//! When a client counts as gone though its pipes are open: a grandchild may hold them.
//!
//! A parent that is gone says nothing by itself: it may have been a launcher, and the client lives. What is certain is that nobody
//! reads stdout any more. A client that can be asked is asked by a ping, which every living one answers; what it says by itself
//! counts as well. Who cannot be asked (no session yet, no ping in the stateless era, a ping that waits behind a stdout that takes
//! nothing) is gone after a silence that no living client keeps.
//!
//! Time is counted in looks: while the machine sleeps nobody is silent.

use std::time::Duration;

use crate::limits::{CLIENT_ANSWER_MAX, CLIENT_ASK_EVERY, CLIENT_OPENING_MAX, CLIENT_SILENCE_MAX, PARENT_WATCH_EVERY};

/// Whether the client can be asked if it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// It has opened none: a ping may not come before the handshake.
    None,
    /// Its protocol has a ping.
    Asks,
    /// Its protocol has none.
    Mute,
}

/// What one look shows of a client whose launcher has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub session: Session,
    /// How many lines it has sent.
    pub heard: u64,
    /// Whether lines for it wait: it need not have seen a ping.
    pub is_behind: bool,
}

/// What follows from a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    /// A ping is due.
    Ask,
    /// It is gone.
    Gone,
}

/// An orphaned gateway's watch over its client.
#[derive(Debug, Default)]
pub(super) struct Orphan {
    heard: u64,
    /// How long it has said nothing.
    silent: Duration,
    /// How long it could have answered the ping that it owes an answer.
    asked: Option<Duration>,
    /// How long ago it was asked last.
    since_asked: Option<Duration>,
}

impl Orphan {
    /// What follows from what is seen now, one interval after the last look.
    pub fn look(&mut self, look: Look) -> Next {
        self.silent += PARENT_WATCH_EVERY;
        self.since_asked = self.since_asked.map(|since| since + PARENT_WATCH_EVERY);
        if look.heard != self.heard {
            (self.heard, self.silent, self.asked) = (look.heard, Duration::ZERO, None);
        }
        // The ping must have left, and be the last that it was told.
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

    /// The ping is on its way.
    pub fn asked(&mut self) {
        (self.asked, self.since_asked) = (Some(Duration::ZERO), Some(Duration::ZERO));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Look = Look { session: Session::Asks, heard: 1, is_behind: false };

    /// How long the client lasts if each look shows this.
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
        // It reads again: from here on it owes the answer.
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
