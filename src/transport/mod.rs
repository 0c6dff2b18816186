//! How clients connect: one over stdin and stdout, or several over any pipes.

mod attached;
mod ending;
pub mod hub;
mod links;
pub mod posts;
pub mod run;
pub mod several;
pub mod stdin_reader;
