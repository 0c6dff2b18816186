//! The calls of a link: carries out what the ledger decides.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use super::answers::Answers;
use super::audit::AuditTrail;
use super::contact::Contact;
use super::guests::{GuestCall, Guests};
use super::ledger::SharedLedger;
use super::tools::Tools;
use crate::client::Attached;
use crate::core::calls::{Ledger, Lookup, NewCall, Settlement};
use crate::core::exchange::Errand;
use crate::core::requests::{Hold, Holder};
use crate::fsm::call::Verdict;
use crate::fsm::cause::{Cause, Loss};
use crate::protocol::dialect::Dialect;
use crate::protocol::ids::{CallId, SessionId};
use crate::protocol::jsonrpc::compact;
use crate::protocol::mcp::{AnswerForm, ProtocolVersion};
use crate::protocol::policy::Grounds;
use crate::runtime::environment::Environment;
use crate::runtime::messages::{Addresses, bridge};

/// The result of adding a client's call to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenIn {
    /// The call is in the ledger.
    Yes,
    /// The client has cancelled the call: it gets no answer.
    Cancelled,
    /// The open calls would have too many bytes: the request must be answered.
    NoRoom,
}

/// The calls of one link; see the module's documentation.
#[derive(Debug)]
pub struct Calls {
    pub answers: Arc<Answers>,
    pub audit: Arc<AuditTrail>,
    /// The ledger, which holds the calls themselves.
    pub shared: Arc<SharedLedger>,
    pub(super) env: Arc<Environment>,
    addresses: Arc<Addresses>,
    pub(super) attached: Attached,
    pub(super) contact: Arc<Contact>,
    tools: Arc<Tools>,
}

impl Calls {
    /// Creates the calls of a link, with an empty ledger.
    pub fn new(
        env: Arc<Environment>,
        addresses: Arc<Addresses>,
        attached: Attached,
        shared: Arc<SharedLedger>,
        contact: Arc<Contact>,
        tools: Arc<Tools>,
    ) -> Self {
        let answers = Answers::new(
            Arc::clone(&env),
            attached.clone(),
            Arc::clone(&shared),
            Arc::clone(&contact),
            Arc::clone(&tools),
        );
        let audit = AuditTrail::new(Arc::clone(&env), attached.clone(), Arc::clone(&contact), Arc::clone(&tools));
        Self { answers: Arc::new(answers), audit: Arc::new(audit), shared, env, addresses, attached, contact, tools }
    }

    /// Runs one short operation on the ledger and returns its value. Settlements in that value must be passed to
    /// [`settle`](Self::settle).
    pub fn ledger<T>(&self, operation: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        self.shared.with(operation)
    }

    /// Returns what is known about a call's result. The result is on record until its client says that it has the
    /// answer.
    pub fn look_up(&self, call: CallId) -> Lookup {
        let found = self.ledger(|ledger, now| ledger.look_up(call, now));
        let is_nowhere_else = matches!(found, Lookup::Ended(_) | Lookup::Unknown);
        let on_record = self.env.call_records().filter(|_| is_nowhere_else).and_then(|records| records.result(call));
        on_record.map_or(found, |result| Lookup::Kept(result.get().into()))
    }

    /// Runs one short operation on the ledger and carries out its settlements.
    pub fn decide(&self, operation: impl FnOnce(&mut Ledger, Instant) -> Vec<Settlement>) {
        let settlements = self.ledger(operation);
        self.settle(settlements);
    }

    /// Carries out what the ledger decided.
    pub fn settle(&self, settlements: Vec<Settlement>) {
        for settlement in settlements {
            match settlement {
                Settlement::Answer(answer) => {
                    self.audit.answered(&answer);
                    self.answers.answer(*answer);
                }
                Settlement::Progress { request, news, version } => {
                    if let Some(client) = self.attached.get(request.session) {
                        client.goes_on(request, &news, version);
                    }
                }
                Settlement::HeldAgain => self.tell_of_held(),
                // The cancel only spares the editor work and is never required: its reply is ignored.
                Settlement::Withdraw { call, key } => {
                    let hangs_up = || self.contact.dialect().hangs_up_to_cancel().then_some(Errand::HangUp(call));
                    let errand = key.map(Errand::Cancel).or_else(hangs_up);
                    if let Some((exchange, errand)) = self.contact.exchange().zip(errand) {
                        exchange.order(errand);
                    }
                }
                Settlement::KeepLate { call, project, answer, profile } => {
                    self.answers.keep_late(call, project, answer, profile);
                }
                Settlement::Noted { call, session, tool, verdict, requester, project } => {
                    // The result of a call that ran on is recorded when it is told. A call that still runs at the end
                    // of this process is left to the next one.
                    let goes_on = matches!(verdict, Verdict::Ok | Verdict::ToolError)
                        || verdict != Verdict::Cancelled && self.env.is_draining();
                    if !goes_on {
                        self.record_dropped(call);
                    }
                    self.answers.noted((call, &tool), project.as_deref(), verdict);
                    self.audit.noted((call, session), &tool, verdict, requester.as_deref(), project.as_deref());
                    self.env.events.call_noted(call, &tool, verdict);
                }
            }
        }
        // Done even if there was no answer: a claim may have been taken back, or an answer withheld.
        self.shared.was_settled();
    }

