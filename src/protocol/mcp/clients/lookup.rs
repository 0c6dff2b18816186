//! Finds a client by the name that it states.

use super::facts::{Client, ClientTraits, Named, UNKNOWN_CLIENT};
use super::table::CLIENTS;

/// Returns the habits of the client with this `clientInfo.name`, or [`UNKNOWN_CLIENT`] if it is not in the table.
pub fn traits_of(name: &str) -> ClientTraits {
    client_of(name).map_or(UNKNOWN_CLIENT, Client::traits)
}

/// Returns the client with this `clientInfo.name`: the one whose name matches best. `None` if it is not in the table.
pub fn client_of(name: &str) -> Option<&'static Client> {
    let name = name.trim();
    CLIENTS
        .iter()
        .flat_map(|client| client.names.iter().map(move |named| (named, client)))
        .filter_map(|(named, client)| strength(*named, name).map(|strength| (strength, client)))
        .max_by_key(|(strength, _)| *strength)
        .map(|(_, client)| client)
}

/// Returns the client with this label, in any spelling that a person may use (`claude-code`, `Claude Code`). `None` if there is
/// none.
pub fn labelled(word: &str) -> Option<&'static Client> {
    let word = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    CLIENTS.iter().find(|client| client.label == word)
}

/// Returns a name by which this client is known: one that it gives itself, or the beginning of one. `None` if no such name is known.
pub fn a_name_of(client: &Client) -> Option<&'static str> {
    client.names.first().map(|named| match named {
        Named::Exactly(name) | Named::From(name) => *name,
    })
}

/// All clients in the table.
pub fn known_clients() -> &'static [Client] {
    CLIENTS
}

/// How well a name matches: an exact match beats every prefix, and a longer prefix beats a shorter one. `None` if it does not
/// match.
pub(super) fn strength(named: Named, name: &str) -> Option<usize> {
    match named {
        Named::Exactly(wanted) => name.eq_ignore_ascii_case(wanted).then_some(usize::MAX),
        Named::From(prefix) => begins(name, prefix).then_some(prefix.len()),
    }
}

/// Whether a name begins with this prefix, ignoring case.
pub(super) fn begins(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
