//! The tool catalogue: which source is published, and when the editor is asked again.
//!
//! The shell feeds the machine from the file of an earlier session (`DiskRead`), the bridge (`LinkReady`, `LinkLost`,
//! `ListReceived`, `ListFailed`), hints on either connection that the list changed (`ChangeHinted`), and a change of the wanted
//! project (`ProjectChanged`). The machine decides what is published, when a list is requested and when clients are notified.
//!
//! Only one refresh runs at a time, and at most one more is remembered (`again`): an editor that announces fifty changes during
//! an import is asked twice. The shell compares the content of a list with its current catalogue and passes only the result
//! (`changed`) to the machine. So a reload that brings back the same tools publishes `live` again and notifies no client.
//!
//! The events for answers have no number: the shell drops every answer except the one to its last request on the current epoch.
//! So a list of an old connection is never taken for a list of the new one.
//!
//! A published catalogue stays published until the project changes: if the link is lost, a live list becomes stale, and a failed
//! request changes nothing, since an old list is better for a client than none. Every state except `refreshing` is named after
//! what is published.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Machine, Outcome, Reaction, statig_machine};
use crate::limits::LIST_RETRY_AFTER;

/// Where the published catalogue comes from.
#[derive(
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    Debug,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantNames,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Source {
    /// There is no catalogue: only the gateway's own tools are listed.
    #[default]
    None,
    /// The catalogue is from the file of an earlier session.
    Disk,
    /// The catalogue is from the editor, and the link is up.
    Live,
    /// The catalogue is from the editor, read during this process; the link is down.
    Stale,
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Registry {
    pub published: Source,
    /// Whether the retry timer is armed. It is disarmed when the link is lost.
    pub retrying: bool,
    /// Whether another refresh follows the running one.
    pub again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// No catalogue.
    Empty,
    /// The catalogue from disk.
    Cached,
    /// The editor was asked for its list, and has not answered yet.
    Refreshing,
    /// The editor's catalogue, link up.
    Live,
    /// The editor's catalogue; the link is down, or is up and the editor was not asked yet.
    Stale,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, strum::IntoStaticStr, strum::VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// No refresh is running.
    Resting,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Timer {
    /// The wait after a failed list is over: request the list again.
    Retry,
}

/// What can happen to the registry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    DiskRead {
        /// Whether the file contains a usable catalogue.
        found: bool,
    },
    /// The greeting is complete, so the editor can be asked.
    LinkReady,
    /// The editor cannot be asked any more.
    LinkLost,
    /// A hint says that the editor's list changed.
    ChangeHinted,
    ListReceived {
        /// Whether the list's content differs from the published catalogue.
        changed: bool,
    },
    /// The editor's list was not received, or cannot be used.
    ListFailed,
    /// Another project is wanted, for which the published catalogue is useless.
    ProjectChanged,
    Elapsed(Timer),
}

/// What the shell must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Ask the editor for its list.
    RequestList,
    /// Publish the current catalogue with this source.
    Publish(Source),
    /// Notify clients that the catalogue changed.
    Announce,
    /// Write the list that was received last to disk.
    SaveDisk,
    Arm(Timer, Duration),
    Disarm(Timer),
}

impl Registry {
    /// Returns the state that is named after the published source.
    fn rest(&self) -> State {
        match self.published {
            Source::None => State::Empty,
            Source::Disk => State::Cached,
            Source::Live => State::Live,
            Source::Stale => State::Stale,
        }
    }

    fn publish(&mut self, source: Source, out: &mut Reaction<Self>) {
        self.published = source;
        out.order(Effect::Publish(source));
    }

    fn disarm(&mut self, out: &mut Reaction<Self>) {
        if std::mem::take(&mut self.retrying) {
            out.order(Effect::Disarm(Timer::Retry));
        }
    }

    /// Drops the catalogue and the state of the link, which belong to the former project.
    fn change_project(&mut self, out: &mut Reaction<Self>) -> Outcome<State> {
        self.again = false;
        self.disarm(out);
        if self.published != Source::None {
            self.publish(Source::None, out);
            out.order(Effect::Announce);
        }
        Outcome::Transition(State::Empty)
    }

    fn link_lost(&mut self, out: &mut Reaction<Self>) {
        self.again = false;
        self.disarm(out);
        if self.published == Source::Live {
            self.publish(Source::Stale, out);
        }
    }
}

