//! What a gateway records of the calls of a link, and what it does with the records of a predecessor.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::answers::Told;
use super::calls::Calls;
use crate::client::Client;
use crate::core::call_records::fate::{Adopter, Asker, Facts, Fate, Takeover, fate};
use crate::core::call_records::{Origin, SentCall};
use crate::core::calls::{HeldCall, RecoveredCall, Terms};
use crate::core::port::Settled;
use crate::core::requests::Asked;
use crate::core::user_text;
use crate::fsm::call::Verdict;
use crate::fsm::cause::Loss;
use crate::protocol::dialect::{JournalKey, Recovery};
use crate::protocol::ids::{CallId, RequestKey, SessionId};
use crate::protocol::mcp::{ClientInfo, ClientProfile, ProtocolVersion, ToolResult};
use crate::protocol::policy::Grounds;
use crate::storage::call_files::Unrecorded;
use crate::storage::gateway_calls::{self, Taker};

/// The fate of a request that an earlier gateway had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    /// No byte of a call for it was written: the request is handled like a new one.
    New,
    /// A call for it may have run, and may be sent again. The request is handled like a new one, but a refusal must not
    /// deny that the call may have run.
    Again,
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
    /// The hub cannot write the call's record.
    Unrecorded(Grounds),
    /// The hub may have lost its role. This client takes its requests to the next hub, if it comes over a hub.
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
            Recovery::None | Recovery::ResultFile { .. } | Recovery::StatusFile { .. } | Recovery::Inferred => None,
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

    /// Records that a call is about to be sent, if this process may send it. It may if the records are its own and the
    /// session that asked is still there.
    ///
    /// # Errors
    /// The call must not be sent. Without a hub there is no such error.
    pub fn record_sending(&self, record: Option<Recording>) -> Result<(), Unsent> {
        let (Some(records), Some(Recording { sent, client })) = (self.env.call_records(), record) else {
            return Ok(());
        };
        let is_hub = self.env.records.is_some();
        let call = sent.call;
        // A session that has come back over another connection may have had this request sent there. One record has
        // room for one call.
        if client.is_gone() {
            return Err(Unsent::Gone);
        }
        let written = match self.env.own.get() {
            Some(own) => match records.sent(sent.clone()) {
                // Another gateway may take over the former file, and this call is not in it.
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
            // Without a hub, a user loses only what would help after a crash of this process.
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

    /// Records that the editor runs a call as a job, which has this key: a later gateway can ask for it.
    pub fn record_job(&self, call: CallId, key: &JournalKey) {
        if let Some(records) = self.env.call_records() {
            records.is_job(call, key.clone());
        }
    }

    /// Deletes the record of a call if no byte of it was written, or if its client wants no answer.
    pub fn record_dropped(&self, call: CallId) {
        if let Some(records) = self.env.call_records() {
            records.dropped(call);
        }
    }

    /// Takes over what gateways left when they were killed: looks for the outcomes of their calls to this project's
    /// editor, and keeps the results that they had. Blocks on files. Returns whether it must be done again, because
    /// other gateways live, or have not quite ended.
    pub fn take_over_left(&self, project: &Path) -> bool {
        let (Some(own), Some(state)) = (self.env.call_records(), &self.env.config.state_dir) else { return false };
        // A hub serves all clients.
        let session = self.attached.get(SessionId::STDIO).filter(|_| self.env.records.is_none());
        let client = session.as_ref().map(|session| session.handshake().name);
        let by = Taker { state, own, project, client: client.as_deref() };
        let (mut left, mut again) = (Vec::new(), false);
        if self.env.records.is_some() {
            again |= self.tell_of_inherited(by);
        } else {
            // This is done first: whether a session was killed is seen by its own records, and those are removed below.
            let name = session.and_then(|session| session.name());
            (left, again) = gateway_calls::take_over_from_hub(by, name.as_deref());
        }
        let (of_gateways, others_live) = gateway_calls::take_over(by);
        left.extend(of_gateways);
        again |= others_live;
        if left.is_empty() {
            return again;
        }
        let open = left.iter().filter(|left| left.result.is_none()).count();
        self.env.events.calls_left(left.len(), open);
        let to_be_told = left.iter().filter(|left| left.is_to_be_told(Asker::Killed));
        // What a command prints is the tool's result and nothing else: `holdfast result` tells of such calls.
        if !self.env.config.whole_results {
            self.answers.left_by_others(to_be_told.map(|left| &left.sent));
        }
        left.into_iter().for_each(|left| self.take_over(left.takeover(), true));
        again
    }

    /// Has clients told of the calls that an earlier hub left, if their sessions were killed. Returns whether some
    /// sessions live that have not brought their requests yet.
    fn tell_of_inherited(&self, by: Taker<'_>) -> bool {
        let mut others_live = false;
        let killed = by.own.inherited(|left| {
            let asker = gateway_calls::asker(by.state, &left.sent.origin.session);
            let is_here = left.is_for(by.project, by.client);
            others_live |= is_here && asker == Asker::Lives;
            is_here && left.is_to_be_told(asker)
        });
        self.answers.left_by_others(killed.iter().map(|left| &left.sent));
        others_live
    }

    /// Takes over a call that an earlier gateway sent. `of_another_gateway`: editors knew that gateway by another name.
    pub fn take_over(&self, call: Takeover, of_another_gateway: bool) {
        match call {
            Takeover::Keep(sent, result, verdict) => {
                self.ledger(|ledger, now| {
                    ledger.keep_found((sent.call, &sent.tool), verdict, result.get().into(), now);
                });
            }
            Takeover::Seek(sent) => {
                let recovered = self.recovered(sent, of_another_gateway);
                self.contact.want_editor();
                self.decide(|ledger, now| ledger.recover(recovered, now));
            }
        }
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

    /// Carries out the fate of a session's request that an earlier gateway had. `waited`: how long the client has
    /// waited. A request that is not settled is handled like a new one.
    pub fn resume(
        &self,
        asked: Asked,
        (tool, arguments): (&str, &RawValue),
        origin: &Origin,
        waited: Duration,
    ) -> Resumed {
        let Some(client) = self.attached.get(asked.key.session) else { return Resumed::Settled };
        let records = self.env.records.as_ref().or(self.env.former.get());
        let fate = |adopter| {
            fate(Facts {
                known: records.and_then(|records| records.known(origin)),
                was_sent: true,
                are_lost: records.is_none() || client.has_lost_records(),
                is_damaged: records.is_some_and(|records| records.is_damaged),
                waited,
                is_ending: client.is_ending(),
                adopter,
            })
        };
        // A session that serves itself has taken over nothing yet.
        let mut next = fate(if self.env.records.is_some() { Adopter::Owner } else { Adopter::Reader });
        if let Fate::Adopt { sent, seek } = next {
            let call = sent.call;
            if self.adopt(sent, seek, (asked.key, asked.profile, waited), arguments) {
                return Resumed::Settled;
            }
            // The answer may have been recorded meanwhile.
            next = fate(Adopter::Lacks(call));
        }
        let call = match next {
            Fate::New => return Resumed::New,
            Fate::Again => return Resumed::Again,
            Fate::Answered(result) => {
                let result = ToolResult::from_stored(result.get());
                let verdict = records.and_then(|records| records.verdict(origin)).unwrap_or(Verdict::Ok);
                self.answer_brought(client, asked, origin, (verdict, result.with_line(user_text::TAKEN_OVER)));
                return Resumed::Settled;
            }
            Fate::Adopt { sent, .. } => Some(sent.call),
            Fate::Unknown(call) => call,
        };
        let result = ToolResult::error(user_text::lost_with_the_hub(tool, call));
        if let (None, Some(records)) = (call, &self.env.records) {
            let sent = SentCall {
                origin: origin.clone(),
                call: self.env.next_call_id(),
                tool: tool.into(),
                project: None,
                journal: None,
                repeatable: false,
                client: (client.handshake().name, asked.profile.version.label().to_owned()),
            };
            records.unknown(sent, &result.stored());
        }
        self.answer_brought(client, asked, origin, (Verdict::OutcomeUnknown(Loss::HubEnded), result));
        Resumed::Settled
    }

    /// Answers a request that an earlier gateway had. A session that goes on without a hub has the record of its call,
    /// and notes in that record when its client has the answer.
    fn answer_brought(
        &self,
        client: Arc<Client>,
        asked: Asked,
        origin: &Origin,
        (verdict, result): (Verdict, ToolResult),
    ) {
        let (call, result, profile) = (self.env.next_call_id(), Arc::new(result), asked.profile);
        let answer = Ok(Arc::clone(&result));
        let settled = Settled { asked, call, verdict, answer, project: None, unrun: false };
        let delivery = client.settled(&self.env, settled, None::<fn()>);
        if let (None, Some(own)) = (&self.env.records, self.env.own.get()) {
            let (records, origin) = (Arc::clone(&own.file), Some(origin.clone()));
            let (runs_on, unknown, is_left, project) = (false, false, false, None);
            let told = Told { call, result, profile, project, runs_on, unknown, is_left, records, origin };
            self.answers.follow(client, delivery, told);
        }
    }

    /// Gives a call to the client that came back for it, if the ledger has it open. `seek`: adds it to the ledger before.
    fn adopt(
        &self,
        sent: SentCall,
        seek: bool,
        by: (RequestKey, ClientProfile, Duration),
        arguments: &RawValue,
    ) -> bool {
        let (call, arguments) = (sent.call, Arc::from(arguments.to_owned()));
        let recovered = seek.then(|| self.recovered(sent, true)).inspect(|_| self.contact.want_editor());
        let (taken_over, adopted) = self.ledger(|ledger, now| {
            let taken_over = recovered.map(|call| ledger.recover(call, now)).unwrap_or_default();
            (taken_over, ledger.adopt(call, by, &arguments, now))
        });
        self.settle(taken_over);
        let is_adopted = adopted.is_some();
        self.settle(adopted.unwrap_or_default());
        is_adopted
    }
}
