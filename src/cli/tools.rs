//! `holdfast tools`: shows the tools as an AI sees them, and which ones are dropped, renamed or changed.

mod page;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use clap_complete::ArgValueCandidates;
use holdfast_client_config::CLIENTS;
use serde_json::{Value, json};

use super::gateway_args::EditorArgs;
use super::one_shot::{self, GatewayGone, OneShot, Wish};
use super::{Exit, complete, output};
use crate::actors::parts::Parts;
use crate::config::Config;
use crate::core::user_text;
use crate::fsm::registry::Source;
use crate::link::{Published, Visible};
use crate::protocol::mcp::clients::{a_name_of, client_of, labelled};
use crate::protocol::mcp::{Audience, Catalogue, ClientProfile, ClientTraits, GatewayTool, ProtocolVersion, Terms};
use crate::protocol::policy::idle::Idle;
use crate::protocol::text::{clean, first_sentence, nearest};
use crate::survey::Survey;

#[derive(Debug, Clone, Args)]
pub struct ToolsArgs {
    /// Show this tool: what it does, its arguments, and an example
    #[arg(conflicts_with_all = ["search", "dropped"], add = ArgValueCandidates::new(complete::tools))]
    pub tool: Option<String>,
    /// Show the tools that these words fit, the best first
    #[arg(long, value_name = "WORDS", conflicts_with = "dropped")]
    pub search: Option<String>,
    /// Print JSON: the tools as MCP lists them, and where the list comes from
    ///
    /// With TOOL or --search: these tools, as an array.
    #[arg(long)]
    pub json: bool,
    /// Show the tools that are left out, renamed or changed, and why
    #[arg(long)]
    pub dropped: bool,
    /// Show the list as this AI client gets it
    ///
    /// And which tools are changed for it. NAME is a client's word (claude-code, codex; `holdfast doctor --clients` lists them), or
    /// the name that a client gives itself.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::clients))]
    pub client: Option<String>,
    #[command(flatten)]
    pub editor: EditorArgs,
}

pub fn run(arguments: &ToolsArgs) -> ExitCode {
    one_shot::run(&arguments.editor, |config| list(arguments, config))
}

async fn list(arguments: &ToolsArgs, config: Config) -> Exit {
    let client = arguments.client.as_deref().map(|name| match labelled(name) {
        Some(client) => config.clients.traits_of_client(client),
        None => config.traits_of(name),
    });
    if let Some(name) = &arguments.client
        && labelled(name).is_none()
        && client_of(name).is_none()
        && !config.clients.names(name)
    {
        output::complain(&unknown_client(name));
    }
    // The user's word for a client stands for a name that the client gives itself.
    let name = arguments.client.as_deref().map(|name| labelled(name).and_then(a_name_of).unwrap_or(name).to_owned());
    let listed = match OneShot::open(config, Wish::default()).await {
        Ok(mut one_shot) => {
            // The gateway waits briefly for the live list if an editor is likely to come, as it does for every client that does
            // not react to list changes.
            let answer = one_shot.request("tools/list", "{}", &mut |_| {}).await;
            let seen = Seen::of(&one_shot.parts, client, name.as_deref());
            one_shot.close().await;
            answer.and_then(|listed| listed.map_err(|_| GatewayGone::Failed)).map(|_| seen)
        }
        Err(gone) => Err(gone),
    };
    let seen = match listed {
        Ok(seen) => seen,
        Err(gone) => {
            output::complain(&format!("holdfast tools: {gone}"));
            return if gone == GatewayGone::Interrupted { Exit::NotExecuted } else { Exit::Internal };
        }
    };
    if let Some(chosen) = seen.chosen(arguments) {
        return seen.tell(&chosen, arguments);
    }
    if arguments.json {
        output::json(&seen.as_json(arguments.dropped).to_string());
    } else {
        seen.print(arguments.dropped);
    }
    match seen.published.source {
        Source::None => Exit::NotExecuted,
        Source::Disk | Source::Live | Source::Stale => Exit::Ok,
    }
}

