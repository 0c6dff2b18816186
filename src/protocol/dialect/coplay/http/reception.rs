//! The first words of an editor that connects: the request for a WebSocket, and its registration.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde::Deserialize;
use sha1::{Digest as _, Sha1};

use super::super::super::{BadMessage, Heard, Introduction, Reception};
use crate::limits::ARRIVAL_WORDS_MAX_BYTES;
use crate::protocol::framing::Framer as _;
use crate::protocol::framing::websocket::{self, Upgrade, WebSocket};

/// How often the editor says by itself that it is alive, as we ask it to. It notices the loss of a connection no sooner.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// The path of the hub.
const PATH: &str = "/hub/plugin";
/// How long the package's own server lets a command take that names no time, in seconds. Each of ours names one.
const SERVER_TIMEOUT: u64 = 30;
/// The hex digits of a project's hash.
const HASH_DIGITS: usize = 16;
/// The codes of a close: the peer breaks a rule, and the package's own one for a registration without a hash.
const REFUSED: u16 = 1008;
const NO_HASH: u16 = 4400;

/// What has come of a peer so far.
pub(super) struct Hub {
    stage: Stage,
    /// The code with which it is turned away.
    code: u16,
}

enum Stage {
    /// The bytes of the request.
    Request(BytesMut),
    /// It was answered.
    Upgraded(WebSocket),
}

impl Default for Hub {
    fn default() -> Self {
        Self { stage: Stage::Request(BytesMut::new()), code: REFUSED }
    }
}

/// How an editor registers.
#[derive(Deserialize)]
struct Register {
    #[serde(rename = "type")]
    kind: String,
    project_hash: Option<String>,
    /// The project's root, with `/` on every system in the versions that are known.
    project_path: Option<String>,
}

impl Reception for Hub {
    fn hear(&mut self, bytes: &[u8]) -> Result<Heard, BadMessage> {
        match &mut self.stage {
            Stage::Request(request) => {
                request.extend_from_slice(bytes);
                let read = Upgrade::read(request, PATH).map_err(|refused| BadMessage::NotAMessage(refused.why()))?;
                let Some(Upgrade { length, answer }) = read else { return Ok(Heard::NotYet(Bytes::new())) };
                if request.len() > length {
                    return Err(BadMessage::NotAMessage("it speaks before it has an answer to its request"));
                }
                self.stage = Stage::Upgraded(WebSocket::new(ARRIVAL_WORDS_MAX_BYTES));
                Ok(Heard::NotYet([answer, welcome()].concat().into()))
            }
            Stage::Upgraded(socket) => {
                socket.push(bytes);
                loop {
                    let message = socket.next_frame().map_err(|_| BadMessage::NotAMessage("it sends bad frames"))?;
                    let Some(message) = message else {
                        return Ok(Heard::NotYet(socket.owed().unwrap_or_default()));
                    };
                    if message.is_empty() {
                        return Err(BadMessage::NotAMessage("it closed before it registered"));
                    }
                    // The package's own server passes over what it does not know.
                    let Ok(said) = serde_json::from_slice::<Register>(&message) else { continue };
                    if said.kind == "register" {
                        let project = registered(said, &mut self.code)?;
                        let socket = std::mem::replace(socket, WebSocket::new(0));
                        return Ok(Heard::Introduced(Introduction { project, rest: socket.into_rest() }));
                    }
                }
            }
        }
    }

    /// The package's first pause is none, and begins anew with each WebSocket that opens.
    fn waits(&self) -> bool {
        true
    }

    fn turn_away(&self, why: &str) -> Bytes {
        match self.stage {
            Stage::Request(_) => websocket::refusal(why),
            Stage::Upgraded(_) => websocket::close(self.code, why),
        }
    }
}

/// The first message to an editor. The pause between its signs of life is also the longest time until it notices a loss.
fn welcome() -> Bytes {
    let keep_alive = KEEP_ALIVE.as_secs();
    websocket::text(&format!(
        r#"{{"type":"welcome","serverTimeout":{SERVER_TIMEOUT},"keepAliveInterval":{keep_alive}}}"#
    ))
}

/// Returns the project of a registration, whose hash must be that of its path.
fn registered(said: Register, code: &mut u16) -> Result<String, BadMessage> {
    let Some(hash) = said.project_hash.filter(|hash| !hash.is_empty()) else {
        *code = NO_HASH;
        return Err(BadMessage::NotAMessage("it registers without a project_hash"));
    };
    let project = said.project_path.ok_or(BadMessage::NotAMessage("it registers without a project_path"))?;
    let matches = |path: &str| hash_of(path).eq_ignore_ascii_case(&hash);
    if !matches(&project) && !matches(&project.replace('\\', "/")) {
        return Err(BadMessage::NotAMessage("its project_hash is not that of its project_path"));
    }
    Ok(project)
}

/// Returns the hash of the project with this root, as the package makes it from the path of the folder `Assets`.
fn hash_of(project: &str) -> String {
    let digest = Sha1::digest(format!("{}/Assets", project.trim_end_matches('/')));
    digest.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}
