//! The access to the network, which tests replace by a simulation: [`holdfast_net`]. The fake editor uses it too.

pub use holdfast_net::{BoxFuture, BoxStream, Listener, Net, Stream, Tcp};
