//! What is known of a link: its state, the editor at its other end, and the times without a connection. The link's actors report
//! facts; [`Picture::note`] is the only place where a fact changes the picture.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use strum::VariantNames as _;
use tokio::time::Instant;

use crate::core::age;
use crate::fsm::bridge::State;
use crate::fsm::cause::{Availability, Cause, Loss, Return};
use crate::limits::OUTAGES_MAX;
use crate::protocol::crossing::{self, Label, millis};
use crate::protocol::dialect::{EditorState, Heartbeat};
use crate::protocol::ids::Epoch;

/// The editor process and the domain in it that a connection leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditorIdentity {
    /// The process id, from the project's files.
    pub pid: Option<u32>,
    /// The domain's number, from the greeting ([`Met::domain`](crate::protocol::dialect::Met::domain)).
    pub domain: Option<u64>,
}

impl EditorIdentity {
    /// Compares this identity with `now`, the identity after the next greeting. Returns what happened to the editor in between;
    /// `Unknown` if the process or the domain is not known before and after.
    pub fn since(self, now: Self) -> Return {
        match (self.pid.zip(now.pid), self.domain.zip(now.domain)) {
            (Some((before, now)), _) if before != now => Return::OtherProcess,
            (Some(_), Some((before, now))) if before == now => Return::SameDomain,
            (Some(_), Some(_)) => Return::Reloaded,
            _ => Return::Unknown,
        }
    }
}

/// A program on the editor's port that does not answer as an editor. It may be the meant editor itself, while it does not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignPeer {
    pub port: u16,
    /// What the program is, as far as the bytes that it sent or its process show. `None` if that is unknown.
    pub what: Option<String>,
    /// The program's process, if the operating system names it.
    pub owner: Option<String>,
    /// When the program was recognised as foreign.
    #[serde(with = "age")]
    pub since: Instant,
    /// Whether the program is the meant editor, as its process or its project shows; only its answer is missing.
    #[serde(default)]
    pub ours: bool,
}

/// A time without a connection, after an editor was connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When the connection ended.
    #[serde(with = "age")]
    pub at: Instant,
    /// How the connection ended.
    pub loss: Loss,
    /// What kept the editor away, as far as it was found out later: a reload may only be shown by its lock file.
    pub cause: Option<Cause>,
    /// The time until the greeting on the next connection succeeded; `None` until then.
    #[serde(default, with = "millis::some")]
    pub back_after: Option<Duration>,
}

/// The picture of one link. `T`: what a target is, that is a port that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture<T> {
    /// The bridge machine's state, or [`RESTING`].
    #[serde(deserialize_with = "state")]
    pub state: Label,
    /// What callers may expect of the link.
    pub availability: Availability,
    /// Whether there is no evidence yet for or against an editor.
    pub undecided: bool,
    /// Since when the link has been in this state.
    #[serde(with = "age")]
    pub since: Instant,
    /// The epoch of the greeted connection; `None` while there is none.
    pub epoch: Option<Epoch>,
    /// The target that the link is connected to, or was connected to last.
    pub target: Option<T>,
    /// The process and domain of that target's editor, as far as they are known.
    #[serde(default)]
    pub editor: EditorIdentity,
    /// The peer at the editor's port that did not answer as the editor; `None` once the editor is greeted, or nothing listens
    /// there any more.
    pub foreign_peer: Option<ForeignPeer>,
    /// Number of connections that were greeted so far.
    pub connections: u64,
    /// The last heartbeat and when it arrived; only while an editor is connected that sends heartbeats.
    #[serde(default, with = "age::second")]
    pub heartbeat: Option<(Heartbeat, Instant)>,
    /// What the connected editor says that keeps it from taking calls, as a phrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// A compile error that the editor's log shows while it lives and does not listen: most likely it is in Safe Mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compile_error: Option<String>,
    /// The last outages (times without a connection, after a greeted one ended), oldest first; at most [`OUTAGES_MAX`].
    #[serde(default)]
    pub outages: VecDeque<Outage>,
}

/// The state of a link whose actors failed too often, until they start again.
pub const RESTING: &str = "resting";

/// Reads the state of a picture. The words about a link depend on its state, so an unknown state is an error.
fn state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Label, D::Error> {
    crossing::known(deserializer, State::VARIANTS.iter().copied().chain([RESTING]))
}

