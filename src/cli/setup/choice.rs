//! Which clients a command is for: those that are named, or those that a person chooses.

use std::fmt;
use std::io::{self, IsTerminal as _};

use holdfast_client_config::{CLIENTS, Client, named};

use super::picker::{Choice, Picked, pick};
use crate::cli::{Exit, output};
use crate::protocol::text::{clean, nearest};

pub enum Chosen {
    These(Vec<&'static Client>),
    Ended(Exit),
}

/// A word that names no client.
pub struct NotKnown {
    word: String,
    /// The client whose name is nearly the word.
    pub meant: Option<&'static Client>,
}

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no client named \"{}\" is known", clean(&self.word))
    }
}

/// Returns the clients that these words name, each once.
///
/// # Errors
/// Returns the first word that names none.
pub fn clients_named(words: &[String]) -> Result<Vec<&'static Client>, NotKnown> {
    let mut clients: Vec<&'static Client> = Vec::new();
    for word in words {
        match named(word) {
            Some(client) if clients.iter().any(|there| there.name == client.name) => {}
            Some(client) => clients.push(client),
            None => {
                let known = CLIENTS.iter().flat_map(|client| client.aliases.iter().copied().chain([client.name]));
                return Err(NotKnown { word: word.clone(), meant: nearest(word, known).and_then(named) });
            }
        }
    }
    Ok(clients)
}

/// Whether a person can choose on a terminal.
pub fn can_choose() -> bool {
    io::stdin().is_terminal() && output::can_draw()
}

/// Lets a person choose. `none`: what is said if there is nothing to choose from.
pub fn choose(command: &str, asked: &'static str, none: &str, choices: &[Choice]) -> Chosen {
    let picked = if choices.is_empty() { Picked::None(none.to_owned()) } else { pick(asked, choices) };
    let (says, exit) = match picked {
        Picked::These(clients) => return Chosen::These(clients),
        Picked::None(says) => (says, Exit::Ok),
        Picked::Cancelled => ("cancelled.".to_owned(), Exit::Failed),
    };
    output::complain(&format!("holdfast {command}: {says} Nothing was changed."));
    Chosen::Ended(exit)
}
