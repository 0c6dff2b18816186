//! holdfast: an MCP server that keeps an AI editor's session alive while the Unity Editor behind it reloads, restarts or crashes.
//!
//! The modules, from the inside out:
//!
//! * [`limits`]: every bound, with its reason.
//! * [`protocol`]: bytes <-> values. Pure.
//! * [`fsm`]: the state machines, values only. Pure.
//! * [`core`]: open calls, open requests, what is known of the link, texts for users: bounded values with rules, without I/O.
//! * [`net`], [`platform`]: the seams to sockets, files and processes; real here, simulated in tests.
//! * [`storage`]: files of the gateway on disk.
//! * [`telemetry`]: each event in one place: its log line and its metric.
//! * [`config`], [`survey`]: what the user said; which project and editor that means.
//! * [`runtime`]: what actors are built on: environment, supervision, addresses, bounded mailboxes, timers, and the messages of
//!   all actors.
//! * [`client`], [`link`]: the parts of the client's session and of the editor's link that outlive the actors.
//! * [`actors`]: shells that receive, feed a machine and carry out its effects.
//! * [`transport`]: how clients connect.
//! * [`services`]: services over HTTP outside of the tree: metrics, status page, the services of a package's documents; off by
//!   default.
//! * [`cli`]: subcommands, flags and exit codes. The feature `demo` adds the subcommands `demo` and `fake-unity`, from crates
//!   that do not depend on this one.
//!
//! Imports point inwards and form no circle. `protocol`, `fsm` and `core` use no runtime, clock, randomness, environment or
//! logging and never await. `tests/it/imports.rs` and `tests/it/layers/mod.rs` check that.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout)]
#![warn(missing_docs)]

pub mod actors;
pub mod cli;
pub mod client;
pub mod config;
pub mod core;
pub mod fsm;
pub mod limits;
pub mod link;
pub mod net;
pub mod platform;
pub mod protocol;
pub mod runtime;
pub mod services;
pub mod storage;
pub mod survey;
pub mod telemetry;
pub mod transport;
