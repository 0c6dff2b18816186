//! Takes the calls that a session's client makes. Calls that an earlier gateway had are looked up, package tools are
//! answered here, and all other calls go to the link of their editor.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::package_tools;
use super::seat::Seat;
use crate::core::calls::{Lookup, NewCall};
use crate::core::requests::{Asked, Hold, Holder};
use crate::core::user_text;
use crate::fsm::cause::Cause;
use crate::fsm::registry::Source;
use crate::limits::{OPEN_CALLS_MAX_BYTES, SESSION_CALLS_MAX_BYTES};
use crate::link::{Calling, Port, Resumed, TakenIn};
use crate::protocol::dialect::PackageTool;
use crate::protocol::ids::{CallId, SessionId};
use crate::protocol::jsonrpc::{RequestId, RpcError};
use crate::protocol::mcp::stateless::Requester;
use crate::protocol::mcp::{AnswerForm, CallTool, ClientInfo, ToolResult};
use crate::protocol::policy::Grounds;
use crate::runtime::supervisor::Tasks;
use crate::telemetry::events::TOO_MANY_REQUESTS;

/// A request whose answer depends on an editor, mostly a call. It is not in a ledger yet.
pub struct NewRequest<T = CallTool> {
    pub asked: Asked,
    pub hold: Hold,
    /// The request's id, as the client wrote it.
    pub id: RequestId,
    /// The call's id, if a session told it already.
    pub call_id: Option<CallId>,
    /// The requester, for a request of the stateless era.
    pub requester: Option<Arc<Requester>>,
    pub call: T,
    /// When the call began to wait for a link; `None` if it did not wait.
    pub since: Option<Instant>,
    /// Whether a hub was asked how its links stand, since the request came.
    pub has_asked: bool,
}

/// Takes a call for the editor of this link. `turned_down`: why the call is refused instead, whatever its tool is.
pub fn accept(seat: &Seat, tasks: &Tasks, here: &Port, new: NewRequest, turned_down: Option<(Cause, Grounds)>) {
    let NewRequest { asked, hold, id, call_id, requester, call, since, .. } = new;
    let Asked { key, profile, .. } = asked;
    if seat.client.is_leaving() {
        seat.client.give_back(key);
        return;
    }
    let mut waited = since.map_or(Duration::ZERO, |since| since.elapsed());
    let brought = seat.client.brought(key);
    if let Some((_, before)) = brought {
        waited += before;
    }
    let mut may_have_run = false;
    // To read a resource twice does no harm, so such a request is handled like a new one.
    if let (AnswerForm::ToolResult, Some((true, _)), Some(origin)) = (&asked.form, brought, seat.client.origin_of(key))
    {
        // The call may be on record with the link to another project than the one that is meant now.
        let on_record = seat.links.of_record(&origin);
        let link = on_record.as_ref().unwrap_or(here);
        match link.resume(asked.clone(), (&call.name, &call.arguments), &origin, waited) {
            Resumed::Settled => {
                hold.pass(Holder::Ledger);
                return;
            }
            Resumed::New => seat.client.brought_unsent(key),
            Resumed::Again => may_have_run = true,
        }
    }
    let refused = here.refusal_at_once(&call.name, &call.arguments, key.session).filter(|_| turned_down.is_none());
    // The hub knows better which tools there are.
    let is_here = !here.is_remote();
    let package_tool = package_tool(here, &call.name).filter(|_| is_here && turned_down.is_none());
    if let (Some(tool), None) = (package_tool, &refused) {
        package_tools::run(&seat.tools_on(here), tasks, asked, tool, &call.arguments);
        return;
    }
    let published = here.published();
    let listed = published.catalogue.find(&call.name);
    // "Unknown tool" is answered only if the live list of the right editor lacks the tool. Otherwise the call waits.
    let unknown = published.source == Source::Live && listed.is_none() && here.seen().leads_to_the_wanted;
    if unknown && is_here && refused.is_none() {
        let error = published.catalogue.unknown_tool(&call.name, profile.audience);
        seat.client.refuse(key, &error);
        return;
    }
    let parallel = listed.is_some_and(|entry| entry.tool.parallel);
    let new = NewCall {
        // No two calls have one id, whatever a session says.
        id: call_id
            .filter(|told| matches!(here.look_up(*told), Lookup::Unknown))
            .unwrap_or_else(|| seat.env.next_call_id()),
        request: key,
        tool: call.name,
        arguments: call.arguments.into(),
        progress_token: call.progress_token,
        trace: call.trace.map(Arc::new),
        requester: requester.map(|requester| Arc::new(requester.client.clone())).or_else(|| client_of(seat)),
        parallel,
        patience: profile.client.patience,
        waited,
        profile,
        form: asked.form.clone(),
    };
    let call = new.id;
    if asked.form == AnswerForm::ToolResult {
        seat.client.note_call(key, call);
    }
    let calling = Calling { call: new, hold: &hold, id: id.as_json(), may_have_run, refused, turned_down };
    match here.call(calling) {
        TakenIn::Yes | TakenIn::Cancelled => {}
        TakenIn::NoRoom if may_have_run => {
            seat.client.refuse(key, &RpcError::internal(user_text::too_many_bytes(OPEN_CALLS_MAX_BYTES)));
        }
        TakenIn::NoRoom => {
            let most = if is_here { OPEN_CALLS_MAX_BYTES } else { SESSION_CALLS_MAX_BYTES };
            refuse_for_bytes(seat, here, asked, most);
        }
    }
}

/// Refuses a call that would exceed `most` bytes of open arguments.
pub fn refuse_for_bytes(seat: &Seat, here: &Port, asked: Asked, most: usize) {
    seat.env.events.bad_line(TOO_MANY_REQUESTS);
    seat.tools_on(here).answer(asked, ToolResult::error(user_text::too_many_bytes(most)));
}

/// Returns the client that calls; `None` for the client over stdin and stdout.
fn client_of(seat: &Seat) -> Option<Arc<ClientInfo>> {
    let client = seat.client.handshake();
    let requester = || Arc::new(ClientInfo { name: client.name, version: client.release, ..ClientInfo::default() });
    (seat.client.id != SessionId::STDIO).then(requester)
}

/// Returns the package tool of this name, which the package's own server answered without the editor. `None` if there
/// is no such tool, or if the live tool list does not name it.
fn package_tool(here: &Port, name: &str) -> Option<PackageTool> {
    let published = here.published();
    match published.catalogue.find(name) {
        Some(entry) => here.dialect().package_tool(&entry.tool.name),
        // Package tools can be called before the editor is connected. Once the tool list is live, only those in it can be called.
        None if published.source != Source::Live => here.dialect().package_tool(name),
        None => None,
    }
}
