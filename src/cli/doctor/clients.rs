//! Checks the AI clients on this machine: whether each starts this program.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use holdfast_client_config::{Standing, State};

use super::finding::Finding;
use crate::cli::setup::standing::{self, fix, of_old, title, why};
use crate::config::Config;
use crate::protocol::text::clean;
use crate::storage::hub_folder::{HubFolder, HubInfo, place_of};

/// Returns the findings about clients: one for each client that has an entry, one for all installed clients without an
/// entry, and one for each entry of an old server.
pub(super) fn clients(config: &Config, project: Option<&Path>) -> Vec<Finding> {
    // Without a home or a path of this program nothing can be checked. `holdfast setup` names that reason, and the finding about
    // the state folder reports a missing HOME.
    let Some((standings, own)) = standing::here(project) else { return Vec::new() };
    let has_entry = |standing: &Standing| !matches!(standing.state, State::NotConfigured);
    // A client with an entry in the project's file needs none in the user's.
    let in_project = |one: &Standing| own.iter().any(|other| other.client.name == one.client.name && has_entry(other));
    let bare = |standing: &&Standing| !has_entry(standing) && standing.sign.is_some() && !in_project(standing);
    let of_project = own.iter().filter(|standing| has_entry(standing));
    let hub = config.state_dir.as_deref().and_then(|state| HubFolder::of(state).running());
    let of_client = |standing| of_client(standing, hub.as_ref());
    let mut findings: Vec<Finding> =
        standings.iter().filter(|standing| has_entry(standing)).chain(of_project).map(of_client).collect();
    let starts_us = |one: &Standing| {
        let same = |other: &&Standing| other.client.name == one.client.name && other.is_configured();
        standings.iter().chain(&own).any(|other| same(&other))
    };
    let old = standings.iter().chain(&own).flat_map(|one| of_old(one, starts_us(one)).map(move |old| (one, old)));
    findings.extend(
        old.map(|(one, (says, fix))| {
            Finding::note("client", clean(&format!("{}: {says}", title(one.client)))).fix(fix)
        }),
    );
    let bare: Vec<&Standing> = standings.iter().filter(bare).collect();
    findings.extend(without_entry(&bare, standings.iter().chain(&own).any(Standing::is_configured)));
    findings
}

/// Returns the finding about the installed clients that have no entry. `served`: another client starts this program.
fn without_entry(bare: &[&Standing], served: bool) -> Option<Finding> {
    let titles: Vec<&str> = bare.iter().map(|standing| title(standing.client)).collect();
    let here = match titles.as_slice() {
        [] => String::new(),
        [one] => format!("{one} is here and has no entry \"holdfast\""),
        many => format!("{} are here and have no entry \"holdfast\"", many.join(", ")),
    };
    // A user who has set up one client may not want the others.
    if served {
        let says = format!("{here} (`holdfast setup NAME` adds one)");
        return (!here.is_empty()).then(|| Finding::note("client", says));
    }
    let none = "no AI client that holdfast knows starts this program";
    Some(match bare {
        [one] => Finding::note("client", format!("{none}; {here}")).fix(fix(one).unwrap_or_default()),
        [] => Finding::note("client", none).fix("holdfast setup CLIENT; `holdfast setup --list` names them").likely(),
        _ => Finding::note("client", format!("{none}; {here}"))
            .fix("holdfast setup NAME, with the name of the one that you use; `holdfast setup --list` has the names"),
    })
}

/// Returns the finding about a client. `hub`: the hub of this machine, if one runs.
fn of_client(standing: &Standing, hub: Option<&HubInfo>) -> Finding {
    let (title, file) = (title(standing.client), standing.file.display());
    let (why, fix) = (clean(&why(standing).unwrap_or_default()), fix(standing).unwrap_or_default());
    match &standing.state {
        State::Configured | State::Connects { .. } if standing.marked => {
            Finding::problem("client", format!("{title}: {why} ({file})"), fix)
        }
        State::Configured => Finding::ok("client", format!("{title} starts this program ({file})")),
        State::Connects { url } => {
            let says = format!("{title} connects to {} ({file})", clean(url));
            match at_this_machine(url) {
                None => Finding::ok("client", format!("{says}; whether a hub serves there is not checked")),
                Some(_) if hub.is_some_and(|hub| hub.serves(url)) => {
                    Finding::ok("client", format!("{says}, where a hub serves"))
                }
                Some(address) => Finding::problem(
                    "client",
                    format!("{says}, where no hub serves"),
                    format!("holdfast hub --http {address}"),
                ),
            }
        }
        State::NotConfigured | State::Other { .. } | State::NoProgram => {
            Finding::note("client", format!("{title}: {why} ({file})")).fix(fix)
        }
        State::Stale { .. } => Finding::problem("client", format!("{title}: {why} ({file})"), fix),
        State::Broken(_) => {
            Finding::problem("client", format!("{title}'s configuration cannot be used: {why} ({file})"), fix)
        }
    }
}

/// Returns the address in a URL of this machine; `None` if the URL leads to another machine.
fn at_this_machine(url: &str) -> Option<SocketAddr> {
    let (ip, port) = place_of(url)?;
    Some(SocketAddr::new(ip.unwrap_or(Ipv4Addr::LOCALHOST.into()), port)).filter(|address| address.ip().is_loopback())
}
