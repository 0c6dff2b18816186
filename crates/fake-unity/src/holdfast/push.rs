//! How holdfast's package sends push messages: with a sequence number, and with the token from `holdfast/hello`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::desk::Desk;
use crate::json::Object;
use crate::model::Editor;
use crate::push::{Introduction, Manner, Message, Stamp, payload};

/// First pause between two attempts to reach a listener. It doubles with each failure.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// Longest pause between two attempts to reach a listener.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Number of failed attempts in a row after which a listener is forgotten.
const ATTEMPTS_MAX: usize = 20;

/// holdfast's push messages.
pub(crate) struct Holdfast(pub(crate) Weak<Desk>);

impl Manner for Holdfast {
    fn greetings(&self, again: bool) -> &'static [&'static str] {
        if again { &["DOMAIN_RELOAD_RECOVERED"] } else { &["CONNECTION_ESTABLISHED"] }
    }

    fn line(&self, editor: &Editor, message: &Message<'_>, stamp: &Stamp<'_>) -> Vec<u8> {
        let introduces = matches!(message.kind, "CONNECTION_ESTABLISHED" | "DOMAIN_RELOAD_RECOVERED");
        let desk: Option<Arc<Desk>> = self.0.upgrade().filter(|_| introduces);
        let introduction = desk.map(|desk| Introduction {
            endpoint: format!("localhost:{}", editor.state().port.unwrap_or(0)),
            project: desk.project(editor),
            session: desk.lock().life.nonce.clone(),
        });
        let line = Object::new().text("type", message.kind).number("sequence", stamp.sequence);
        let line = stamp.token.map_or(line.clone(), |token| line.text("token", token));
        let line =
            line.text("timestamp", &(editor.timestamp() + "Z")).raw("payload", &payload(editor, message, introduction));
        (line.finish() + "\n").into_bytes()
    }

    fn pause(&self, failed: usize) -> Option<Duration> {
        let doubled = PAUSE_FIRST.saturating_mul(1 << failed.min(10));
        (failed < ATTEMPTS_MAX).then_some(doubled.min(PAUSE_MAX))
    }
}