impl Machine for Registry {
    const NAME: &'static str = "registry";
    type State = State;
    type Group = Group;
    type Event = Event;
    type Effect = Effect;

    fn initial() -> State {
        State::Empty
    }

    fn group(state: State) -> Option<Group> {
        (state != State::Refreshing).then_some(Group::Resting)
    }

    fn on(&mut self, state: State, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match (state, event) {
            (_, Event::ProjectChanged) => self.change_project(out),
            (_, Event::DiskRead { found: false }) => out.ignore("there is nothing to publish"),
            (State::Empty, Event::DiskRead { .. }) => {
                self.publish(Source::Disk, out);
                Outcome::Transition(State::Cached)
            }
            (State::Refreshing, Event::DiskRead { .. }) if self.published == Source::None => {
                self.publish(Source::Disk, out);
                Outcome::Handled
            }
            (State::Refreshing | State::Live | State::Stale, Event::DiskRead { .. }) => {
                out.ignore("what is published is newer")
            }
            (State::Refreshing, Event::LinkReady | Event::ChangeHinted) if self.again => {
                out.ignore("one more refresh is remembered already")
            }
            (State::Refreshing, Event::LinkReady | Event::ChangeHinted) => {
                self.again = true;
                Outcome::Handled
            }
            (State::Refreshing | State::Live, Event::LinkLost) => {
                self.link_lost(out);
                Outcome::Transition(self.rest())
            }
            (State::Refreshing, Event::ListReceived { changed }) => {
                // The write is ordered first: a command may end as soon as the list is published, and a write that begins
                // after that is lost.
                if *changed {
                    out.order(Effect::SaveDisk);
                }
                self.publish(Source::Live, out);
                if *changed {
                    out.order(Effect::Announce);
                }
                let again = std::mem::take(&mut self.again);
                Outcome::Transition(if again { State::Refreshing } else { State::Live })
            }
            // The hint came after the request that failed, so there is no reason to wait.
            (State::Refreshing, Event::ListFailed) if std::mem::take(&mut self.again) => {
                Outcome::Transition(State::Refreshing)
            }
            (State::Refreshing, Event::ListFailed) => {
                self.retrying = true;
                out.order(Effect::Arm(Timer::Retry, LIST_RETRY_AFTER));
                Outcome::Transition(self.rest())
            }
            // The link is up in `live`, and elsewhere only while the list is asked for again after a failure.
            (State::Live, Event::ChangeHinted) => {
                self.disarm(out);
                Outcome::Transition(State::Refreshing)
            }
            _ => Outcome::Super,
        }
    }

    fn on_group(&mut self, Group::Resting: Group, event: &Event, out: &mut Reaction<Self>) -> Outcome<State> {
        match event {
            Event::LinkReady => {
                self.disarm(out);
                Outcome::Transition(State::Refreshing)
            }
            Event::LinkLost if self.retrying => {
                self.link_lost(out);
                Outcome::Handled
            }
            Event::LinkLost => out.ignore("the link was not up"),
            Event::ChangeHinted if self.retrying => {
                self.disarm(out);
                Outcome::Transition(State::Refreshing)
            }
            Event::ChangeHinted => out.ignore("the link is down: a list is asked for when it is back"),
            Event::ListReceived { .. } | Event::ListFailed => {
                out.ignore("the answer to a refresh that was given up when its link was lost")
            }
            Event::Elapsed(Timer::Retry) if self.retrying => {
                self.retrying = false;
                Outcome::Transition(State::Refreshing)
            }
            _ => Outcome::Super,
        }
    }

    fn entered(&mut self, state: State, out: &mut Reaction<Self>) {
        if state == State::Refreshing {
            out.order(Effect::RequestList);
        }
    }
}
statig_machine!(Registry, State, Group);

#[cfg(test)]
impl super::tests::Charted for Registry {
    fn specimens() -> Vec<Event> {
        vec![
            Event::DiskRead { found: true },
            Event::DiskRead { found: false },
            Event::LinkReady,
            Event::LinkLost,
            Event::ChangeHinted,
            Event::ListReceived { changed: true },
            Event::ListReceived { changed: false },
            Event::ListFailed,
            Event::ProjectChanged,
            Event::Elapsed(Timer::Retry),
        ]
    }

