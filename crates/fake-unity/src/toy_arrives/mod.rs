//! Simulates the toy package that connects to the gateway; it exists in builds for tests only (the feature `toy`).

use std::sync::Arc;

use holdfast_net::BoxFuture;
use serde_json::json;

use super::config::FakeUnityConfig;
use super::face::{Face, Link, Moment};
use super::model::Editor;
use super::observer::{Wire, id_of};
use super::package::{COMPILE_ACT, Facts, Package, Port, usual};
use super::project::{OwnFile, Project};
use super::spec::Tool;
use super::toy::{self, ToyFace};

const SETTINGS: &str = "UserSettings/ToyArrives.json";
const MANIFEST: (&str, &str) = ("dev.holdfast.toy-arrives", "1.0.0");

pub(crate) static PACKAGE: Package = Package {
    name: "toy-arrives",
    title: "the toy package that connects to the gateway",
    compile_act: COMPILE_ACT,
    facts: Facts {
        manifest: MANIFEST,
        port: Port::Settings(SETTINGS, "port"),
        dials: true,
        // A program that connects and is no editor is told why it is refused.
        greeting: ("\"method\":", &["hello", "bye"]),
        ..toy::FACTS
    },
    wire: Wire {
        // Its first words are no answer.
        answered: |message| if id_of(message).is_empty() { None } else { (toy::WIRE.answered)(message) },
        ..toy::WIRE
    },
    call: usual,
};

/// Makes the package's side of an editor.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    Arc::new(ToyArrivesFace(ToyFace::new(config)))
}

/// Speaks as the toy does, after it has said which project is open.
struct ToyArrivesFace(ToyFace);

impl Face for ToyArrivesFace {
    fn tools(&self) -> Vec<Tool> {
        self.0.tools()
    }

    fn dials(&self) -> bool {
        true
    }

    fn serve<'a>(&'a self, editor: &'a Arc<Editor>, mut link: Link) -> BoxFuture<'a, &'static str> {
        Box::pin(async move {
            let project = editor.config.project.clone().unwrap_or_default();
            let here = json!({"method": "here", "params": {"project": project.to_string_lossy()}});
            match link.writer.write(format!("{here}\n").as_bytes()).await {
                Ok(()) => self.0.serve(editor, link).await,
                Err(_) => "socket error",
            }
        })
    }

    fn tell<'a>(&'a self, editor: &'a Arc<Editor>, moment: &'a Moment) -> BoxFuture<'a, ()> {
        self.0.tell(editor, moment)
    }

    fn domain_began(&self, editor: &Arc<Editor>, again: bool) {
        self.0.domain_began(editor, again);
    }

    fn domain_ended<'a>(&'a self, editor: &'a Arc<Editor>) -> BoxFuture<'a, ()> {
        self.0.domain_ended(editor)
    }

    /// The user's settings: they are there while nothing runs too.
    fn settings(&self, _editor: &Editor, port: u16, _running: bool) -> OwnFile {
        OwnFile { path: SETTINGS, content: Some(json!({"port": port}).to_string()), private: false }
    }

    fn install(&self, project: &Project) -> std::io::Result<()> {
        project.install(MANIFEST.0, MANIFEST.1)
    }

    fn process_began(&self, editor: &Editor) {
        self.0.process_began(editor);
    }

    fn locks(&self) -> bool {
        false
    }
}
