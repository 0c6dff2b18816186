//! Tests that the sessions on one link take turns with their calls.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// An action on a ledger of several sessions.
#[derive(Debug, Clone)]
enum Act {
    /// A session makes this many calls.
    Call(u32, u8),
    /// The editor takes a call.
    Take,
    /// The editor answers the call that it has had longest.
    Answer,
    /// The connection reserves a call and does not send it.
    GiveBack,
    /// The connection ends, and the next one is opened.
    Reconnect,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..5_u32, 1..12_u8).prop_map(|(session, calls)| Act::Call(session, calls)),
        8 => Just(Act::Take),
        4 => Just(Act::Answer),
        1 => Just(Act::GiveBack),
        1 => Just(Act::Reconnect),
    ]
}

/// The ledger, and what each session may expect of it.
struct Shared {
    book: Book,
    epoch: Epoch,
    calls: u64,
    /// The calls at the editor, oldest first.
    taken: Vec<CallId>,
    /// For each waiting session, the sessions that were served since it was last served or began to wait.
    passed: BTreeMap<SessionId, BTreeSet<SessionId>>,
}

impl Shared {
    fn call(&mut self, session: SessionId) {
        self.calls += 1;
        let mut id = [0; 16];
        id[8..].copy_from_slice(&self.calls.to_be_bytes());
        let call = NewCall {
            id: CallId::from_random(id),
            request: RequestKey::new(session, self.calls),
            tool: "t".to_owned(),
            arguments: raw("{}").into(),
            progress_token: None,
            trace: None,
            requester: None,
            parallel: true,
            patience: secs(600),
            waited: Duration::ZERO,
            profile: ProtocolVersion::LATEST.into(),
            form: AnswerForm::ToolResult,
        };
        self.book.ledger.accept(call, self.book.now);
        self.passed.entry(session).or_default();
    }

    /// The waiting requests of a session, oldest first.
    fn waiting(&self, session: SessionId) -> Vec<(RequestKey, CallId)> {
        let entries = self.book.ledger.entries.iter();
        let held = entries.filter(|entry| entry.state() == State::Held && entry.reserved().is_none());
        held.filter(|entry| entry.call.request.session == session)
            .map(|entry| (entry.call.request, entry.call.id))
            .collect()
    }

    fn take(&mut self) -> Option<CallId> {
        let held = self.book.ledger.reserve(self.epoch)?;
        let entry = self.book.ledger.entries.iter().find(|entry| entry.call.id == held.id).unwrap();
        let served = entry.call.request.session;
        let earlier = self.waiting(served).into_iter().filter(|(request, _)| *request < entry.call.request).count();
        assert_eq!(earlier, 0, "of one session the oldest comes first");
        for (session, served_since) in self.passed.iter_mut().filter(|(session, _)| **session != served) {
            assert!(served_since.insert(served), "{session} waited behind two calls of {served}");
        }
        if self.waiting(served).is_empty() {
            self.passed.remove(&served)
        } else {
            self.passed.insert(served, BTreeSet::new())
        };
        Some(held.id)
    }
}

proptest! {
    #[test]
    fn no_session_waits_for_more_than_one_call_of_each_other(acts in prop::collection::vec(act(), 1..120)) {
        let (book, epoch, calls) = (Book::connected(), FIRST, 0);
        let mut shared = Shared { book, epoch, calls, taken: Vec::new(), passed: BTreeMap::new() };
        for act in acts {
            match act {
                Act::Call(session, calls) => (0..calls).for_each(|_| shared.call(SessionId(session))),
                Act::Take => {
                    if let Some(call) = shared.take() {
                        shared.book.ledger.claim(call, shared.epoch, once(), shared.book.now).unwrap();
                        shared.taken.push(call);
                    }
                }
                Act::Answer if !shared.taken.is_empty() => {
                    let call = shared.taken.remove(0);
                    shared.book.reply(call, shared.epoch);
                }
                Act::GiveBack => {
                    if let Some(call) = shared.take() {
                        shared.book.ledger.unreserve(call, shared.epoch);
                        let request = shared.book.ledger.entries.iter().find(|entry| entry.call.id == call).unwrap().call.request;
                        shared.passed.entry(request.session).or_default();
                    }
                }
                Act::Reconnect => {
                    shared.book.close(shared.epoch, Loss::Disconnect);
                    shared.epoch = Epoch(shared.epoch.0 + 1);
                    shared.book.reconnect(shared.epoch);
                    shared.taken.clear();
                }
                Act::Answer => {}
            }
        }
    }
}

#[test]
fn a_session_with_one_call_is_served_next_however_many_another_has() {
    let (book, epoch) = (Book::connected(), FIRST);
    let mut shared = Shared { book, epoch, calls: 0, taken: Vec::new(), passed: BTreeMap::new() };
    (0..100).for_each(|_| shared.call(SessionId(1)));
    shared.take().unwrap();
    shared.call(SessionId(2));
    let own = shared.waiting(SessionId(2))[0].1;
    assert_eq!(shared.take(), Some(own));
}

/// A client over HTTP has a session for each message. Its messages wait for each other, and no other client waits for
/// them.
#[test]
fn messages_that_came_alone_share_one_turn() {
    let mut shared =
        Shared { book: Book::connected(), epoch: FIRST, calls: 0, taken: Vec::new(), passed: BTreeMap::new() };
    let posts = [9, 3, 7, 1, 5].map(|nth| SessionId(SessionId::FIRST_POST.0 + nth));
    posts.into_iter().for_each(|post| shared.call(post));
    (0..2).for_each(|_| shared.call(SessionId(1)));
    let served: Vec<SessionId> =
        std::iter::from_fn(|| Some(shared.book.ledger.reserve(FIRST)?.request.session)).collect();
    let own = SessionId(1);
    assert_eq!(served, [own, posts[0], own, posts[1], posts[2], posts[3], posts[4]]);
}
