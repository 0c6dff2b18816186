//! Every test of the whole program, in one executable, so that the library is linked only once. Each suite is a module.
//!
//! There are three harnesses. [`support`] runs the product's own actors in this process, on a simulated network and a
//! simulated machine. [`binary`] starts the real program and talks to it. [`process`] also starts the real program, but
//! causes real faults; its harness is in `testkit`, and the chaos tests use it too.
//!
//! All suites share this process, so a change of global state by one suite affects the others. No suite changes the environment
//! or the working directory (a lint refuses both), and global settings are made in [`support`].

mod binary;
mod support;

mod agent_task;
mod bad_input;
mod batch;
mod calls;
mod carriers;
mod causes;
mod choice;
mod cli;
mod commands;
mod companions;
mod demo;
mod dialects;
mod ends;
mod exporter;
mod fake_editor;
mod fitting;
mod hand_overs;
mod help;
mod http;
mod http_editor;
mod imports;
mod layers;
mod ledger;
mod link;
mod listing;
mod long;
mod lost_call;
mod metrics;
mod misread;
mod offers;
mod policy;
mod process;
mod projects;
mod refusals;
mod report;
mod schemas;
mod session;
mod setup;
mod several;
mod skill;
mod standstill;
mod stateless;
mod supervision;
mod text_results;
mod unity_install;
mod unity_try;
mod unknown;
