//! A dialect is the wire protocol of one Unity package, as a pure value: which project files it uses, how bytes are framed, how
//! tools are listed and called, and what its frames mean. Machines and actors know no dialect by name, only its [`Properties`].

mod answer;
mod arguments;
mod arrival;
mod compiled;
pub mod coplay;
pub mod elsewhere;
mod endpoint;
mod errors;
pub mod foreign_peer;
pub mod holdfast;
mod inbound;
mod input_schema;
mod interface;
mod listing;
mod members;
mod orders;
mod other_names;
pub mod pipeline;
mod project;
mod properties;
mod resources;
mod rpc;
#[cfg(test)]
mod tests;
mod tools;
#[cfg(feature = "toy")]
pub mod toy;
#[cfg(feature = "toy")]
pub mod toy_arrives;
#[cfg(feature = "toy")]
pub mod toy_jobs;
pub mod turbokettle;
pub mod uloop;
pub mod umcp;
mod unity;
pub mod unity_cli_loop;
pub mod unity_mcp;
pub mod unspoken;
mod wreck;

pub use self::answer::*;
pub use self::arguments::{OwnName, taken_out, under_own_names};
pub use self::arrival::*;
pub use self::compiled::*;
pub use self::endpoint::{Endpoint, LocalSocket};
pub use self::errors::*;
pub use self::inbound::*;
pub use self::input_schema::InputSchema;
pub use self::interface::Dialect;
pub use self::orders::*;
pub use self::project::*;
pub use self::properties::*;
pub use self::resources::PackageResource;
pub use self::tools::*;
pub use self::wreck::{Wreck, WreckPart};
pub use holdfast::UnreadableCalls;
pub use other_names::{OtherArgument, OtherName, translated};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Dialects that a project may use, the preferred one first.
pub type Dialects = &'static [&'static dyn Dialect];

/// All dialects. The project's files decide which one is used; if they name none, the last one is used.
pub const ALL: Dialects = &[
    &holdfast::Holdfast,
    &turbokettle::Turbokettle,
    #[cfg(feature = "toy")]
    &toy::Toy,
    #[cfg(feature = "toy")]
    &toy_arrives::ToyArrives,
    #[cfg(feature = "toy")]
    &toy_jobs::ToyJobs,
    &unity_mcp::UnityMcp,
    &pipeline::Pipeline,
    &coplay::Coplay,
    &coplay::http::CoplayHttp,
    &unity_cli_loop::UnityCliLoop,
    &umcp::Umcp,
    &uloop::Uloop,
];
/// The dialect to use if the project's files name none: the last one, because it needs no file.
pub fn fallback(dialects: Dialects) -> &'static dyn Dialect {
    dialects.last().copied().unwrap_or(FALLBACK[0])
}

/// The last of them, which needs no file.
pub const FALLBACK: Dialects = &[&uloop::Uloop];
/// Our own package.
pub const OWN: Dialects = &[&holdfast::Holdfast];

/// Only the dialect with this name; an empty list if there is no such dialect.
pub fn only(name: &str) -> Dialects {
    ALL.iter().position(|dialect| dialect.name() == name).map_or(&[], |at| &ALL[at..=at])
}

/// The dialect with this name.
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name() == name)
}

/// A dialect crosses to another process as its name.
impl Serialize for dyn Dialect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for &'static dyn Dialect {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        named(&name).ok_or_else(|| D::Error::custom(format_args!("unknown dialect {name:?}")))
    }
}
