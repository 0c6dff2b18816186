//! The harness of every dialect: what its codec reads and writes, for any bytes from an editor, its push socket or its project's
//! files. The codec is held against the observer and the facts of its simulated package, which share no code with it.

mod calls;
mod files;
mod replies;
mod sides;

use holdfast::protocol::dialect;

pub use self::sides::Sides;

/// What is fuzzed of a dialect: the second part of the targets' names; what panics if the dialect breaks a promise on these bytes;
/// the inputs to begin from, beside the corpus; whether the dialect has it; rounds and longest input of [`Target`](super::Target).
pub type Kind = (&'static str, fn(&Sides, &[u8]), fn(&Sides) -> Vec<Vec<u8>>, fn(&Sides) -> bool, u32, usize);

/// Everything that is fuzzed of a dialect.
pub const KINDS: [Kind; 9] = [
    ("decode", replies::decode, |sides| sides.recorded().frames.clone(), Sides::is_stream, 15_000, 4096),
    ("greeting", replies::greeting, replies::greetings, Sides::speaks_json, 5_000, 2048),
    ("answer", replies::answer, replies::answers, |sides| !sides.is_stream(), 5_000, 4096),
    ("outcomes", replies::outcomes, |sides| sides.recorded().results.clone(), Sides::has_journal, 10_000, 4096),
    ("tools", files::tools, files::lists, Sides::speaks_json, 10_000, 8192),
    ("project", files::project, files::projects, |_| true, 10_000, 4096),
    ("push", files::push, |sides| sides.recorded().pushed.clone(), Sides::pushes, 20_000, 2048),
    ("result_file", files::result_file, files::results, Sides::has_result_files, 20_000, 4096),
    ("call", calls::call, calls::calls, |_| true, 10_000, 8192),
];

/// Returns every dialect of the gateway's list with its simulated package.
pub fn all() -> impl Iterator<Item = Sides> {
    dialect::ALL.iter().map(|dialect| Sides::of(*dialect))
}