    /// Tells the sender of calls that a call is held. The sender is the connection, or the bridge while there is none.
    /// A connection that has just ended cannot miss a call, because the bridge asks the ledger once more when it has
    /// let the connection go.
    pub fn tell_of_held(&self) {
        match self.contact.exchange() {
            Some(exchange) => exchange.look_for_calls(),
            None => {
                self.addresses.bridge.cast(bridge::Message::Told(bridge::Event::CallsWaiting));
            }
        }
    }

    /// Lets the ledger act at each of its deadlines: ends what has reached its time limit, and sends progress. Never returns.
    pub async fn run_deadlines(self: Arc<Self>) {
        loop {
            self.shared.due(|| self.env.events.handed_over("deadlines")).await;
            self.decide(Ledger::elapse);
        }
    }

    /// Adds a client's call to the ledger, unless the client has cancelled it. `may_have_run`: whether an earlier gateway sent it;
    /// `refused`: why the policy forbids the call; `id`: the client's id of the request, for the log.
    pub fn take_from_client(
        &self,
        call: NewCall,
        may_have_run: bool,
        hold: &Hold,
        refused: Option<Grounds>,
        id: &str,
    ) -> TakenIn {
        if !hold.is_open() {
            return TakenIn::Cancelled;
        }
        if !self.take_in(call, may_have_run, refused, id) {
            return TakenIn::NoRoom;
        }
        if hold.pass(Holder::Ledger) {
            return TakenIn::Yes;
        }
        // The client cancelled between the check above and `take_in`, when the cancel found no call in the ledger.
        self.decide(|ledger, now| ledger.cancel(hold.key(), now).1);
        TakenIn::Cancelled
    }

    /// Adds a call to the ledger. If the call is `refused` or too large for the editor, it is answered at once. `asked_as`: the
    /// id of its request, for the log. Returns false, and adds nothing, if the open calls would have too many bytes.
    fn take_in(&self, call: NewCall, may_have_run: bool, refused: Option<Grounds>, asked_as: &str) -> bool {
        let (id, asked_by, tool, trace) = (call.id, call.request.session, call.tool.clone(), call.trace.clone());
        let too_large = self.is_too_large(&call.arguments);
        let settlements = self.ledger(|ledger, now| {
            if !ledger.takes(call.arguments.get().len()) {
                return None;
            }
            let mut settlements = if may_have_run { ledger.accept_again(call, now) } else { ledger.accept(call, now) };
            match refused {
                Some(grounds) => settlements.extend(ledger.turn_down(id, Cause::Policy, grounds, now)),
                None if too_large => settlements.extend(ledger.refuse(id, Cause::TooLarge, now)),
                None => {}
            }
            Some(settlements)
        });
        let Some(settlements) = settlements else { return false };
        self.env.events.call_accepted(id, &tool, asked_by, asked_as, trace.as_deref());
        self.settle(settlements);
        true
    }

    /// Whether the arguments are larger than the dialect of the editor that is or was connected allows. Checked at once, so that
    /// such a call need not be held through an outage first. Returns false if no editor was connected, or if its messages do not hold
    /// all arguments.
    fn is_too_large(&self, arguments: &RawValue) -> bool {
        let dialect = self.contact.view.borrow().target.as_ref().map(|target| target.dialect);
        let properties = dialect.map(Dialect::properties).filter(|known| known.sends_all_arguments);
        properties.is_some_and(|known| {
            arguments.get().len() > known.request_max_bytes && compact(arguments.get()).len() > known.request_max_bytes
        })
    }

    /// Adds a guest's call to the ledger; `patience`: how long the guest waits. Returns `None`, and adds nothing, if too many
    /// calls of guests are open, or if the open calls would have too many bytes.
    pub fn take_from_guest(&self, tool: &str, arguments: Box<RawValue>, patience: Duration) -> Option<GuestCall> {
        let refused = self.tools.refusal_at_once(tool, &arguments, SessionId::GUESTS);
        let (request, answer) = self.answers.guests.wait()?;
        let id = self.env.next_call_id();
        let new = NewCall {
            id,
            request,
            tool: tool.to_owned(),
            arguments: arguments.into(),
            progress_token: None,
            trace: None,
            requester: Some(Arc::new(Guests::name())),
            parallel: false,
            patience,
            waited: Duration::ZERO,
            profile: self
                .attached
                .all()
                .first()
                .map_or(ProtocolVersion::LATEST.into(), |client| client.handshake().profile),
            form: AnswerForm::ToolResult,
        };
        self.contact.want_editor();
        if !self.take_in(new, false, refused, "guest") {
            self.answers.guests.take(request);
            return None;
        }
        self.tell_of_held();
        Some(GuestCall { id, answer })
    }

    /// Closes the connection in the ledger and the view, because the part that owned it is gone: claimed calls may have run.
    pub fn close_epochs(&self, loss: Loss) {
        self.decide(|ledger, now| ledger.close_all_epochs(loss, now));
        self.contact.lost(loss);
    }

    /// Begins the shutdown of the gateway: held calls are refused, now and from now on.
    pub fn begin_draining(&self) {
        self.env.drain();
        self.decide(Ledger::drain);
    }
}