fn unknown_client(name: &str) -> String {
    let words = || CLIENTS.iter().map(|client| client.name);
    let proposed = match nearest(name, words()) {
        Some(near) => format!("Did you mean {near}?"),
        None => format!("Known clients: {}.", words().collect::<Vec<&str>>().join(", ")),
    };
    format!(
        "holdfast tools: no client is called \"{}\", so the list is shown as for an unknown client. {proposed} `holdfast doctor \
         --clients` shows all.",
        clean(name)
    )
}

const DESCRIPTION_MIN_COLUMNS: usize = 28;

const FOR_CLIENT: &str = "changed for the client";

/// The gateway's knowledge after it had answered.
struct Seen {
    published: Published,
    survey: Option<Arc<Survey>>,
    visible: Visible,
    /// What the client lists of them at first.
    listed: Arc<Catalogue>,
    /// The listed tools that the policy refuses: the name that clients see, and why.
    refused: Vec<(String, String)>,
    /// The rules that match none of the editor's tools. `None`: there are no rules, or no list to compare them with.
    idle: Option<Vec<Idle>>,
    has_rules: bool,
    /// Why the list is not the editor's live list; `None` if it is.
    why_not_live: Option<&'static str>,
    /// Advice, if it is not enough to open Unity.
    helps: Option<String>,
    /// The traits of the client for which the list is shown, if one was named.
    client: Option<ClientTraits>,
}

impl Seen {
    fn of(parts: &Parts, client: Option<ClientTraits>, name: Option<&str>) -> Self {
        let link = parts.link();
        let published = link.tools.published.borrow().clone();
        let availability = link.contact.view.borrow().availability;
        let why_not_live = match published.source {
            Source::Live => None,
            Source::None | Source::Disk | Source::Stale => Some(availability.cause().map_or("listing", <&str>::from)),
        };
        let wanted = link.contact.wanted();
        let why = |entry| {
            link.tools
                .refusal(entry, wanted.project(), parts.client.id)
                .map(|grounds| grounds.rule.unwrap_or(grounds.says))
        };
        let visible = link.tools.visible_to(parts.client.id, name);
        let Config { toolsets, .. } = &*parts.client.config;
        let tools_max = client.and_then(|client| client.tools_max);
        let listed = visible.catalogue.listed(&Terms { tools_max, toolsets, found: &[] });
        let entries = visible.catalogue.entries().iter();
        let refused = entries.filter_map(|entry| Some((entry.name.clone(), why(entry)?))).collect();
        let idle = link.tools.idle_rules(parts.client.id, name);
        let survey = link.contact.survey.borrow().clone();
        let of_project = survey.as_ref().is_some_and(|survey| survey.rules.policy.has_rules());
        let person = ClientProfile { audience: Audience::Person, ..ProtocolVersion::LATEST.into() };
        let hopeless = availability.cause().filter(|cause| cause.needs_the_user());
        let helps = hopeless.map(|cause| user_text::next(cause, &person, wanted.project()));
        let has_rules = of_project || parts.env.config.policy.has_rules();
        Self { published, visible, listed, survey, refused, idle, has_rules, why_not_live, helps, client }
    }

    /// Returns the names of the tools that were asked for; `None` if all were.
    fn chosen(&self, arguments: &ToolsArgs) -> Option<Vec<String>> {
        let catalogue = &self.visible.catalogue;
        if let Some(words) = &arguments.search {
            return Some(catalogue.search(words).iter().map(|entry| entry.name.clone()).collect());
        }
        let name = arguments.tool.as_deref()?;
        let theirs = catalogue.find(name).map(|entry| entry.name.clone());
        let own = || GatewayTool::from_name(name).map(|own| own.name().to_owned());
        Some(theirs.or_else(own).into_iter().collect())
    }

