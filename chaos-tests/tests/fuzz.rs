//! The quick fuzz run: every target with its committed corpus and with mutations of it, which are the same each time. `make
//! fuzz` runs the same targets under libFuzzer.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chaos_tests::fuzz::framing::{check_framer, model_of_content_length, model_of_lines};
use chaos_tests::fuzz::mutate::Mutator;
use chaos_tests::fuzz::{TARGETS, Target, session};
use holdfast::protocol::framing::content_length::ContentLength;
use holdfast::protocol::framing::lines::Lines;
use holdfast::protocol::framing::{BadFrame, Framer};

/// The seed of the mutations. Change it only to try other mutations.
const SEED: u64 = 1;
/// Largest size of all committed inputs together, in bytes.
const CORPUS_MAX_BYTES: u64 = 200_000;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus")
}

/// Returns the committed inputs of a target; a new package has none.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(corpora().join(name)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder of ours").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a file of ours")).collect()
}

/// Returns the inputs of the quick run of one target, in order.
fn inputs(target: &Target, corpus: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
    let mut mutator = Mutator::new(corpus, SEED, target.max_bytes);
    let mutated = (0..target.rounds).map(move |_| mutator.next_input());
    corpus.iter().cloned().chain(mutated)
}

/// Returns the committed inputs of a target, and those that it begins from beside them.
fn known(target: &Target) -> Vec<Vec<u8>> {
    corpus(&target.name).into_iter().chain(target.seeds()).collect()
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a target of the list")
}

/// Runs the targets of a kind.
fn quick(kind: &str) {
    for target in TARGETS.iter().filter(|target| target.kind == kind) {
        let (name, known) = (&target.name, known(target));
        assert!(!known.is_empty(), "{name} begins from nothing");
        for input in inputs(target, &known) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target.run(&input))) {
                let said = panic.downcast_ref::<String>().map(String::as_str);
                let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
                panic!("{name} broke on {:?}:\n{said}", input.escape_ascii().to_string());
            }
        }
    }
}

macro_rules! quick {
    ($($kind:ident)*) => {
        $(#[test]
        fn $kind() {
            quick(stringify!($kind));
        })*
        const RUN: &[&str] = &[$(stringify!($kind)),*];
    };
}

quick! {
    content_length lines jsonrpc_parse jsonrpc_scan jsonrpc_compact http_response http_request session
    decode greeting answer outcomes tools project push result_file call
}

#[test]
fn every_target_is_run_and_no_corpus_is_left_over() {
    let kinds: BTreeSet<&str> = TARGETS.iter().map(|target| target.kind).collect();
    assert_eq!(kinds, BTreeSet::from_iter(RUN.iter().copied()));
    let names: BTreeSet<&str> = TARGETS.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names.len(), TARGETS.len(), "no name twice");
    let mut bytes = 0;
    for folder in std::fs::read_dir(corpora()).expect("the corpora") {
        let folder = folder.expect("a folder of ours");
        let name = folder.file_name().to_string_lossy().into_owned();
        assert!(names.contains(name.as_str()), "{name} is the corpus of no target");
        for input in corpus(&name) {
            bytes += input.len() as u64;
            assert!(input.len() <= target(&name).max_bytes, "{name} has an input that is longer than its inputs are");
        }
    }
    assert!(bytes <= CORPUS_MAX_BYTES, "{bytes} bytes: minimise the corpora (fuzz/README.md)");
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let target = TARGETS.first().expect("a target");
    let corpus = known(target);
    let again = || inputs(target, &corpus).take(2000).collect::<Vec<_>>();
    assert_eq!(again(), again());
    let mut distinct = again();
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 1000, "{} distinct inputs in 2000", distinct.len());
}

// ---- The checks can fail ---------------------------------------------------------------------------------------------

/// What is wrong with a decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    /// Nothing: the wrapper itself breaks nothing.
    Nothing,
    /// Loses a line feed that arrives as a separate piece.
    LosesSingleBytes,
    /// Returns the second frame twice.
    DoublesAFrame,
    /// Removes the last byte of each frame.
    CutsAFrame,
    /// Does not report a violation.
    HidesTheViolation,
    /// Reports that every stream may end where it ends.
    AlwaysAtBoundary,
}

