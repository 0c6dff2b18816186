//! Tests that the indexes of the open calls always equal indexes built from a scan of all calls.

use proptest::prelude::*;

use super::*;
use crate::core::calls::phase::Phase;

/// An operation on a ledger. Numbers stand for calls, connections and causes. A number may also stand for a call, connection or
/// cause that does not exist.
#[derive(Debug, Clone)]
enum Operation {
    Accept { parallel: bool, patience: u64, progress: bool, bytes: usize },
    Cancel(u8),
    Open(u64),
    Close(u64, bool),
    Reserve(u64),
    Unreserve(u8, u64),
    Claim(u8, u64, u8, bool),
    Revoke(u8, u64),
    Reply(u8, u64, bool),
    Withhold(u8, u64),
    NoReload(u8),
    TurnedAway(u8, u64),
    Postponed(u8, u64),
    Progressed(u8),
    Learn(u8),
    GiveUp(u8),
    FoundRunning(u8),
    FoundInterrupted(u8),
    ProvenUnrun(u8),
    GiveBack(u8),
    Refuse(u8),
    JournalsGone,
    Availability(u8),
    Want(u8),
    Hinder(u64, bool),
    Wait(u64),
    Drain,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let call = || 1..12_u8;
    let epoch = || 1..4_u64;
    prop_oneof![
        6 => (any::<bool>(), 1..700_u64, any::<bool>(), 0..40_usize).prop_map(
            |(parallel, patience, progress, bytes)| Accept { parallel, patience, progress, bytes }
        ),
        2 => call().prop_map(Cancel),
        2 => epoch().prop_map(Open),
        1 => (epoch(), any::<bool>()).prop_map(|(epoch, shutdown)| Close(epoch, shutdown)),
        6 => epoch().prop_map(Reserve),
        1 => (call(), epoch()).prop_map(|(call, epoch)| Unreserve(call, epoch)),
        8 => (call(), epoch(), 0..4_u8, any::<bool>()).prop_map(|(call, epoch, kind, again)| Claim(call, epoch, kind, again)),
        1 => (call(), epoch()).prop_map(|(call, epoch)| Revoke(call, epoch)),
        4 => (call(), epoch(), any::<bool>()).prop_map(|(call, epoch, error)| Reply(call, epoch, error)),
        2 => (call(), epoch()).prop_map(|(call, epoch)| Withhold(call, epoch)),
        1 => call().prop_map(NoReload),
        1 => (call(), epoch()).prop_map(|(call, epoch)| TurnedAway(call, epoch)),
        1 => (call(), epoch()).prop_map(|(call, epoch)| Postponed(call, epoch)),
        1 => call().prop_map(Progressed),
        1 => call().prop_map(Learn),
        1 => call().prop_map(GiveUp),
        1 => call().prop_map(FoundRunning),
        1 => call().prop_map(FoundInterrupted),
        1 => call().prop_map(ProvenUnrun),
        1 => call().prop_map(GiveBack),
        1 => call().prop_map(Refuse),
        1 => Just(JournalsGone),
        3 => (0..4_u8).prop_map(Availability),
        1 => (0..3_u8).prop_map(Want),
        1 => (epoch(), any::<bool>()).prop_map(|(epoch, hindered)| Hinder(epoch, hindered)),
        3 => (0..200_u64).prop_map(Wait),
        1 => Just(Drain),
    ]
}

fn id(call: u8) -> CallId {
    CallId::from_random([call; 16])
}

fn project(number: u8) -> Option<PathBuf> {
    (number > 0).then(|| PathBuf::from(format!("/project-{number}")))
}

fn recovery(kind: u8) -> Recovery {
    match kind {
        0 => Recovery::None,
        1 => result_file(),
        2 => Recovery::Journal(JournalKey { journal: "j".to_owned(), id: "i".to_owned(), seq: 1 }),
        _ => Recovery::Inferred,
    }
}