    fn starts() -> Vec<Self> {
        vec![Self::default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::tests::{after, walk};

    const FOUND: Event = Event::DiskRead { found: true };
    const NEW: Event = Event::ListReceived { changed: true };
    const SAME: Event = Event::ListReceived { changed: false };

    #[test]
    fn empty_disk_read_publishes_what_an_earlier_session_knew() {
        let mut it = after(Registry::default(), &[]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Publish(Source::Disk)]);
        assert_eq!(it.state(), State::Cached);
    }

    #[test]
    fn refreshing_disk_read_fills_the_gap_but_never_replaces_a_live_list() {
        let mut it = after(Registry::default(), &[Event::LinkReady]);
        assert_eq!(it.feed(&FOUND).effects, [Effect::Publish(Source::Disk)]);
        let mut it = after(Registry::default(), &[Event::LinkReady, NEW, Event::ChangeHinted]);
        assert!(it.feed(&FOUND).effects.is_empty());
    }

    #[test]
    fn refreshing_list_received_announces_and_saves_a_real_change_only() {
        let mut it = after(Registry::default(), &[FOUND, Event::LinkReady]);
        assert_eq!(it.feed(&SAME).effects, [Effect::Publish(Source::Live)]);
        it.feed(&Event::ChangeHinted);
        assert_eq!(it.feed(&NEW).effects, [Effect::SaveDisk, Effect::Publish(Source::Live), Effect::Announce]);
        assert_eq!(it.state(), State::Live);
    }

    #[test]
    fn refreshing_change_hinted_fifty_times_asks_once_more() {
        let mut it = after(Registry::default(), &[Event::LinkReady]);
        for _ in 0..50 {
            assert!(it.feed(&Event::ChangeHinted).effects.is_empty());
        }
        assert_eq!(it.feed(&SAME).effects, [Effect::Publish(Source::Live), Effect::RequestList]);
        assert_eq!(it.feed(&SAME).effects, [Effect::Publish(Source::Live)]);
    }

    #[test]
    fn refreshing_list_failed_asks_again_later_and_keeps_what_is_published() {
        let mut it = after(Registry::default(), &[FOUND, Event::LinkReady]);
        assert_eq!(it.feed(&Event::ListFailed).effects, [Effect::Arm(Timer::Retry, LIST_RETRY_AFTER)]);
        assert_eq!(it.state(), State::Cached);
        assert_eq!(it.feed(&Event::Elapsed(Timer::Retry)).effects, [Effect::RequestList]);
    }

    #[test]
    fn refreshing_list_failed_after_a_hint_asks_at_once() {
        let mut it = after(Registry::default(), &[Event::LinkReady, Event::ChangeHinted]);
        assert_eq!(it.feed(&Event::ListFailed).effects, [Effect::RequestList]);
    }

    #[test]
    fn cached_link_lost_forgets_the_retry() {
        let mut it = after(Registry::default(), &[FOUND, Event::LinkReady, Event::ListFailed]);
        assert_eq!(it.feed(&Event::LinkLost).effects, [Effect::Disarm(Timer::Retry)]);
    }

    #[test]
    fn live_link_lost_keeps_the_list_and_says_that_it_is_stale() {
        let mut it = after(Registry::default(), &[Event::LinkReady, NEW]);
        assert_eq!(it.feed(&Event::LinkLost).effects, [Effect::Publish(Source::Stale)]);
        assert_eq!(it.state(), State::Stale);
        assert_eq!(it.feed(&Event::LinkReady).effects, [Effect::RequestList]);
        assert_eq!(it.feed(&Event::LinkLost).effects, []);
        assert_eq!(it.state(), State::Stale);
    }

    #[test]
    fn stale_list_received_late_is_dropped() {
        let mut it = after(Registry::default(), &[Event::LinkReady, NEW, Event::LinkLost]);
        let out = it.feed(&NEW);
        assert!(out.effects.is_empty() && out.ignored.is_some());
    }

    #[test]
    fn every_resting_state_is_named_after_what_is_published() {
        let walk = walk::<Registry>();
        for place in &walk.configurations {
            let (it, state) = (place.driver.machine(), place.driver.state());
            if state == State::Refreshing {
                assert!(!it.retrying, "{it:?}");
            } else {
                assert_eq!(it.rest(), state, "{it:?}");
                assert!(!it.again, "{it:?}");
            }
        }
    }
}
