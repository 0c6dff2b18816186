//! holdfast: an MCP server that keeps an AI editor's session whole while the Unity Editor behind it comes and goes.
//!
//! The map, from the inside out:
//!
//! * [`protocol`]: bytes <-> values. Pure.
//! * [`fsm`]: the state machines, values only. Pure.
//! * [`ledger`], [`front`], [`logbook`]: bounded records of open calls, open requests and logs; they outlive every actor.
//! * [`actors`]: shells that receive, feed a machine and carry out its effects.
//! * [`audit`]: a line for each call, if it was asked for.
//! * [`companions`]: HTTP services beside the tree that a package's documents have; off by default.
//! * [`net`], [`host`]: the seams to sockets, files and processes; real here, simulated in tests. [`stdio`]: our own three pipes.
//! * [`fake_unity`]: a model of a Unity Editor for the demo and the tests.
//! * [`timeline`]: a session as a picture, for the demo and for reports.
//! * [`cli`], [`config`], [`config_file`]: flags and files to meaning, subcommands to exit codes.
//!
//! Layer rule, held by `tests/it/layers.rs`: `protocol` <- `fsm` <- everything else; `protocol` and `fsm` know no runtime,
//! clock, randomness, environment or logging and never await.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout)]
#![warn(missing_docs)]

pub mod actors;
pub mod audit;
pub mod catalogue_file;
pub mod cli;
pub mod companions;
pub mod config;
pub mod config_file;
pub mod estate;
pub mod fake_unity;
pub mod front;
pub mod fsm;
pub mod host;
pub mod ledger;
pub mod limits;
pub mod lock_file;
pub mod logbook;
pub mod net;
pub mod protocol;
pub mod run_record;
pub mod state_record;
pub mod stdio;
pub mod survey;
pub mod telemetry;
pub mod timeline;
pub mod wording;
