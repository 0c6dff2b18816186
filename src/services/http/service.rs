//! What a service does with the requests that it is given.

use super::reply::Reply;
use super::request::{Refused, Request};
use super::rules::Rules;

/// What is answered at one listener.
pub trait Service: Send + Sync + 'static {
    /// What it takes.
    fn rules(&self) -> Rules;
    /// Answers a request that the rules allow.
    fn answer(&self, request: Request) -> impl Future<Output = Result<Reply, Refused>> + Send;
    /// Answers what is no request, or none that is taken. `None`: the peer is owed nothing.
    fn refuse(&self, why: Refused) -> Option<Reply>;
}
