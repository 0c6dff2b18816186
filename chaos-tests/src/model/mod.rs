//! The model: the real machines and the real ledger, in a world that does them every harm it can.
//!
//! A [`World`](world::World) holds the real parts of the gateway ([`BridgeCore`](holdfast::core::bridge::BridgeCore) with its
//! machine, an [`Exchange`](holdfast::core::exchange::Exchange) for each connection, the
//! [`Ledger`](holdfast::core::calls::Ledger) with a [`Call`](holdfast::fsm::call::Call) in each entry) and a model of what
//! surrounds them: mailboxes, tasks that carry bytes, sockets, the editor, the client, the clock, the supervisor. Each
//! [`Action`](action::Action) is one event that can happen next; [`step`] carries it out. Every order of actions is walked, up to
//! a budget of faults, and the [`promises`] are checked in every state.
//!
//! Each [`Broken`](setting::Broken) is a world in which one seam is wrong. A promise must notice each of them.

pub mod action;
pub mod bridge;
pub mod editor;
pub mod graph;
pub mod journal;
pub mod line;
pub mod promises;
pub mod seam;
pub mod setting;
pub mod step;
pub mod world;