    /// Prints the tools of these names.
    fn tell(&self, names: &[String], arguments: &ToolsArgs) -> Exit {
        let catalogue = &self.visible.catalogue;
        if arguments.json {
            let all = self.as_json(false);
            let of = |name: &String| all["tools"].as_array()?.iter().find(|tool| tool["name"] == **name).cloned();
            output::json(&Value::from_iter(names.iter().filter_map(of)).to_string());
        }
        if names.is_empty() {
            let asked = arguments.tool.as_deref().unwrap_or_default();
            let own = GatewayTool::ALL.iter().map(|own| own.name());
            let near = nearest(asked, catalogue.entries().iter().map(|entry| entry.name.as_str()).chain(own));
            output::complain(&match (&arguments.search, near) {
                (Some(words), _) => {
                    format!("holdfast tools: no tool fits \"{}\"; `holdfast tools` lists all", clean(words))
                }
                (None, Some(near)) => {
                    format!("holdfast tools: there is no tool `{}`. Did you mean `{near}`?", clean(asked))
                }
                (None, None) => {
                    format!("holdfast tools: there is no tool `{}`; `holdfast tools` lists all", clean(asked))
                }
            });
            return match self.published.source {
                Source::None => Exit::NotExecuted,
                Source::Disk | Source::Live | Source::Stale if arguments.search.is_some() => Exit::Failed,
                Source::Disk | Source::Live | Source::Stale => Exit::Usage,
            };
        }
        for name in names.iter().filter(|_| !arguments.json) {
            match (catalogue.find(name), GatewayTool::from_name(name)) {
                (Some(entry), _) if arguments.search.is_some() => {
                    output::hung(&format!("{name}  "), &first_sentence(&entry.tool.description));
                }
                (Some(entry), _) => output::line(&page::of(name, &entry.tool.description, &entry.tool.input_schema)),
                (None, Some(own)) => {
                    let own = own.definition();
                    output::line(&page::of(own.name, &own.description, &own.input_schema));
                }
                (None, None) => {}
            }
        }
        Exit::Ok
    }

