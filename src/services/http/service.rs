//! The interface between the HTTP server and a service.

use super::reply::Reply;
use super::request::{Refused, Request};
use super::rules::Rules;

/// Answers the requests at one listener.
pub trait Service: Send + Sync + 'static {
    /// Returns which requests the service accepts.
    fn rules(&self) -> Rules;
    /// Answers a request that the rules allow.
    fn answer(&self, request: Request) -> impl Future<Output = Result<Reply, Refused>> + Send;
    /// Returns the answer to a request that was refused; `None` if the request gets no answer.
    fn refuse(&self, why: Refused) -> Option<Reply>;
}
