//! The AI clients on this machine: whether each starts this program.

use std::path::Path;

use super::Finding;
use super::checks::split;
use crate::cli::setup::standing::{self, Standing, State};
use crate::config::Config;
use crate::core::user_text;
use crate::protocol::mcp::clients::labelled;
use crate::protocol::text::clean;

/// One finding for each client that is installed or has an entry, and one for each that shows fewer tools than there are.
/// `listed` is how many holdfast lists, if that is known.
pub fn clients(config: &Config, project: Option<&Path>, listed: Option<usize>) -> Vec<Finding> {
    // What keeps setup from working at all is told by `holdfast setup`; a missing HOME, by the state folder's finding.
    let Some((standings, own)) = standing::here(project) else { return Vec::new() };
    let there = |standing: &Standing| standing.sign.is_some() || standing.state != State::NotConfigured;
    let mut findings: Vec<Finding> = standings.iter().filter(|standing| there(standing)).map(of_client).collect();
    let starts_us = |one: &Standing| {
        let same = |other: &&Standing| other.client.name == one.client.name && other.state == State::Configured;
        standings.iter().chain(&own).any(|other| same(&other))
    };
    let old = standings.iter().chain(&own).flat_map(|one| one.of_old(starts_us(one)).map(move |old| (one, old)));
    findings.extend(old.map(|(one, (says, mend))| {
        Finding::note("client", clean(&format!("{}: {says}", one.client.title()))).mend(mend)
    }));
    let configured = standings.iter().filter(|standing| standing.state == State::Configured);
    findings.extend(configured.filter_map(|standing| {
        let traits = config.clients.traits_of_client(labelled(standing.client.name)?);
        let says = user_text::too_many_tools(&traits, listed?)?;
        Some(split("client", &says))
    }));
    if standings.iter().any(|standing| standing.state == State::Configured) {
        return findings;
    }
    let none = Finding::note("client", "no AI client that holdfast knows starts this program")
        .mend("holdfast setup CLIENT; `holdfast setup --list` names them")
        .likely();
    findings.into_iter().chain([none]).collect()
}

fn of_client(standing: &Standing) -> Finding {
    let (title, file) = (standing.client.title(), standing.file.display());
    let mend = standing.mend().unwrap_or_default();
    match &standing.state {
        State::Configured => Finding::ok("client", format!("{title} starts this program ({file})")),
        State::NotConfigured => {
            Finding::note("client", format!("{title} is here and has no entry \"holdfast\" ({file})")).mend(mend)
        }
        State::Other(why) => Finding::note("client", format!("{title}: {} ({file})", clean(why))).mend(mend),
        State::Stale(why) => Finding::problem("client", format!("{title}: {} ({file})", clean(why)), mend),
        State::Broken(why) => {
            Finding::problem("client", format!("{title}'s configuration cannot be used: {} ({file})", clean(why)), mend)
        }
    }
}
