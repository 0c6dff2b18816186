//! What a gateway records of the calls of a link, and what it makes of the records of a predecessor.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::calls::Calls;
use crate::client::Client;
use crate::core::call_records::{Known, Left, Origin, SentCall};
use crate::core::calls::{HeldCall, RecoveredCall, Terms};
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Loss;
use crate::limits::hub::CALL_RECORD_MAX_AGE;
use crate::protocol::dialect::Recovery;
use crate::protocol::ids::{CallId, SessionId};
use crate::protocol::mcp::{self, ClientInfo, ProtocolVersion, ToolResult};
use crate::protocol::policy::Grounds;
use crate::storage::call_files::Unrecorded;
use crate::storage::gateway_calls;

/// What became of a request that an earlier gateway had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// No byte of a call for it was written, or the call may be sent again: the request is handled like a new one.
    New,
    /// The request is answered, or will be when the outcome of its call is known.
    Settled,
}

/// What is recorded of a call before it is sent, and the client that asked for it.
#[derive(Debug)]
pub struct Recording {
    sent: SentCall,
    client: Arc<Client>,
}

/// Why a call must not be sent.
#[derive(Debug)]
pub enum Unsent {
    /// The hub cannot write its record.
    Unrecorded(Grounds),
    /// The hub may not be the hub any more. This client takes its requests to another one, if it comes over a hub.
    MakesWay(Arc<Client>),
    /// The session that asked waits for no answer.
    Gone,
}

impl Calls {
    /// Returns what is recorded of a call before it is sent; `None` if no records are kept, if its session has no name, or if a gateway
    /// of one client does not know its project.
    pub fn record_of(&self, held: &HeldCall, terms: &Terms, project: Option<&Path>) -> Option<Recording> {
        self.env.call_records()?;
        if project.is_none() && self.env.records.is_none() {
            // No later gateway could know that it serves the same editor.
            return None;
        }
        let client = self.attached.get(held.request.session)?;
        let origin = client.origin_of(held.request)?;
        let journal = match &terms.recovery {
            Recovery::Journal(key) => Some(key.clone()),
            Recovery::None | Recovery::ResultFile { .. } | Recovery::Inferred => None,
        };
        let sent = SentCall {
            origin,
            call: held.id,
            tool: Arc::clone(&held.tool),
            project: project.map(Path::to_path_buf),
            journal,
            repeatable: terms.repeatable,
            client: (client.handshake().name, held.profile.version.label().to_owned()),
        };
        Some(Recording { sent, client })
    }

    /// Records that a call is about to be sent, if this process may send it: its records are its own, and the session that asked is
    /// still there.
    ///
    /// # Errors
    /// The call must not be sent. Without a hub that is never so.
    pub fn record_sending(&self, record: Option<Recording>) -> Result<(), Unsent> {
        let (Some(records), Some(Recording { sent, client })) = (self.env.call_records(), record) else {
            return Ok(());
        };
        let is_hub = self.env.records.is_some();
        let call = sent.call;
        // A session that has come over another connection may have had this request sent there: one record has place for one call.
        if client.is_gone() {
            return Err(Unsent::Gone);
        }
        let written = match self.env.own.get() {
            Some(own) => match records.sent(sent.clone()) {
                // Another gateway may take over what is in the former file, where this call is not.
                Err(Unrecorded::Lost(why)) => {
                    self.env.events.records_lost(&why.to_string());
                    own.renew(&self.env.fresh()).map_err(Unrecorded::from).and_then(|()| records.sent(sent))
                }
                written => written,
            },
            None => records.sent(sent),
        };
        let problem = written.as_ref().err().map(ToString::to_string);
        let problem = problem.map(|why| user_text::records_fail(&records.path(), &why, is_hub));
        self.env.health.set_problem("records", problem);
        match written {
            Ok(()) if client.is_gone() => {
                records.dropped(call);
                Err(Unsent::Gone)
            }
            Ok(()) => Ok(()),
            // Without a hub, a user loses nothing by it but what would help after a crash of this process.
            Err(_) if !is_hub => Ok(()),
            Err(Unrecorded::Lost(why)) => {
                self.env.events.records_lost(&why.to_string());
                self.env.retire();
                Err(Unsent::MakesWay(client))
            }
            Err(Unrecorded::Io(error)) => Err(Unsent::Unrecorded(Grounds {
                rule: None,
                says: format!(
                    "the hub cannot write down that it sends the call ({error}), and without that a successor could not tell what \
                     became of it"
                ),
            })),
        }
    }

    /// Deletes the record of a call of which no byte was written, or whose client wants no answer.
    pub fn record_dropped(&self, call: CallId) {
        if let Some(records) = self.env.call_records() {
            records.dropped(call);
        }
    }

