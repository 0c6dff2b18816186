//! The model: the gateway's real state machines and its real ledger, in a simulated world that tries every fault.
//!
//! A [`World`](world::World) holds the real parts of the gateway ([`BridgeCore`](holdfast::core::bridge::BridgeCore) with its
//! machine, an [`Exchange`](holdfast::core::exchange::Exchange) for each connection, the
//! [`Ledger`](holdfast::core::calls::Ledger) with a [`Call`](holdfast::fsm::call::Call) in each entry) and a model of what
//! surrounds them: mailboxes, tasks that read and write bytes, sockets, the editor, the client, the clock, the supervisor.
//! Each [`Action`](action::Action) is one event that can happen next; [`step`] carries it out. The checker tries every order
//! of actions, up to a budget of faults, and checks the [`promises`] in every state.
//!
//! Each [`Broken`](setting::Broken) is a world in which one detail is wrong on purpose. The check of some promise must fail
//! in each of them.

pub mod action;
pub mod bridge;
pub mod editor;
pub mod graph;
pub mod hub;
pub mod journal;
pub mod line;
pub mod port;
pub mod promises;
pub mod records;
pub mod routing;
pub mod seam;
pub mod setting;
pub mod step;
pub mod world;
