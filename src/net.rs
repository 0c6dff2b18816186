//! The seam to the network: [`holdfast_net`], which the model of an editor uses too.

pub use holdfast_net::{BoxFuture, BoxStream, Listener, Net, Stream, Tcp};
