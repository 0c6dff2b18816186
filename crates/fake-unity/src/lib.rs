//! A model of a Unity Editor, with a face for each wire protocol.
//!
//! It plays what makes an editor hard to talk to: a main thread that ticks, domain reloads with their silence, freezes,
//! modal dialogs, crashes. It runs in one process with a test (over any [`Net`](holdfast_net::Net)) and as a process of its own
//! ([`run_process`]) that can be killed. It follows the descriptions of the protocols and
//! shares no codec, constant or table with the gateway: a model that did would repeat the gateway's mistakes.
//!
//! What a reload does to work: queued work that has not begun is lost; work that has begun is cut, and its side effect
//! counted when it began.

mod args;
mod config;
mod conformance;
mod events;
mod face;
mod fake_unity;
mod holdfast;
mod json;
pub mod limits;
mod main_thread;
mod model;
mod package_version;
mod project;
mod push;
mod reset;
mod runtime;
mod spec;
mod steer;
mod tools;
mod turbokettle;
mod uloop;
mod unity_mcp;
mod work;

#[cfg(test)]
mod tests;

pub use args::FakeUnityArgs;
pub use config::{FakeDialect, FakeUnityConfig, Misconduct};
pub use events::{Event, Stats};
pub use fake_unity::FakeUnity;
pub use package_version::PackageVersion;
pub use project::{Files, Machine};
pub use reset::{AbortiveTcp, ResetSwitch};
pub use steer::{Ending, SteerOptions, run_process};