    /// Returns the tools that are not listed as the editor sent them, grouped by kind of change, each with a reason.
    fn changed(&self) -> [(&'static str, Vec<(String, String)>); 4] {
        let catalogue = &self.published.catalogue;
        let dropped = self.published.unusable.iter().chain(catalogue.dropped()).cloned().collect();
        let renamed = catalogue
            .entries()
            .iter()
            .filter(|entry| entry.name != entry.tool.name)
            .map(|entry| {
                (entry.tool.name.clone(), format!("listed as {}: clients take [A-Za-z0-9_-]{{1,48}}", entry.name))
            })
            .collect();
        let for_client = self.client.map(|client| catalogue.changed_for(&client)).unwrap_or_default();
        [
            ("dropped", dropped),
            ("renamed", renamed),
            ("repaired", catalogue.repaired().to_vec()),
            (FOR_CLIENT, for_client),
        ]
    }

    fn as_json(&self, dropped: bool) -> Value {
        let latest = ClientProfile::from(ProtocolVersion::LATEST);
        let profile = self.client.map_or(latest, |client| ClientProfile { client, ..latest });
        let tools = self.visible.catalogue.tools_array(&profile);
        let survey = self.survey.as_deref();
        let mut all = json!({
            "source": match self.published.source {
                Source::None => "gateway",
                Source::Disk => "disk",
                Source::Live => "live",
                Source::Stale => "stale",
            },
            "why_not_live": self.why_not_live,
            "project": survey.and_then(|survey| survey.project.as_ref()).map(|path| path.display().to_string()),
            "package_version": survey.and_then(|survey| survey.facts.package_version.clone()),
            "tools": serde_json::from_str::<Value>(&tools).unwrap_or_default(),
            "not_listed_at_first": self.listed.rest(),
            "refused": of_pairs(&self.refused),
            "hidden": of_pairs(&self.visible.hidden),
            "rules_without_tools": self.idle.as_ref().map(|idle| {
                idle.iter().map(|idle| json!({"rule": idle.rule, "why": idle.says, "meant": idle.meant})).collect::<Vec<_>>()
            }),
        });
        if let Some(all) = all.as_object_mut() {
            let shown = |what: &str| if what == FOR_CLIENT { self.client.is_some() } else { dropped };
            for (what, tools) in self.changed().into_iter().filter(|(what, _)| shown(what)) {
                all.insert(what.replace(' ', "_"), of_pairs(&tools));
            }
        }
        all
    }

    fn print(&self, dropped: bool) {
        let entries = self.visible.catalogue.entries();
        let why = self.why_not_live.unwrap_or_default().replace('_', " ");
        let (own, theirs) = (self.listed.own().count(), entries.len());
        let all = own + theirs;
        output::hung(
            "",
            &match self.published.source {
                Source::None => format!(
                    "No editor answered ({why}) and no earlier list is on disk: these are only holdfast's own tools. {}",
                    self.helps
                        .as_deref()
                        .unwrap_or("Open the project in Unity; `holdfast doctor` says what was looked for.")
                ),
                Source::Disk => format!(
                    "{all} tools: {theirs} from an earlier session, or that the package is known to have (no editor answered: {why}), and \
                 {own} of holdfast's own."
                ),
                Source::Live => format!("{all} tools: {theirs} live from the editor and {own} of holdfast's own."),
                Source::Stale => {
                    format!(
                        "{all} tools: {theirs} from the editor, which has gone since ({why}), and {own} of holdfast's own."
                    )
                }
            },
        );
        let ours: Vec<_> = self.listed.own().map(GatewayTool::definition).collect();
        let rows = ours.iter().map(|tool| (tool.name, &*tool.description));
        let rows = rows.chain(entries.iter().map(|entry| (entry.name.as_str(), entry.tool.description.as_str())));
        let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
        // Without room beside the names, the descriptions stand below them.
        let is_narrow = output::columns() < width + DESCRIPTION_MIN_COLUMNS;
        for (name, description) in rows {
            let description = first_sentence(description);
            if is_narrow {
                output::line(&format!("  {name}"));
                output::hung("    ", &description);
            } else {
                output::hung(&format!("  {name:width$}  "), &description);
            }
        }
        if let rest @ [_, ..] = self.listed.rest() {
            let says =
                "not listed at first; they can be called, and holdfast_tools finds them (--toolsets lists more):";
            output::hung("", &format!("{} {says}", rest.len()));
            output::hung("  ", &rest.join(", "));
        }
        if !self.refused.is_empty() {
            output::line(&format!("{} refused by policy:", self.refused.len()));
        }
        for (tool, why) in &self.refused {
            output::hung("  ", &format!("{tool}: {}", clean(why)));
        }
        if !self.visible.hidden.is_empty() {
            output::line(&format!("{} hidden, and refused if they are called:", self.visible.hidden.len()));
        }
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (tool, why) in &self.visible.hidden {
            by_reason.entry(why).or_default().push(tool);
        }
        for (why, tools) in by_reason {
            output::hung("  ", &format!("{}: {}", clean(why), tools.join(", ")));
        }
        match &self.idle {
            Some(idle) => {
                for idle in idle {
                    output::hung("! ", &clean(&idle.sentence()));
                }
            }
            None if self.has_rules => output::hung(
                "! ",
                "The rules could not be compared with the editor's tools, because no list of them is known.",
            ),
            None => {}
        }
        if let Some(client) = self.client {
            let catalogue = &self.visible.catalogue;
            if catalogue.changed_for(&client).is_empty() {
                output::line(&format!("{}: no tool is changed for it.", client.title));
            }
        }
        for (what, tools) in self.changed() {
            if tools.is_empty() {
                continue;
            }
            // The changes for one client are always shown in full: a user who names a client asks for them.
            if !dropped && what != FOR_CLIENT {
                output::line(&format!("{} {what}: see --dropped", tools.len()));
                continue;
            }
            output::line(&format!("{what}:"));
            for (tool, why) in tools {
                output::hung("  ", &format!("{}: {}", clean(&tool), clean(&why)));
            }
        }
    }
}

fn of_pairs(tools: &[(String, String)]) -> Value {
    tools.iter().map(|(tool, why)| json!({"tool": tool, "why": why})).collect()
}
