//! The greeting: `holdfast/hello` and `holdfast/prove`. With them both sides prove that they know the editor's token without
//! sending it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;

use super::super::rpc::{loggable, quoted};
use super::super::{BadGreeting, Credentials, EditorError, Expected, Greeted, Hello, Met, Reply};

/// The version of the protocol.
pub(super) const PROTOCOL: u64 = 2;

/// Returns the method and the parameters of the next message, given the editor's replies so far.
///
/// # Errors
/// [`BadGreeting`]: why the greeting cannot continue.
pub(super) fn next(hello: &Hello, said: &[Reply]) -> Result<(&'static str, String), BadGreeting> {
    let credentials = credentials(hello)?;
    let Some(reply) = said.first() else { return Ok(("holdfast/hello", hello_params(hello))) };
    let editor = Editor::read(reply)?;
    let Hello { challenge, gateway, editor_port, .. } = hello;
    let Editor { challenge: editors, nonce, .. } = &editor;
    let message = format!("holdfast 2 gateway\n{editors}\n{challenge}\n{nonce}\n{gateway}\n{editor_port}");
    Ok(("holdfast/prove", format!(r#"{{"proof":{}}}"#, quoted(&proof(credentials, &message)))))
}

/// Checks the editor's replies to the greeting so far.
///
/// # Errors
/// [`BadGreeting`]: how the replies differ from those of the project's editor.
pub(super) fn check(hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
    let credentials = credentials(hello)?;
    match said {
        [] => Err(BadGreeting::Silent),
        [reply] => {
            Editor::read(reply)?.prove(hello, credentials)?;
            Ok(Greeted::NotYet)
        }
        [hello, .., reply] => match reply {
            Reply::Result(result) => {
                let answer: Proven = serde_json::from_str(result.get()).unwrap_or_default();
                if !answer.proven {
                    return Err(BadGreeting::ForeignPeer("it does not say that it takes our proof".into()));
                }
                let journal = Some(credentials.nonce.clone());
                let domain = Editor::read(hello).ok().and_then(|editor| editor.generation);
                Ok(Greeted::Done(Met { journal, tools_revision: answer.tools_revision, domain, ..Met::default() }))
            }
            Reply::Error(error) => Err(refused(error)),
            Reply::Wreck(_) => Err(unreadable()),
        },
    }
}

fn credentials(hello: &Hello) -> Result<&Credentials, BadGreeting> {
    match &hello.expected {
        Some(Expected::Proven(credentials)) => Ok(credentials),
        Some(Expected::Told { .. }) | None => Err(BadGreeting::NoCredentials),
    }
}

fn refused(error: &EditorError) -> BadGreeting {
    BadGreeting::Refused { what: "greeting", why: loggable(&error.message) }
}

fn unreadable() -> BadGreeting {
    BadGreeting::ForeignPeer("it answered the greeting with what cannot be read".into())
}

fn hello_params(hello: &Hello) -> String {
    let push = match &hello.push_endpoint {
        Some(endpoint) => {
            let token = quoted(hello.push_token.reveal());
            format!(r#","push":{{"endpoint":{},"token":{token}}}"#, quoted(endpoint))
        }
        None => String::new(),
    };
    format!(
        r#"{{"protocol":{PROTOCOL},"gateway":{},"clientName":{},"challenge":{}{push}}}"#,
        quoted(&hello.gateway),
        quoted(&hello.client_name),
        quoted(&hello.challenge)
    )
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proven {
    #[serde(default)]
    proven: bool,
    #[serde(default)]
    tools_revision: Option<String>,
}

/// The editor's reply to `holdfast/hello`.
#[derive(Deserialize)]
struct Editor {
    project: String,
    pid: u32,
    port: u16,
    nonce: String,
    challenge: String,
    proof: String,
    /// The number of the editor's domain. Our package always sends it. A missing number is no error, because the proof alone
    /// identifies the peer.
    #[serde(default)]
    generation: Option<u64>,
}

impl Editor {
    fn read(reply: &Reply) -> Result<Self, BadGreeting> {
        match reply {
            Reply::Result(result) => serde_json::from_str(result.get()).map_err(|error| {
                BadGreeting::ForeignPeer(format!("its answer to hello is not that of the package: {error}").into())
            }),
            Reply::Error(error) => Err(refused(error)),
            Reply::Wreck(_) => Err(unreadable()),
        }
    }

    fn prove(&self, hello: &Hello, expected: &Credentials) -> Result<(), BadGreeting> {
        if (&self.nonce, self.pid, &self.project) != (&expected.nonce, expected.pid, &expected.project) {
            let other = format!(
                "it is not the editor of the instance file: it says process {} with the project {}, the file says process {} \
                 with {}",
                self.pid,
                loggable(&self.project),
                expected.pid,
                loggable(&expected.project),
            );
            return Err(BadGreeting::Unproven(other.into()));
        }
        // The editor's proof covers the port on which it was reached. A program that took the editor's port, and passes our
        // messages on to the editor's new port, cannot have that proof.
        if self.port != hello.editor_port {
            let other = format!(
                "it listens on port {}, but port {} was called: another program may stand between, or pass the port on",
                self.port, hello.editor_port
            );
            return Err(BadGreeting::Unproven(other.into()));
        }
        let Self { challenge, nonce, pid, project, port, .. } = self;
        let message = format!("holdfast 2 editor\n{}\n{challenge}\n{nonce}\n{pid}\n{project}\n{port}", hello.challenge);
        let told = hex(&self.proof).ok_or(BadGreeting::Unproven("its proof is not one".into()))?;
        mac(expected, &message).verify_slice(&told).map_err(|_| {
            let foreign_peer = "it does not know the token of the instance file: it is not the editor that wrote it";
            BadGreeting::Unproven(foreign_peer.into())
        })
    }
}

fn mac(credentials: &Credentials, message: &str) -> Hmac<Sha256> {
    // HMAC accepts a key of any length, so the fallback is never used.
    let mut mac = <Hmac<Sha256>>::new_from_slice(credentials.token.reveal().as_bytes())
        .unwrap_or_else(|_| <Hmac<Sha256>>::new(&hmac::digest::Key::<Hmac<Sha256>>::default()));
    mac.update(message.as_bytes());
    mac
}

fn proof(credentials: &Credentials, message: &str) -> String {
    mac(credentials, message).finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .map(|byte| char::from(byte).to_digit(16))
        .map(|digit| digit.map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect()
}
