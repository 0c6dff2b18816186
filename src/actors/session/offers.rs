//! Answers requests for resources and prompts. Everything is answered at once from what is known, except Unity's
//! console and the resources of a package's own server. To read those is a call of the editor's tool, and all rules for calls hold.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{SessionActor, State};
use crate::actors::editors;
use crate::actors::gateway_tools::of_value;
use crate::actors::intake::NewRequest;
use crate::core::editors::{Choice, Refusal, choose};
use crate::core::meant::Heading;
use crate::core::router::Route;
use crate::core::user_text::{self, PromptFacts};
use crate::fsm::cause::Cause;
use crate::fsm::registry::Source;
use crate::link::{Destination, Port};
use crate::protocol::dialect::{EditorTool, PackageResource};
use crate::protocol::ids::RequestKey;
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::mcp::request::List;
use crate::protocol::mcp::{
    self, AnyResource, CallTool, Entry, GatewayTool, OfferRequest, Offered, Prompt, ReadResource, Resource, ToolResult,
};

/// An editor that a request is about, with its name if the session may use several.
type Named = (Option<String>, Port);

impl SessionActor {
    /// Answers a request for resources or prompts, or keeps it until the session's link is known.
    pub(super) fn accept_offer(&self, state: &mut State, new: NewRequest<OfferRequest>) {
        state.unrouted_offers.push(NewRequest { since: Some(Instant::now()), ..new });
        self.find_way(state);
    }

    /// Answers a request for resources or prompts. `heading`: where the session's requests go.
    pub(super) fn answer_offer(&self, heading: &Heading, new: NewRequest<OfferRequest>) {
        let NewRequest { asked, hold, id, call_id, requester, call: offer, since, has_asked } = new;
        // A request that was cancelled while it waited gets no answer.
        if !hold.is_open() {
            return;
        }
        let profile = &asked.profile;
        let result = match offer {
            OfferRequest::ListResources | OfferRequest::ListTemplates => {
                let offered = self.offered(Some(heading));
                let result = match offer {
                    OfferRequest::ListTemplates => mcp::templates_list_result(&offered, profile),
                    _ => mcp::resources_list_result(&offered, profile),
                };
                self.seat.client.with_handshake(|client| client.resources_told = Some(offered.into()));
                result
            }
            OfferRequest::ListPrompts => mcp::prompts_list_result(profile),
            OfferRequest::GetPrompt(get) => {
                let text = user_text::prompt(&get, &self.prompt_facts(heading, get.prompt), Instant::now());
                mcp::prompt_result(get.prompt, &text)
            }
            OfferRequest::Read(read) => {
                return self
                    .read(heading, NewRequest { asked, hold, id, call_id, requester, call: read, since, has_asked });
            }
        };
        self.seat.client.outbox.answer(asked.key, &result);
    }

    /// Returns the editors that a request is about if it names none.
    fn meant(&self, heading: Option<&Heading>) -> Vec<Named> {
        match heading {
            Some(Heading { route: Route::Among(choice), scope }) => {
                let is_choice = |link: &Port| link.leads_to().is_some_and(|to| choice.iter().any(|one| one == to));
                let usable = editors::usable(&self.seat, scope).into_iter();
                usable.filter(|(_, link)| is_choice(link)).map(|(name, link)| (Some(name), link)).collect()
            }
            _ => vec![(None, self.seat.link())],
        }
    }

    fn offered(&self, heading: Option<&Heading>) -> Vec<Offered> {
        let of = |resource| Offered { resource: AnyResource::Own(resource), editor: None };
        let editors = heading.is_some().then_some(Resource::Editors);
        let mut offered: Vec<Offered> =
            [Some(Resource::Status), editors, Some(Resource::Calls)].into_iter().flatten().map(of).collect();
        let meant = self.meant(heading);
        for (editor, link) in &meant {
            let console = self.offered_tool(link, Role::Console).map(|_| Resource::Console);
            let of_link = [Some(Resource::CompileErrors), console].into_iter().flatten().map(AnyResource::Own);
            offered.extend(of_link.map(|resource| Offered { resource, editor: editor.clone() }));
        }
        for (editor, link) in &meant {
            let is_offered = |resource: &&PackageResource| {
                let entry = entry_of(link, &[&resource.tool]).filter(|entry| answers(entry, resource));
                entry.is_some_and(|entry| link.refusal(&entry, self.seat.client.id).is_none())
            };
            let of_link = link.dialect().resources().iter().filter(is_offered);
            offered.extend(of_link.map(|one| Offered { resource: AnyResource::Package(one), editor: editor.clone() }));
        }
        offered
    }

