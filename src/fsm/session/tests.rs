use super::*;
use crate::fsm::tests::{after, walk};

const LIVE: Event = Event::CataloguePublished(Source::Live);
const SYNC: Event = Event::Opened(Kind::IgnoresChanges);
const ASYNC: Event = Event::Opened(Kind::HonoursChanges);
const ANSWERED: [Effect; 2] = [Effect::Disarm(Timer::ToolsWait), Effect::AnswerLists];

fn session(events: &[Event]) -> crate::fsm::Driver<Session> {
    after(Session::default(), events)
}

#[test]
fn awaiting_open_opened_answers_and_dials() {
    let mut it = session(&[]);
    assert_eq!(it.feed(&SYNC).effects, [Effect::AnswerOpen, Effect::WantEditor]);
    assert_eq!(it.state(), State::Serving);
}

#[test]
fn awaiting_open_requests_are_refused() {
    let mut it = session(&[]);
    assert_eq!(it.feed(&Event::ListRequested).effects, [Effect::RefuseUnopened]);
    assert_eq!(it.feed(&Event::CallRequested).effects, [Effect::RefuseUnopened]);
}

#[test]
fn awaiting_open_input_ended_leaves_nothing_to_do() {
    assert!(session(&[]).feed(&Event::InputEnded).effects.is_empty());
    assert_eq!(session(&[Event::InputEnded]).feed(&ASYNC).effects, [Effect::RefuseDraining]);
}

#[test]
fn serving_list_requested_by_an_async_client_waits_only_where_nothing_is_known_of_the_tools() {
    for (likelihood, source, waits) in [
        (Likelihood::Unknown, Source::None, true),
        (Likelihood::Likely, Source::None, true),
        (Likelihood::Unlikely, Source::None, false),
        (Likelihood::Likely, Source::Disk, false),
        (Likelihood::Likely, Source::Live, false),
        (Likelihood::Likely, Source::Stale, false),
    ] {
        let mut it = session(&[ASYNC, Event::LikelihoodChanged(likelihood), Event::CataloguePublished(source)]);
        let end = if waits { Effect::Arm(Timer::ToolsWait, TOOLS_WAIT_HEARING) } else { Effect::AnswerLists };
        assert_eq!(it.feed(&Event::ListRequested).effects, [Effect::WantEditor, end], "{likelihood:?} {source:?}");
        // Lists after the first one never wait.
        it.feed(&Event::Elapsed(Timer::ToolsWait));
        assert_eq!(it.feed(&Event::ListRequested).effects, [Effect::WantEditor, Effect::AnswerLists]);
    }
    let mut it = session(&[ASYNC, Event::ListRequested]);
    assert!(it.feed(&Event::CatalogueChanged).effects.is_empty(), "the list that waits holds it");
    assert_eq!(it.feed(&Event::CataloguePublished(Source::Disk)).effects, ANSWERED);
}

#[test]
fn serving_list_requested_first_by_a_sync_client_waits_unless_live_or_unlikely() {
    for (likelihood, source, waits) in [
        (Likelihood::Unknown, Source::None, true),
        (Likelihood::Likely, Source::Disk, true),
        (Likelihood::Likely, Source::Stale, true),
        (Likelihood::Unlikely, Source::Disk, false),
        (Likelihood::Unlikely, Source::None, false),
        (Likelihood::Likely, Source::Live, false),
    ] {
        let mut it = session(&[SYNC, Event::LikelihoodChanged(likelihood), Event::CataloguePublished(source)]);
        let end = if waits { Effect::Arm(Timer::ToolsWait, TOOLS_WAIT) } else { Effect::AnswerLists };
        assert_eq!(it.feed(&Event::ListRequested).effects, [Effect::WantEditor, end], "{likelihood:?} {source:?}");
    }
}

#[test]
fn waiting_for_tools_published_live_answers_and_disk_does_not() {
    let mut it = session(&[SYNC, Event::ListRequested]);
    assert!(it.feed(&Event::CataloguePublished(Source::Disk)).effects.is_empty());
    assert_eq!(it.feed(&LIVE).effects, ANSWERED);
    assert_eq!(it.state(), State::Serving);
}

#[test]
fn waiting_for_tools_outlook_unlikely_and_the_timer_answer_too() {
    for event in [Event::LikelihoodChanged(Likelihood::Unlikely), Event::Elapsed(Timer::ToolsWait)] {
        assert_eq!(session(&[SYNC, Event::ListRequested]).feed(&event).effects, ANSWERED);
    }
}