struct Broken<F> {
    framer: F,
    wrong: Wrong,
    frames: usize,
    again: Option<Bytes>,
}

impl<F: Framer> Framer for Broken<F> {
    fn push(&mut self, bytes: &[u8]) {
        if self.wrong != Wrong::LosesSingleBytes || bytes != b"\n" {
            self.framer.push(bytes);
        }
    }

    fn next_frame(&mut self) -> Result<Option<Bytes>, BadFrame> {
        if let Some(again) = self.again.take() {
            return Ok(Some(again));
        }
        match self.framer.next_frame() {
            Ok(Some(frame)) => {
                self.frames += 1;
                if self.wrong == Wrong::DoublesAFrame && self.frames == 2 {
                    self.again = Some(frame.clone());
                }
                let cut = usize::from(self.wrong == Wrong::CutsAFrame);
                Ok(Some(frame.slice(..frame.len().saturating_sub(cut))))
            }
            Err(_) if self.wrong == Wrong::HidesTheViolation => Ok(None),
            other => other,
        }
    }

    fn at_boundary(&self) -> bool {
        self.wrong == Wrong::AlwaysAtBoundary || self.framer.at_boundary()
    }
}

/// Returns the index of the first input of a quick run for which the model and the wrong decoder differ.
fn caught<F: Framer>(
    name: &str,
    make: impl Fn() -> F,
    wrong: Wrong,
    model: fn(&[u8]) -> chaos_tests::fuzz::framing::Found,
) -> Option<usize> {
    let target = target(name);
    let corpus = corpus(name);
    let broken = || Broken { framer: make(), wrong, frames: 0, again: None };
    let holds = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| check_framer(input, broken, model))).is_ok();
    inputs(target, &corpus).take(2000).position(|input| !holds(&input))
}

#[test]
fn a_wrong_decoder_is_caught_whatever_is_wrong_with_it() {
    let wrongs = [
        Wrong::LosesSingleBytes,
        Wrong::DoublesAFrame,
        Wrong::CutsAFrame,
        Wrong::HidesTheViolation,
        Wrong::AlwaysAtBoundary,
    ];
    let lines = |wrong| caught("lines", || Lines::new(64), wrong, model_of_lines);
    let frames = |wrong| caught("content_length", || ContentLength::new(64), wrong, model_of_content_length);
    assert_eq!((lines(Wrong::Nothing), frames(Wrong::Nothing)), (None, None), "the wrapper alone breaks nothing");
    for wrong in wrongs {
        assert!(lines(wrong).is_some(), "lines: {wrong:?} goes unseen");
        assert!(frames(wrong).is_some(), "content_length: {wrong:?} goes unseen");
    }
}

#[test]
fn a_session_that_is_answered_wrongly_is_caught() {
    let (owed, good) = session::play(b"@i 2025-06-18 x\n@m ping {}\n@m tools/list {}\n{broken");
    let text = String::from_utf8(good.clone()).expect("stdout is text");
    assert_eq!(owed.check(&good), Ok(()));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() >= 4, "{text}");
    let ping = lines.iter().find(|line| line.contains(r#""id":2"#)).expect("the ping's answer");
    let bad = [
        ("lost", text.replace(&format!("{ping}\n"), "")),
        ("doubled", format!("{text}{ping}\n")),
        ("for somebody else", text.replace(ping, &ping.replace(r#""id":2"#, r#""id":77"#))),
        ("spelt otherwise", text.replace(ping, &ping.replace(r#""id":2"#, r#""id":"2""#))),
        ("dirtied", format!("Fast Refresh: 3 files reloaded\n{text}")),
        ("cut", text.trim_end().to_owned()),
        ("both", text.replace(ping, r#"{"jsonrpc":"2.0","id":2,"result":{},"error":{}}"#)),
        ("of another protocol", text.replace(ping, r#"{"jsonrpc":"1.0","id":2,"result":{}}"#)),
    ];
    for (what, stdout) in bad {
        assert!(owed.check(stdout.as_bytes()).is_err(), "an answer {what} goes unseen");
    }
}