    /// Takes over what gateways of one client left when they were killed: looks for the outcomes of their calls to this project's
    /// editor, and keeps the results that they had. Blocks on files. Returns whether other gateways live, or have not quite ended.
    pub fn take_over_left(&self, project: &Path) -> bool {
        let (Some(own), Some(state)) = (self.env.call_records(), &self.env.config.state_dir) else { return false };
        // A hub serves all clients.
        let client = self.env.own.get().and_then(|_| Some(self.attached.get(SessionId::STDIO)?.handshake().name));
        let (left, others_live) = gateway_calls::take_over(state, own, project, client.as_deref());
        if left.is_empty() {
            return others_live;
        }
        let open = left.iter().filter(|left| left.result.is_none()).count();
        self.env.events.calls_left(left.len(), open);
        self.answers.left_by_others(left.iter().filter(|left| !left.told).map(|left| &left.sent));
        for left in left {
            if left.result.is_some() {
                self.keep_result(&left);
            } else {
                self.recover(left.sent, true);
            }
        }
        others_live
    }

    /// Keeps the result of a call that an earlier gateway sent, for a client that asks for it by the call's id.
    pub fn keep_result(&self, left: &Left) {
        #[derive(serde::Deserialize)]
        struct Shape {
            #[serde(default, rename = "isError")]
            is_error: bool,
        }
        let Some(result) = left.result.as_deref().map(RawValue::get) else { return };
        let is_error = serde_json::from_str::<Shape>(result).is_ok_and(|shape| shape.is_error);
        let verdict = match (left.unknown, is_error) {
            (true, _) => Verdict::OutcomeUnknown(Loss::HubEnded),
            (false, true) => Verdict::ToolError,
            (false, false) => Verdict::Ok,
        };
        let (call, tool) = (left.sent.call, &left.sent.tool);
        self.ledger(|ledger, now| ledger.keep_found((call, tool), verdict, result.into(), now));
    }

    /// Takes over a call that an earlier gateway sent and did not answer: its outcome is looked for, or is unknown.
    /// `of_another_gateway`: whether editors knew that gateway by another name.
    pub fn recover(&self, sent: SentCall, of_another_gateway: bool) {
        let recovered = self.recovered(sent, of_another_gateway);
        self.link.want_editor();
        self.decide(|ledger, now| ledger.recover(recovered, now));
    }

    fn recovered(&self, sent: SentCall, of_another_gateway: bool) -> RecoveredCall {
        let SentCall { call, tool, project, journal, client: (name, version), .. } = sent;
        let version = ProtocolVersion::from_label(&version).unwrap_or(ProtocolVersion::LATEST);
        RecoveredCall {
            id: call,
            tool,
            project,
            recovery: journal.map_or(Recovery::None, Recovery::Journal),
            profile: self.env.config.profile_of(version, &name),
            requester: Arc::new(ClientInfo { name, ..ClientInfo::default() }),
            of_another_gateway,
        }
    }

    /// Decides what becomes of a session's request that an earlier gateway had, and whose client has `waited` so long. A request
    /// that is not settled is handled like a new one.
    pub fn resume(
        &self,
        asked: Asked,
        (tool, arguments): (&str, &RawValue),
        origin: &Origin,
        waited: Duration,
    ) -> Resumed {
        let Some(client) = self.attached.get(asked.key.session) else { return Resumed::Settled };
        let unknown = |call: Option<CallId>| {
            let result = ToolResult::error(user_text::lost_with_the_hub(tool, call));
            client.outbox.answer(asked.key, &mcp::tool_result(&result, &asked.profile))
        };
        let Some(records) = self.env.records.as_ref().or(self.env.former.get()) else {
            unknown(None);
            return Resumed::Settled;
        };
        match records.known(origin) {
            // After that time its answer may have been deleted: the process of its session stood still.
            None if client.has_lost_records() || records.is_damaged || waited >= CALL_RECORD_MAX_AGE => {
                unknown(None);
                Resumed::Settled
            }
            None => Resumed::New,
            // At the end nothing is sent any more, and to be refused would say that nothing was.
            Some(Known::Repeatable(_)) if !client.is_ending() => Resumed::New,
            Some(Known::Answered(result) | Known::Repeatable(result)) => {
                client.outbox.answer(asked.key, &mcp::with_text(result.get(), user_text::TAKEN_OVER));
                Resumed::Settled
            }
            Some(Known::Sent(sent)) => {
                let by = (asked.key, asked.profile, waited);
                let arguments = Arc::from(arguments.to_owned());
                // A session that serves itself has taken over nothing yet. It asks the editor's journal too.
                let recovered = (self.env.records.is_none() && sent.journal.is_some())
                    .then(|| self.recovered(sent.clone(), true))
                    .inspect(|_| self.link.want_editor());
                let (taken_over, adopted) = self.ledger(|ledger, now| {
                    let taken_over = recovered.map(|call| ledger.recover(call, now)).unwrap_or_default();
                    (taken_over, ledger.adopt(sent.call, by, &arguments, now))
                });
                self.settle(taken_over);
                if let Some(settlements) = adopted {
                    self.settle(settlements);
                    return Resumed::Settled;
                }
                if sent.repeatable && !client.is_ending() {
                    return Resumed::New;
                }
                // Its answer may have been recorded meanwhile.
                match records.known(origin) {
                    Some(Known::Answered(result) | Known::Repeatable(result)) => {
                        client.outbox.answer(asked.key, &mcp::with_text(result.get(), user_text::TAKEN_OVER))
                    }
                    _ => unknown(Some(sent.call)),
                };
                Resumed::Settled
            }
        }
    }
}