#[test]
fn waiting_for_tools_call_requested_is_accepted_meanwhile() {
    let mut it = session(&[SYNC, Event::ListRequested]);
    assert_eq!(it.feed(&Event::CallRequested).effects, [Effect::WantEditor, Effect::AcceptCall]);
    assert_eq!(it.state(), State::WaitingForTools);
}

#[test]
fn waiting_for_tools_opened_again_waits_as_the_new_client_does() {
    let mut it = session(&[SYNC, Event::ListRequested]);
    for (opened, span) in [(SYNC, TOOLS_WAIT), (ASYNC, TOOLS_WAIT_HEARING)] {
        let wait = Effect::Arm(Timer::ToolsWait, span);
        assert_eq!(it.feed(&opened).effects, [Effect::AnswerOpen, Effect::WantEditor, wait]);
        assert_eq!(it.state(), State::WaitingForTools);
    }
    it = session(&[SYNC, Event::CataloguePublished(Source::Disk), Event::ListRequested]);
    it.feed(&ASYNC);
    assert_eq!(it.state(), State::Serving, "it hears of changes to what is known");
}

#[test]
fn serving_list_requested_later_never_waits_until_a_new_handshake() {
    let mut it = session(&[SYNC, Event::ListRequested, Event::Elapsed(Timer::ToolsWait)]);
    assert_eq!(it.feed(&Event::ListRequested).effects, [Effect::WantEditor, Effect::AnswerLists]);
    it.feed(&SYNC);
    it.feed(&Event::ListRequested);
    assert_eq!(it.state(), State::WaitingForTools);
}

#[test]
fn serving_catalogue_changed_is_announced_to_both_kinds() {
    for opened in [SYNC, ASYNC] {
        assert_eq!(session(&[opened]).feed(&Event::CatalogueChanged).effects, [Effect::AnnounceChange]);
    }
    assert!(session(&[]).feed(&Event::CatalogueChanged).effects.is_empty());
}

#[test]
fn waiting_for_tools_input_ended_still_answers_the_lists() {
    let mut it = session(&[SYNC, Event::ListRequested]);
    assert_eq!(it.feed(&Event::InputEnded).effects, ANSWERED);
    assert_eq!(it.state(), State::Draining);
}

#[test]
fn draining_requests_are_refused() {
    let mut it = session(&[ASYNC, Event::InputEnded]);
    for event in [SYNC, Event::ListRequested, Event::CallRequested] {
        assert_eq!(it.feed(&event).effects, [Effect::RefuseDraining]);
    }
}

#[test]
fn no_configuration_waits_without_a_reason_or_lets_a_second_list_wait() {
    for place in &walk::<Session>().configurations {
        let waiting = place.driver.state() == State::WaitingForTools;
        assert!(!waiting || place.driver.machine().list_waits(), "{:?}", place.driver);
    }
}

#[test]
fn a_first_list_waits_for_the_roots_that_the_client_was_asked_for() {
    let mut it = session(&[SYNC, Event::LikelihoodChanged(Likelihood::Unlikely), Event::RootsAwaited(true)]);
    assert!(!it.feed(&Event::ListRequested).effects.contains(&Effect::AnswerLists), "the project is not known yet");
    assert!(
        it.feed(&Event::LikelihoodChanged(Likelihood::Likely)).effects.is_empty(),
        "now it is, and an editor has it"
    );
    assert_eq!(it.feed(&LIVE).effects, ANSWERED);
    let mut it = session(&[
        SYNC,
        Event::LikelihoodChanged(Likelihood::Unlikely),
        Event::RootsAwaited(true),
        Event::ListRequested,
    ]);
    assert_eq!(it.feed(&Event::RootsAwaited(false)).effects, ANSWERED, "it has nothing to say");
}

#[test]
fn a_first_list_without_an_editor_waits_for_the_catalogue_on_disk() {
    let (mut driver, _) = crate::fsm::Driver::start(Session { disk_awaited: true, ..Session::default() });
    driver.feed(&Event::Opened(Kind::IgnoresChanges));
    driver.feed(&Event::LikelihoodChanged(Likelihood::Unlikely));
    let asked = driver.feed(&Event::ListRequested);
    assert!(!asked.effects.contains(&Effect::AnswerLists), "{:?}", asked.effects);
    driver.feed(&Event::CataloguePublished(Source::Disk));
    let read = driver.feed(&Event::DiskRead);
    assert!(read.effects.contains(&Effect::AnswerLists), "{:?}", read.effects);
}
