//! What an exchange is asked and says.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::core::calls::{HeldCall, Ledger, Settlement};
use crate::fsm::bridge::Event;
use crate::fsm::cause::Cause;
use crate::protocol::dialect::{EditorAnswer, Heartbeat, JournalKey, Recovery, ReloadSigns};
use crate::protocol::ids::CallId;
use crate::protocol::policy::Grounds;

/// A message that the connection must write beside calls and lists. It takes none of the editor's places.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Errand {
    /// The next message of the greeting.
    Greeting,
    /// A question to the editor's journal for the outcomes of the calls that it knows.
    Outcomes,
    /// The cancel of a call that no client waits for any more, if the dialect has such a message.
    Cancel(JournalKey),
    /// A question for the editor's heartbeat.
    Heartbeat,
    /// A question to the editor's main thread, on this connection.
    MainThread,
    /// The end of the connection, if this call is still open on it: its client has cancelled it, and the dialect has no other cancel
    /// ([`Dialect::hangs_up_to_cancel`](crate::protocol::dialect::Dialect::hangs_up_to_cancel)).
    HangUp(CallId),
    /// What the framing itself answers ([`Framer::owed`](crate::protocol::framing::Framer::owed)).
    Framing(Bytes),
}

/// What the connection does next.
#[derive(Debug)]
pub enum Next {
    /// It runs this errand.
    Errand(Errand),
    /// It requests the tool list, by the `step`-th method that the dialect knows.
    List {
        /// The number of the method, from 0; see [`ListTools`](crate::protocol::dialect::Order::ListTools).
        step: usize,
    },
    /// It sends this call, which the ledger has reserved for it.
    Call(Box<HeldCall>),
    /// It waits until it is woken.
    Wait,
}

/// What the main thread was asked and has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct MainThread {
    /// Since when the question is open.
    pub(super) asked: Option<Instant>,
    /// When the last question ended.
    pub(super) over: Option<Instant>,
    /// What it answered last; `None` if that is too old, or told nothing.
    pub(super) told: Option<Heartbeat>,
}

impl MainThread {
    /// Whether the question is open.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }
}

/// What may be asked on a connection of its own, beside the requests that are sent one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nothing now.
    Nothing,
    /// The question for the heartbeat, which would wait for the answer to a call otherwise.
    Heartbeat,
    /// The question to the main thread.
    MainThread,
}

/// What the editor does when it answers a call, and afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct After {
    /// The called tool's own name in the editor, which its refusal must name.
    pub tool: Arc<str>,
    /// Whether the editor also writes the answer into a result file.
    pub in_file: bool,
    /// Whether the editor keeps the result, and is asked for it.
    pub is_kept: bool,
    /// Whether the end of the work that the call begins stands in a file.
    pub follows: Option<Recovery>,
    /// Whether a domain reload may follow the answer without an announcement.
    pub reload: bool,
    /// What shows that no reload follows, with the state of the assemblies before the call was sent.
    pub signs: Option<(ReloadSigns, u64)>,
}

/// An open question to the journal: the calls that it asks for, and their keys in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    pub sought: Vec<(CallId, JournalKey)>,
    pub(super) asked: Instant,
    /// Whether outcomes were ordered again while this question was open.
    pub(super) again: bool,
}

/// The message that a reply answers. The message is not awaited any more, except with [`ReplyTo::Doubled`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReplyTo {
    Greeting,
    /// The request for the tool list.
    List {
        /// The number of the method, as in [`Next::List`].
        step: usize,
    },
    Call(CallId, After),
    /// A call that the editor got twice: this reply refuses the second message, and the answer to the first is still to come.
    Doubled(CallId),
    Outcomes(Question),
    /// The cancel of a call.
    Cancel,
    /// The question for the editor's heartbeat.
    Heartbeat,
    /// The question to the editor's main thread.
    MainThread,
    /// No message: this connection awaits no answer with this number.
    Nothing,
}

impl ReplyTo {
    /// Returns the call that is answered, if it is one.
    pub(super) fn call(&self) -> Option<CallId> {
        match self {
            Self::Call(call, _) => Some(*call),
            _ => None,
        }
    }
}

/// What a message may answer that is whole, but cannot be read and names no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayAnswer {
    /// The request of this number, which is no call.
    Request(u64),
    /// A call, and nobody can say which, or whether it is an answer at all.
    ACall,
    /// Nothing that must be done for it now.
    Nobody,
}

/// What the caller must do after an operation.
#[derive(Debug, Default)]
#[must_use]
pub struct Settled {
    pub settlements: Vec<Settlement>,
    /// The events for the bridge, in this order.
    pub events: Vec<Event>,
}

/// What the caller must do after the reply to a call.
#[derive(Debug)]
#[must_use]
pub struct Answered {
    /// Whether an answer to the call was expected on this connection.
    pub known: bool,
    /// The settlements and events that follow.
    pub settled: Settled,
    /// Whether the connection must be closed, because it leads to another editor than the project's files said.
    pub hang_up: bool,
}

/// What was learned of one attempt to send a call, from the journal's record.
#[derive(Debug)]
pub enum Learned {
    /// The call ended with this answer.
    Ended(EditorAnswer),
    /// The call waits or runs.
    Running,
    /// The call has not run and will not run.
    NotRun {
        /// Whether the journal says so because it did not know the call when it was asked.
        sealed: bool,
    },
    /// A domain reload interrupted the call.
    Interrupted,
    /// The journal has no record of the call.
    Forgotten,
    /// The journal's record of the call cannot be read, although it was asked for alone.
    Unreadable,
}

/// Why a call is not sent.
#[derive(Debug)]
pub enum Unsendable {
    /// The call can never be sent.
    Refused(Cause),
    /// The policy or the audit refuses the call, with these grounds.
    TurnedDown(Cause, Grounds),
}

impl Learned {
    /// Tells the ledger what was learned of the attempt with this key. The ledger ignores it if it does not look for the outcome of
    /// that attempt any more.
    pub fn tell(self, call: CallId, key: &JournalKey, ledger: &mut Ledger, now: Instant) -> Vec<Settlement> {
        if !ledger.seeks(call, key) {
            return Vec::new();
        }
        match self {
            Self::Ended(answer) => ledger.learn(call, answer, now),
            Self::Running => {
                ledger.found_running(call, now);
                Vec::new()
            }
            Self::NotRun { sealed } => ledger.proven_unrun(call, sealed, now),
            Self::Interrupted => ledger.found_interrupted(call, now),
            Self::Forgotten | Self::Unreadable => ledger.forgotten(call, now),
        }
    }
}