/// What a part of the link reports.
#[derive(Debug)]
pub enum Fact<T> {
    /// The bridge machine's state, or what callers may expect, has changed.
    Expected {
        state: &'static str,
        availability: Availability,
        /// Whether there is no evidence yet for or against an editor.
        undecided: bool,
    },
    /// The link leads to no project.
    LeadsNowhere {
        availability: Availability,
        /// Whether the project may still be found.
        undecided: bool,
    },
    /// The link's actors failed too often, and start again later.
    Rests,
    Greeted {
        epoch: Epoch,
        target: Option<T>,
        editor: EditorIdentity,
        /// What the editor's return shows of the time without it.
        back: Return,
    },
    /// The greeted connection ended.
    Lost(Loss),
    /// What the editor says of its condition, or what can be inferred of it; `None` if nothing is known any more.
    Felt(Option<Heartbeat>),
    Reported(EditorState),
    /// What the editor says that keeps it from taking calls, if anything does.
    Obstructed(Option<String>),
    /// What the editor's log says of compile errors, while it does not listen.
    DoesNotCompile(Option<String>),
    /// Something else than the editor is at its port.
    Foreign(ForeignPeer),
    /// Nothing listens at this port any more.
    NobodyAt(u16),
    /// Another project is wanted, which changes what of the picture is shown.
    ProjectMoved,
}

impl<T> Picture<T> {
    /// The picture before the first survey.
    pub fn new(now: Instant) -> Self {
        Self {
            state: "idle",
            availability: Availability::Coming(Cause::Connecting),
            undecided: true,
            since: now,
            epoch: None,
            target: None,
            editor: EditorIdentity::default(),
            foreign_peer: None,
            connections: 0,
            heartbeat: None,
            obstacle: None,
            compile_error: None,
            outages: VecDeque::new(),
        }
    }

    /// Changes the picture by a fact. Returns whether those who watch it must look again.
    pub fn note(&mut self, fact: Fact<T>, now: Instant) -> bool {
        match fact {
            Fact::Expected { state, availability, undecided } => self.expect(state, availability, undecided, now),
            Fact::LeadsNowhere { availability, undecided } => {
                (self.availability, self.undecided) = (availability, undecided);
            }
            Fact::Rests => self.expect(RESTING, Availability::Absent(Cause::Gateway), false, now),
            Fact::Greeted { epoch, target, editor, back } => {
                (self.epoch, self.target, self.editor) = (Some(epoch), target, editor);
                (self.foreign_peer, self.compile_error, self.obstacle) = (None, None, None);
                self.connections += 1;
                self.is_back(back, now);
            }
            Fact::Lost(loss) => {
                let greeted = self.epoch.take().is_some();
                // The first reason is kept.
                if greeted {
                    (self.heartbeat, self.obstacle) = (None, None);
                    if self.outages.len() >= OUTAGES_MAX {
                        self.outages.pop_front();
                    }
                    self.outages.push_back(Outage { at: now, loss, cause: None, back_after: None });
                }
                return greeted;
            }
            Fact::Felt(heartbeat) => {
                self.heartbeat = heartbeat.map(|heartbeat| (heartbeat, now));
                // Only the status reads the heartbeat, at its own time.
                return false;
            }
            Fact::Reported(state) => {
                let Some((heartbeat, _)) = &mut self.heartbeat else { return false };
                return std::mem::replace(&mut heartbeat.state, state) != state;
            }
            Fact::Obstructed(by) => {
                let is_news = self.obstacle != by;
                self.obstacle = by;
                return is_news;
            }
            Fact::DoesNotCompile(error) => {
                // What was looked for may have come meanwhile.
                let error = error.filter(|_| self.availability.cause() == Some(Cause::BridgeDown));
                let is_news = self.compile_error != error;
                self.compile_error = error;
                return is_news;
            }
            Fact::Foreign(peer) => self.foreign_peer = Some(peer),
            Fact::NobodyAt(port) => return self.foreign_peer.take_if(|peer| peer.port == port).is_some(),
            Fact::ProjectMoved => self.compile_error = None,
        }
        true
    }

    fn expect(&mut self, state: &'static str, availability: Availability, undecided: bool, now: Instant) {
        (self.state, self.availability, self.undecided, self.since) = (state, availability, undecided, now);
        let cause = availability.cause();
        if cause != Some(Cause::BridgeDown) {
            self.compile_error = None;
        }
        if let Some(outage) = self.outage() {
            outage.cause = cause.or(outage.cause);
        }
    }

    /// Ends the last outage, if it has not ended yet. What the editor's return shows (`back`) supplies a missing cause, and
    /// replaces an assumed one that it contradicts.
    fn is_back(&mut self, back: Return, now: Instant) {
        let Some(outage) = self.outage() else { return };
        outage.back_after = Some(now.saturating_duration_since(outage.at));
        outage.cause = match (back, outage.cause) {
            (Return::Reloaded, _) => Some(Cause::Reloading),
            (Return::SameDomain, Some(Cause::Reloading | Cause::BridgeStopped)) => Some(Cause::Lost),
            (Return::OtherProcess, Some(cause)) if cause.is_gone() => Some(cause),
            (Return::OtherProcess, _) => Some(Cause::ProcessGone),
            (Return::Unknown | Return::SameDomain, cause) => cause,
        };
    }

