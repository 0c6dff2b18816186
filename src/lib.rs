//! holdfast: an MCP server that keeps an AI editor's session alive while the Unity Editor behind it reloads, restarts or crashes.
//!
//! The modules, from the inside out:
//!
//! * [`limits`]: the bounds of queues, sizes, waits and attempts, each with its reason.
//! * [`protocol`]: bytes <-> values. Pure.
//! * [`fsm`]: the state machines, values only. Pure.
//! * [`core`]: open calls, open requests, what is known of the link, texts for users: bounded values with rules, without I/O.
//! * [`net`], [`platform`]: the access to sockets, files and processes, which tests replace by a simulation.
//! * [`storage`]: files of the gateway on disk.
//! * [`telemetry`]: each event in one place: its log line and its metric.
//! * [`config`], [`survey`]: the user's settings; which project and editor they lead to.
//! * [`runtime`]: what actors are built on: environment, supervision, addresses, bounded mailboxes, timers, and the messages of
//!   all actors.
//! * [`client`], [`link`]: the parts of the client's session and of the editor's link that outlive the actors.
//! * [`actors`]: shells that receive, feed a machine and carry out its effects.
//! * [`transport`]: how clients connect.
//! * [`services`]: services over HTTP outside of the tree: metrics, status page, the services of a package's documents; they are
//!   off by default.
//! * [`cli`]: subcommands, flags and exit codes. The feature `demo` adds the subcommands `demo` and `fake-unity`. The crates that
//!   they use do not depend on this one.
//!
//! Imports point inwards and form no circle. `protocol`, `fsm` and `core` use no runtime, clock, randomness, environment or
//! logging and never await. `tests/it/imports.rs` and `tests/it/layers/mod.rs` check that.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout)]
#![allow(missing_docs, reason = "nobody imports this crate but its own tests; a comment says what a name does not")]

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
