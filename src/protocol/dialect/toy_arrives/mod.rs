//! A small package that exists in builds for tests only (the feature `toy`): the [toy] whose editor connects to the
//! gateway.
//!
//! The user sets in `UserSettings/ToyArrives.json` at which port the gateway listens. The editor connects to it again and again, and
//! begins with `{"method":"here","params":{"project":"/path"}}`. Whoever is turned away reads
//! `{"method":"bye","params":{"why":"…"}}`. Everything else is as with the toy.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::rpc::quoted;
use super::toy::{self, Toy};
use super::unity::{INSTANCE, LOCK, MANIFEST, record, whole};
use super::{
    BadGreeting, BadMessage, Dialect, EditorAnswer, EditorTool, EncodeError, Encoded, Endpoint, Greeted, Heard, Hello,
    Inbound, Introduction, ListStep, Order, PreparedCall, ProjectFacts, ProjectFile, ProjectFiles, Properties,
    PushEvent, Reception, Reply, Secret, Sending, WireId,
};

const SETTINGS: &str = "UserSettings/ToyArrives.json";
const PACKAGE: (&str, &str) = ("dev.holdfast.toy-arrives", "Packages/dev.holdfast.toy-arrives/package.json");

/// The dialect.
#[derive(Debug)]
pub struct ToyArrives;

impl Dialect for ToyArrives {
    fn name(&self) -> &'static str {
        "toy-arrives"
    }

    fn title(&self) -> &'static str {
        "the toy package that connects to the gateway"
    }

    fn properties(&self) -> &'static Properties {
        Toy.properties()
    }

    fn project_files(&self) -> &'static [ProjectFile] {
        const FILES: &[ProjectFile] =
            &[whole(SETTINGS), record(INSTANCE), whole(MANIFEST), whole(LOCK), whole(PACKAGE.1)];
        FILES
    }

    fn read_project(&self, files: &ProjectFiles) -> ProjectFacts {
        let (mut facts, settings) = toy::read_files(files, PACKAGE, SETTINGS);
        facts.port = settings.and_then(|settings| toy::port(&settings)).map(|port| (port, SETTINGS));
        facts
    }

    fn endpoint(&self, port: u16, _facts: &ProjectFacts) -> Endpoint {
        Endpoint::Arrival(port)
    }

    fn reception(&self) -> Option<Box<dyn Reception>> {
        Some(Box::new(FirstLine(Vec::new())))
    }

    fn announces(&self, version: Option<&str>) -> Option<bool> {
        Toy.announces(version)
    }

    fn encode(&self, id: WireId, order: &Order<'_>) -> Result<Encoded, EncodeError> {
        Toy.encode(id, order)
    }

    fn decode(&self, frame: &[u8]) -> Result<Inbound, BadMessage> {
        Toy.decode(frame)
    }

    fn check_greeting(&self, hello: &Hello, said: &[Reply]) -> Result<Greeted, BadGreeting> {
        Toy.check_greeting(hello, said)
    }

    fn read_tools(&self, reply: &Reply, step: usize) -> ListStep {
        Toy.read_tools(reply, step)
    }

    fn prepare_call(
        &self,
        sending: &Sending<'_>,
        name: &str,
        tool: Option<&EditorTool>,
        arguments: &RawValue,
    ) -> PreparedCall {
        Toy.prepare_call(sending, name, tool, arguments)
    }

    fn read_answer(&self, reply: Reply) -> EditorAnswer {
        Toy.read_answer(reply)
    }

    fn read_result_file(&self, _bytes: &[u8]) -> Option<Reply> {
        None
    }

    fn decode_push(&self, line: &[u8], token: &Secret) -> Result<PushEvent, BadMessage> {
        Toy.decode_push(line, token)
    }
}

/// The bytes of the first line so far.
struct FirstLine(Vec<u8>);

impl Reception for FirstLine {
    fn hear(&mut self, bytes: &[u8]) -> Result<Heard, BadMessage> {
        #[derive(Deserialize)]
        struct First {
            method: String,
            params: Here,
        }
        #[derive(Deserialize)]
        struct Here {
            project: String,
        }
        self.0.extend_from_slice(bytes);
        let mut parts = self.0.splitn(2, |byte| *byte == b'\n');
        let (Some(line), Some(rest)) = (parts.next(), parts.next()) else { return Ok(Heard::NotYet(Bytes::new())) };
        let First { method, params: Here { project } } =
            serde_json::from_slice(line).map_err(|_| BadMessage::NotJson)?;
        if method != "here" {
            return Err(BadMessage::NotAMessage("it does not say which project it has open"));
        }
        Ok(Heard::Introduced(Introduction { project, rest: Bytes::copy_from_slice(rest) }))
    }

    fn turn_away(&self, why: &str) -> Bytes {
        format!("{{\"method\":\"bye\",\"params\":{{\"why\":{}}}}}\n", quoted(why)).into()
    }
}