    /// Returns the last outage; `None` if there was none, or if the editor is back.
    fn outage(&mut self) -> Option<&mut Outage> {
        self.outages.back_mut().filter(|outage| outage.back_after.is_none())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn greeted(epoch: u64, back: Return) -> Fact<u16> {
        Fact::Greeted { epoch: Epoch(epoch), target: Some(7), editor: EditorIdentity::default(), back }
    }

    fn expected(state: &'static str, availability: Availability) -> Fact<u16> {
        Fact::Expected { state, availability, undecided: false }
    }

    #[test]
    fn only_a_greeted_connection_is_lost_and_its_first_reason_is_kept() {
        let now = Instant::now();
        let mut picture = Picture::new(now);
        assert!(!picture.note(Fact::Lost(Loss::Reload), now), "none was greeted");
        picture.note(greeted(1, Return::Unknown), now);
        assert!(picture.note(Fact::Lost(Loss::Reload), now));
        assert!(!picture.note(Fact::Lost(Loss::Gateway), now));
        let losses: Vec<Loss> = picture.outages.iter().map(|outage| outage.loss).collect();
        assert_eq!((losses, picture.epoch), (vec![Loss::Reload], None));
    }

    #[test]
    fn what_is_found_out_while_an_editor_is_away_and_when_it_is_back_names_the_outages_cause() {
        let away = |cause| Availability::Coming(cause);
        for (meanwhile, back, named) in [
            (None, Return::Unknown, None),
            (Some(Cause::Reloading), Return::Unknown, Some(Cause::Reloading)),
            (Some(Cause::Lost), Return::Reloaded, Some(Cause::Reloading)),
            (Some(Cause::Reloading), Return::SameDomain, Some(Cause::Lost)),
            (Some(Cause::Crashed), Return::OtherProcess, Some(Cause::Crashed)),
            (Some(Cause::Lost), Return::OtherProcess, Some(Cause::ProcessGone)),
        ] {
            let now = Instant::now();
            let mut picture = Picture::new(now);
            picture.note(greeted(1, Return::Unknown), now);
            picture.note(Fact::Lost(Loss::Disconnect), now);
            if let Some(cause) = meanwhile {
                picture.note(expected("backing_off", away(cause)), now);
            }
            picture.note(greeted(2, back), now + Duration::from_secs(3));
            let outage = picture.outages.back().unwrap();
            assert_eq!((outage.cause, outage.back_after), (named, Some(Duration::from_secs(3))), "{back:?}");
            // What comes later belongs to no outage.
            picture.note(expected("ready", Availability::Coming(Cause::Compiling)), now);
            assert_eq!(picture.outages.back().unwrap().cause, named);
        }
    }

    #[test]
    fn a_link_that_rests_says_so_until_its_bridge_says_more() {
        let now = Instant::now();
        let mut picture = Picture::<u16>::new(now);
        assert!(picture.note(Fact::Rests, now));
        assert_eq!((picture.state, picture.availability), (RESTING, Availability::Absent(Cause::Gateway)));
        picture.note(expected("idle", Availability::Coming(Cause::Connecting)), now);
        assert_eq!((picture.state, picture.availability), ("idle", Availability::Coming(Cause::Connecting)));
    }

    #[test]
    fn a_heartbeat_wakes_nobody_and_a_new_state_of_the_editor_does() {
        let now = Instant::now();
        let mut picture = Picture::<u16>::new(now);
        let heartbeat = Heartbeat {
            state: EditorState::Ready,
            frame_age: Duration::ZERO,
            focused: true,
            inferred: false,
            every: Duration::ZERO,
            importing: false,
            compile_errors: false,
            queued: 0,
            running: 0,
        };
        assert!(!picture.note(Fact::Reported(EditorState::Ready), now), "no heartbeat was felt");
        assert!(!picture.note(Fact::Felt(Some(heartbeat)), now));
        assert!(!picture.note(Fact::Reported(EditorState::Ready), now), "nothing is new");
        assert!(picture.note(Fact::Reported(EditorState::Compiling), now));
    }

    #[test]
    fn a_foreign_peer_is_shown_until_its_port_is_free_or_the_editor_is_greeted() {
        let now = Instant::now();
        let peer = || Fact::Foreign(ForeignPeer { port: 7, what: None, owner: None, since: now, ours: false });
        let mut picture = Picture::<u16>::new(now);
        picture.note(peer(), now);
        assert!(!picture.note(Fact::NobodyAt(8), now) && picture.foreign_peer.is_some());
        assert!(picture.note(Fact::NobodyAt(7), now) && picture.foreign_peer.is_none());
        picture.note(peer(), now);
        picture.note(greeted(1, Return::Unknown), now);
        assert_eq!(picture.foreign_peer, None);
    }
}