    /// From here on, tells a subscription of changes of the resources. A change since the resources were listed is told
    /// at once.
    pub(super) fn begin_telling_resources(&self, state: &State, subscription: RequestKey) {
        let offered = self.offered(state.heading.as_deref());
        let told = self.seat.client.handshake().resources_told;
        if told.is_some_and(|told| *told != *offered) {
            self.seat.client.outbox.list_changed(List::Resources, Some(subscription));
        }
        self.seat.client.with_handshake(|client| client.resources_told = Some(offered.into()));
    }

    /// Tells the client if the resources differ from those that it knows.
    pub(super) fn announce_resources(&self, state: &State) {
        // A client that never asked for the resources knows nothing that could be out of date.
        let Some(told) = self.seat.client.handshake().resources_told else { return };
        let offered = self.offered(state.heading.as_deref());
        if *told != *offered && self.announce(List::Resources) {
            self.seat.client.with_handshake(|client| client.resources_told = Some(offered.into()));
        }
    }

    /// Returns the tool that a resource or prompt may use: it is listed, and this session may call it.
    fn offered_tool(&self, link: &Port, role: Role) -> Option<Entry> {
        let entry = tool_of(link, role)?;
        let refused = link.refusal(&entry, self.seat.client.id);
        let fits = role == Role::Compile || only_reads(&entry.tool);
        (refused.is_none() && fits).then_some(entry)
    }

    fn prompt_facts(&self, heading: &Heading, prompt: Prompt) -> PromptFacts {
        let meant = self.meant(Some(heading));
        let several = matches!(heading.route, Route::Among(_));
        let here = self.seat.link();
        let status = match several {
            true => editors::status(&self.seat, &self.seat.tools_on(&here), &heading.scope),
            false => self.seat.tools_on(&here).status(),
        };
        let shown = here.published().catalogue;
        // In a union, a tool may be listed under another name.
        let names = |role: Role| {
            let mut names: Vec<String> = Vec::new();
            for (_, link) in &meant {
                let Some(own) = self.offered_tool(link, role) else { continue };
                let listed = shown.entries().iter().filter(|entry| entry.tool.name == own.tool.name);
                names.extend(listed.map(|entry| entry.name.clone()));
            }
            names.sort_unstable();
            names.dedup();
            names
        };
        let last = (!several && prompt == Prompt::FixCompileErrors).then(|| here.last_compile());
        PromptFacts {
            summary: status.summary,
            next: status.next,
            needs_the_user: !several && cause_now(&here).is_some_and(Cause::needs_the_user),
            problems: status.problems,
            compile: names(Role::Compile),
            console: names(Role::Console),
            is_live: here.published().source == Source::Live,
            last: last.flatten(),
            editors: if several { meant.into_iter().filter_map(|(name, _)| name).collect() } else { Vec::new() },
        }
    }

    // ---- resources/read ----

