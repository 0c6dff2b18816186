//! The model: the real machines and the real ledger, in a world that does them every harm it can.
//!
//! A [`World`](world::World) holds the gateway's own parts as they are ([`Bridge`](holdfast::fsm::bridge::Bridge) behind its
//! driver, [`Ledger`](holdfast::core::calls::Ledger) with a [`Call`](holdfast::fsm::call::Call) in each entry) and a model of what
//! lies around them: the bridge's shell and mailbox, the connection tasks, the sockets, the editor, the client, the clock, the
//! supervisor. Each [`Action`](action::Action) is one thing that can happen next; [`step`] carries it out. Every order of
//! actions is walked, up to a budget of faults, and the [`promises`] are checked in every state.
//!
//! What the bridge's shell does with an effect is repeated here from `src/actors/bridge.rs`, and what a connection task does
//! from `src/actors/connection.rs`: those two tables are the model's assumption, and the simulation checks the real ones.
//!
//! [`Broken`](world::Broken) are worlds in which one seam is wrong: the promises must notice each of them.

pub mod action;
pub mod graph;
pub mod journal;
pub mod line;
pub mod promises;
pub mod seam;
pub mod shell;
pub mod step;
pub mod world;
