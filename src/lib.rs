//! holdfast: an MCP server that keeps an AI editor's session whole while the Unity Editor behind it comes and goes.
//!
//! The map, from the inside out:
//!
//! * [`protocol`]: bytes <-> values. Pure.
//! * [`fsm`]: the state machines, values only. Pure.
//! * [`ledger`], [`front`], [`logbook`]: bounded records of open calls, open requests and logs; they outlive every actor.
//! * [`actors`]: shells that receive, feed a machine and carry out its effects.
//! * [`audit`]: a line for each call, if it was asked for.
//! * [`services`]: what is served over HTTP beside the tree: metrics, status page, what a package's documents have; off by default.
//! * [`net`], [`host`]: the seams to sockets, files and processes; real here, simulated in tests. [`stdio`]: our own three pipes.
//! * [`fake_unity`]: a model of a Unity Editor for the demo and the tests.
//! * [`timeline`]: a session as a picture, for the demo and for reports.
//! * [`cli`], [`config`], [`config_file`]: flags and files to meaning, subcommands to exit codes.
//!
//! Layer rule, held by `tests/layers.rs`: `protocol` <- `fsm` <- everything else; `protocol` and `fsm` know no runtime,
//! clock, randomness, environment or logging and never await.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout)]
#![warn(missing_docs)]

pub mod actors;
pub mod cli;
pub mod config;
pub mod core;
pub mod estate;
pub mod fake_unity;
pub mod fsm;
pub mod limits;
pub mod net;
pub mod platform;
pub mod protocol;
pub mod runtime;
pub mod services;
pub mod storage;
pub mod survey;
pub mod telemetry;
pub mod timeline;
pub mod transport;