    fn read(&self, heading: &Heading, new: NewRequest<ReadResource>) {
        let here = self.seat.link();
        match new.call.resource {
            AnyResource::Own(Resource::Status) => self.read_own(heading, new, GatewayTool::Status),
            AnyResource::Own(Resource::Editors) => self.read_own(heading, new, GatewayTool::Editors),
            AnyResource::Own(Resource::Calls) => self.read_own(heading, new, GatewayTool::Calls),
            resource => match self.link_of(heading, &here, &new) {
                Ok(link) => match resource {
                    AnyResource::Package(resource) => self.read_of_package(&link, resource, new),
                    AnyResource::Own(Resource::Console) => self.read_console(&link, new),
                    AnyResource::Own(_) => {
                        self.seat.tools_on(&here).answer(new.asked, of_value(&compile_errors(&link)));
                    }
                },
                // The compile errors of all editors can be told at once, because nothing is run.
                Err(Refusal::Unnamed { .. }) if resource == AnyResource::Own(Resource::CompileErrors) => {
                    let of_editor = |(name, link): Named| {
                        let mut told = compile_errors(&link);
                        if let Value::Object(told) = &mut told {
                            told.insert("editor".to_owned(), json!(name));
                        }
                        told
                    };
                    let told: Vec<Value> = self.meant(Some(heading)).into_iter().map(of_editor).collect();
                    self.seat.tools_on(&here).answer(new.asked, of_value(&json!({"editors": told})));
                }
                Err(refusal) => {
                    let text = format!(
                        "{}: nothing was read: {} In the address of a resource, `?editor=` names the editor; resources/list has \
                         the addresses.",
                        new.call.uri,
                        user_text::editor_refused(&refusal)
                    );
                    self.seat.tools_on(&here).answer(new.asked, ToolResult::error(text));
                }
            },
        }
    }

    /// Reads a resource whose text is the answer of one of the gateway's own tools.
    fn read_own(&self, heading: &Heading, new: NewRequest<ReadResource>, tool: GatewayTool) {
        let editor = new.call.editor.as_ref().and_then(|editor| to_raw_value(editor).ok());
        self.dispatch(heading, as_call(new, tool.name(), editor));
    }

    /// Returns the link to the editor that is meant.
    fn link_of(
        &self,
        Heading { route, scope }: &Heading,
        here: &Port,
        new: &NewRequest<ReadResource>,
    ) -> Result<Port, Refusal> {
        let said: Vec<String> = new.call.editor.iter().cloned().collect();
        match choose(route, scope, || self.seat.links.known(), &said) {
            Choice::Routed => Ok(here.clone()),
            Choice::Editor(project) => match self.seat.links.to_project(&project) {
                Ok(link) => {
                    link.want();
                    Ok(link)
                }
                // No link is free, so the session's own link answers that it leads nowhere.
                Err(_) => Ok(self.seat.links.nowhere_of(&self.seat.client)),
            },
            // The last compile result of a closed editor is still known.
            Choice::Refused(Refusal::Away { cause, project, name, editors }) => match self.seat.links.find(&project) {
                Some(link) if new.call.resource == AnyResource::Own(Resource::CompileErrors) => Ok(link),
                _ => Err(Refusal::Away { cause, project, name, editors }),
            },
            Choice::Refused(refusal) => Err(refusal),
        }
    }

    /// Reads Unity's console, by a call of the editor's tool.
    fn read_console(&self, link: &Port, new: NewRequest<ReadResource>) {
        let name = match tool_of(link, Role::Console) {
            Some(entry) if !only_reads(&entry.tool) => {
                return self.not_found(&new, "the editor does not declare its console tool to be read-only");
            }
            Some(entry) => entry.name,
            // The tools are not known yet: the call waits for them like any other.
            None => match Role::Console.names(link).first() {
                Some(name) if !are_tools_known(link) => (*name).to_owned(),
                _ => return self.not_found(&new, "Unity's package has no tool that reads the console"),
            },
        };
        self.accept(link, as_call(new, &name, None));
    }

    /// Reads a resource of the server of the editor's package, by a call of the tool that answers it.
    fn read_of_package(&self, link: &Port, resource: &PackageResource, new: NewRequest<ReadResource>) {
        let has_it = *link.destination() == Destination::Nowhere || link.dialect().resources().contains(resource);
        let name = match entry_of(link, &[&resource.tool]) {
            Some(entry) if has_it && answers(&entry, resource) => entry.name,
            None if has_it && !are_tools_known(link) => resource.tool.clone(),
            _ => return self.not_found(&new, "Unity's package has no such resource"),
        };
        self.accept(link, as_call(new, &name, None));
    }

