//! holdfast: an MCP server that keeps an AI editor's session whole while the Unity Editor behind it comes and goes.
//!
//! The map, from the inside out:
//!
//! * [`limits`]: every bound, with its reason.
//! * [`protocol`]: bytes <-> values. Pure.
//! * [`fsm`]: the state machines, values only. Pure.
//! * [`core`]: open calls, open requests, what is known of the link, texts for users: bounded values with rules, without I/O.
//! * [`net`], [`platform`]: the seams to sockets, files and processes; real here, simulated in tests.
//! * [`storage`]: what stands on disk.
//! * [`telemetry`]: each event in one place: its log line and its metric.
//! * [`config`], [`survey`]: what the user said; which project and editor that means.
//! * [`runtime`]: what actors stand on: the gateway's surroundings, supervision, addresses, bounded mailboxes, timers, and the messages
//!   of all actors.
//! * [`client`], [`link`]: what of the client's session and of the editor's link outlives the actors.
//! * [`actors`]: shells that receive, feed a machine and carry out its effects.
//! * [`transport`]: how a client comes in.
//! * [`services`]: what is served over HTTP beside the tree: metrics, status page, what a package's documents have; off by default.
//! * [`cli`]: subcommands, flags and exit codes. The feature `demo` adds the subcommands `demo` and `fake-unity`, with crates of
//!   their own that know nothing of this one.
//!
//! Imports point inwards and form no circle; `protocol` and `fsm` know no runtime, clock, randomness, environment or logging and
//! never await. `tests/it/imports.rs` and `tests/it/layers/mod.rs` hold that.

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