impl Book {
    fn carry_out(&mut self, operation: Operation) {
        let (ledger, now) = (&mut self.ledger, self.now);
        match operation {
            Operation::Accept { parallel, patience, progress, bytes } => {
                self.ids += 1;
                let call = NewCall {
                    arguments: raw(&format!("\"{}\"", "x".repeat(bytes))).into(),
                    progress_token: progress.then(|| raw("1")),
                    parallel,
                    patience: secs(patience),
                    waited: Duration::ZERO,
                    ..new_call(id(self.ids), RequestKey::new(SessionId(u32::from(self.ids) % 3), self.ids.into()))
                };
                self.ledger.accept(call, now);
            }
            Operation::Cancel(call) => {
                drop(ledger.cancel(RequestKey::new(SessionId(u32::from(call) % 3), call.into()), now));
            }
            Operation::Open(epoch) => ledger.open_epoch_of(Epoch(epoch), project((epoch - 1) as u8)),
            Operation::Close(epoch, false) => drop(ledger.close_epoch(Epoch(epoch), Loss::Disconnect, now)),
            Operation::Close(_, true) => drop(ledger.close_all_epochs(Loss::Quit, now)),
            Operation::Reserve(epoch) => drop(ledger.reserve(Epoch(epoch))),
            Operation::Unreserve(call, epoch) => ledger.unreserve(id(call), Epoch(epoch)),
            Operation::Claim(call, epoch, kind, again) => {
                let _ = ledger.claim(id(call), Epoch(epoch), terms(recovery(kind), again), now);
            }
            Operation::Revoke(call, epoch) => drop(ledger.revoke_claim(id(call), Epoch(epoch), now)),
            Operation::Reply(call, epoch, error) => drop(ledger.reply(id(call), Epoch(epoch), reply(error), now)),
            Operation::Withhold(call, epoch) => drop(ledger.withhold(id(call), Epoch(epoch), reply(false), now)),
            Operation::NoReload(call) => drop(ledger.no_reload_follows(id(call), now)),
            Operation::TurnedAway(call, epoch) => {
                drop(ledger.turned_away(id(call), Epoch(epoch), Cause::WrongProject, now));
            }
            Operation::Postponed(call, epoch) => drop(ledger.postponed(id(call), Epoch(epoch), now)),
            Operation::Progressed(call) => {
                let progress = CallProgress { call: id(call), done: 1.0, total: None, message: None };
                drop(ledger.progressed(progress, now));
            }
            Operation::Learn(call) => drop(ledger.learn(id(call), reply(false), now)),
            Operation::GiveUp(call) => drop(ledger.give_up(id(call), now)),
            Operation::FoundRunning(call) => ledger.found_running(id(call), now),
            Operation::FoundInterrupted(call) => drop(ledger.found_interrupted(id(call), now)),
            Operation::ProvenUnrun(call) => drop(ledger.proven_unrun(id(call), false, now)),
            Operation::GiveBack(call) => drop(ledger.give_back(id(call))),
            Operation::Refuse(call) => drop(ledger.refuse(id(call), Cause::Policy, now)),
            Operation::JournalsGone => drop(ledger.journals_gone(None, now)),
            Operation::Availability(which) => {
                let availability = match which {
                    0 | 1 => OPEN,
                    2 => RELOADING,
                    _ => Availability::Absent(Cause::NotRunning),
                };
                drop(ledger.set_availability(availability, now));
            }
            Operation::Want(0) => drop(ledger.want(Wanted::Asked, now)),
            Operation::Want(number) => drop(ledger.want(Wanted::Settled(project(number - 1)), now)),
            Operation::Hinder(epoch, hindered) => ledger.hinder(Epoch(epoch), hindered.then_some(Cause::Stalled)),
            Operation::Wait(seconds) => drop(self.wait(secs(seconds))),
            Operation::Drain => drop(ledger.drain(now)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_indexes_follow_every_operation(operations in prop::collection::vec(operation(), 0..80)) {
        let mut book = Book::connected();
        for operation in operations {
            let shown = format!("{operation:?}");
            book.carry_out(operation);
            prop_assert!(book.ledger.entries.agree(), "after {}", shown);
            prop_assert!(book.ledger.entries.iter().all(|entry| entry.phase().fits(entry.state())), "after {}", shown);
            let entries = &book.ledger.entries;
            let scanned = entries.iter().filter_map(|entry| entry.deadline(entries.absent_since())).min();
            prop_assert_eq!(book.ledger.next_deadline(), scanned, "after {}", shown);
            let absent = book.ledger.absent_since.filter(|_| *book.ledger.wanted() != Wanted::Asked);
            prop_assert_eq!(entries.absent_since(), absent, "after {}", shown);
            let alone = !entries.iter().any(|entry| {
                let is_alone = !entry.call.parallel && (entry.epoch().is_some() || entry.reserved().is_some());
                matches!(entry.phase(), Phase::Withheld { .. }) || is_alone
            });
            let free = |entry: &Entry| {
                entry.state() == State::Held && entry.reserved().is_none() && (entry.call.parallel || alone)
            };
            let served = book.ledger.served;
            let turn = |entry: &Entry| (served.is_some_and(|served| entry.call.request.session <= served), entry.call.request.session);
            let waiting = entries.iter().enumerate().filter(|(_, entry)| free(entry));
            let next = waiting.min_by_key(|(_, entry)| turn(entry)).map(|(position, _)| position);
            prop_assert_eq!(entries.next_to_send(served), next, "after {}", shown);
        }
    }
}