    fn not_found(&self, new: &NewRequest<ReadResource>, why: &str) {
        let error: RpcError = mcp::not_found(&new.call.uri, why, new.requester.is_some());
        self.seat.client.outbox.answer_error(new.asked.key, &error);
    }
}

/// The purpose of one of the editor's tools.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Compile,
    Console,
}

impl Role {
    /// The editor's own names of the tool.
    fn names(self, link: &Port) -> &'static [&'static str] {
        let roles = &link.dialect().properties().roles;
        match self {
            Self::Compile => roles.compile,
            Self::Console => roles.console,
        }
    }
}

/// Returns the editor's tool for this purpose, as it is listed.
fn tool_of(link: &Port, role: Role) -> Option<Entry> {
    entry_of(link, role.names(link))
}

/// Returns the first tool that has one of these names in the editor, as it is listed.
fn entry_of(link: &Port, names: &[&str]) -> Option<Entry> {
    let published = link.published();
    let mut entries = published.catalogue.entries().iter();
    entries.find(|entry| names.contains(&entry.tool.name.as_str())).cloned()
}

/// Whether a tool answers a resource of the package's server, and changes nothing by that. A tool of the project may have its name.
fn answers(entry: &Entry, resource: &PackageResource) -> bool {
    only_reads(&entry.tool) || !resource.arguments.is_empty()
}

/// Whether the editor's own list is known. Until then a call of any tool waits.
fn are_tools_known(link: &Port) -> bool {
    link.published().source == Source::Live && *link.destination() != Destination::Nowhere
}

/// The call of a tool, whose result is read as a resource.
fn as_call(new: NewRequest<ReadResource>, tool: &str, editor: Option<Box<RawValue>>) -> NewRequest {
    let NewRequest { asked, hold, id, call_id, requester, call: read, since, has_asked } = new;
    let ReadResource { arguments, progress_token, trace, .. } = read;
    let call = CallTool { name: tool.to_owned(), arguments, progress_token, trace, editor };
    NewRequest { asked, hold, id, call_id, requester, call, since, has_asked }
}

/// Returns why the editor of this link is away.
fn cause_now(link: &Port) -> Option<Cause> {
    link.status().picture.availability.cause()
}

fn compile_errors(link: &Port) -> Value {
    let compile: Vec<String> = tool_of(link, Role::Compile).into_iter().map(|entry| entry.name).collect();
    // Our own package says in its heartbeat whether the scripts compile.
    let told = link.status().picture.heartbeat.filter(|(heartbeat, _)| !heartbeat.inferred);
    let editor_says = told.map(|(heartbeat, at)| {
        let ago = u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX);
        json!({"compile_errors": heartbeat.compile_errors, "ago_ms": ago})
    });
    let Some(seen) = link.last_compile() else {
        let is_live = link.published().source == Source::Live;
        let says = match cause_now(link).filter(|cause| cause.needs_the_user()) {
            Some(cause) => {
                format!("No compile result is known: {}. holdfast_status says what helps.", user_text::cause(cause))
            }
            None => user_text::no_compile_seen(&compile, is_live),
        };
        return json!({"seen": false, "says": says, "editor_says": editor_says});
    };
    let now = Instant::now();
    let ago = u64::try_from(now.saturating_duration_since(seen.at).as_millis()).unwrap_or(u64::MAX);
    json!({
        "seen": true,
        "says": user_text::seen_compile(&seen, now),
        "editor_says": editor_says,
        "call_id": seen.call.to_string(),
        "ago_ms": ago,
        "later_call_without_result": seen.is_followed,
        "error_count": seen.compiled.error_count,
        "warning_count": seen.compiled.warning_count,
        "errors": seen.compiled.errors,
        "warnings": seen.compiled.warnings,
        "more_errors": seen.compiled.is_cut(),
    })
}

/// Whether a call without arguments of a tool that reads changes nothing. A tool that can also clear what it reads is declared
/// repeatable, and reads if it is not told otherwise.
fn only_reads(tool: &EditorTool) -> bool {
    tool.annotations.read_only_hint || tool.repeatable
}
