//! Every test of the whole program, in one executable, so that the library is linked once. A suite is a module.
//!
//! Three harnesses: [`support`] runs the product's own actors in this process, on a simulated network and a simulated machine;
//! [`binary`] starts the real program and speaks with it; [`process`] does so under real faults, with the harness that
//! `crates/testkit` has for the chaos suite too.
//!
//! All suites share this process: what one changes here, another sees. None changes the environment or the working directory
//! (a lint refuses both), and what is set once for all stands in [`support`].

mod binary;
mod support;

mod bad_input;
mod calls;
mod causes;
mod cli;
mod commands;
mod demo;
mod dialects;
mod ends;
mod exporter;
mod fitting;
mod imports;
mod layers;
mod ledger;
mod link;
mod long;
mod lost_call;
mod metrics;
mod policy;
mod process;
mod projects;
mod session;
mod setup;
mod several;
mod stateless;
mod supervision;
mod turbokettle;
mod unity_companions;
mod unity_http;
mod unity_install;
