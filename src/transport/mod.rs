//! How clients come in: one over stdin and stdout, or several over pipes of whatever kind.

mod ending;
pub mod run;
pub mod several;
pub mod stdin_reader;
