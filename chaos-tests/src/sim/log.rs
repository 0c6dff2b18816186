//! Writes the gateway's own log into the history. Only the actors' ids, which the runtime assigns, are left out: they differ from
//! run to run.

use std::cell::RefCell;
use std::fmt;
use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use holdfast_testkit::sabotage::MARK;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use super::plan::Break;
use crate::history::{Event, Recorder};

/// A subscriber that writes every log line of the gateway into a history.
pub struct IntoHistory {
    recorder: Recorder,
    /// With [`Break::LostLine`]: the number of `call_answered` lines until the one that is left out.
    lost_in: Option<AtomicU32>,
}

impl IntoHistory {
    /// A subscriber for this history. With [`Break::LostLine`] it leaves out one line.
    pub fn new(recorder: Recorder, broken: Option<Break>) -> Self {
        Self { recorder, lost_in: (broken == Some(Break::LostLine)).then(|| AtomicU32::new(6)) }
    }
}

#[derive(Default)]
struct Line {
    name: String,
    rest: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write as _;
        if field.name() == "event" {
            self.name = format!("{value:?}").trim_matches('"').to_owned();
        } else if field.name() != "actor_id" {
            let _ = write!(self.rest, " {}={value:?}", field.name());
        }
    }
}

impl Subscriber for IntoHistory {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("holdfast")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let lost = |left: &AtomicU32| line.name == "call_answered" && left.fetch_sub(1, Ordering::Relaxed) == 1;
        if self.lost_in.as_ref().is_some_and(lost) {
            return;
        }
        let text = format!("{}{}", line.name, line.rest);
        let what = if line.name == "unexpected_event" { Event::Unexpected(text) } else { Event::Told(text) };
        self.recorder.record(what);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

thread_local! {
    static PANICS: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// From now on, panics on this thread are written into the history of `recorder`; if it is `None`, they are reported as usual.
/// Panics that a test caused on purpose are ignored on every thread.
pub fn watch_panics(recorder: Option<Recorder>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() == Some(&MARK) {
                return;
            }
            let recorder = PANICS.with(|slot| slot.try_borrow().ok().and_then(|slot| slot.clone()));
            match recorder {
                Some(recorder) => recorder.record(Event::Panicked(said(panic))),
                None => other(panic),
            }
        }));
    });
    PANICS.with(|slot| *slot.borrow_mut() = recorder);
}

fn said(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("");
    format!("{}: {text}", panic.location().map(ToString::to_string).unwrap_or_default())
}
