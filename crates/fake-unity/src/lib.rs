//! A model of a Unity Editor, with a simulated package ("face") for each wire protocol.
//!
//! The model simulates what makes an editor hard to talk to: a main thread that ticks, domain reloads during which the editor is
//! silent, freezes, modal dialogs and crashes. It runs inside a test (over any [`Net`](holdfast_net::Net)) or as a process
//! ([`run_process`]) that can be killed. It follows the descriptions of the protocols and shares no codec, constant or table with
//! the gateway: otherwise it would repeat the gateway's mistakes.
//!
//! At a reload, queued work that has not begun is lost. Work that has begun is stopped, but its side effect was counted when it
//! began. Only a resumable tool of holdfast's own package continues after the reload.

mod args;
mod config;
mod conformance;
mod coplay;
mod events;
mod face;
mod fake_unity;
mod guard;
mod holdfast;
mod json;
pub mod limits;
mod main_thread;
mod model;
pub mod observer;
mod odd;
mod package;
mod package_version;
mod packages;
mod pipeline;
mod ports;
mod project;
mod push;
mod reset;
mod runtime;
mod spec;
mod steer;
mod tools;
#[cfg(feature = "toy")]
mod toy;
#[cfg(feature = "toy")]
mod toy_arrives;
#[cfg(feature = "toy")]
mod toy_jobs;
mod turbokettle;
mod uloop;
mod umcp;
mod unity_cli_loop;
mod unity_mcp;
mod work;

#[cfg(test)]
mod tests;

pub use args::FakeUnityArgs;
pub use config::{FakeUnityConfig, Misconduct};
pub use events::{Event, Stats};
pub use fake_unity::FakeUnity;
pub use odd::Odd;
pub use package::{Call, Facts, Identity, Package, Port, Shape, Task};
pub use package_version::PackageVersion;
pub use packages::PACKAGES;
pub use ports::OwnPort;
pub use project::{Files, HOME, Machine};
pub use reset::{AbortiveTcp, ResetSwitch};
pub use steer::{Ending, SteerOptions, run_process};
