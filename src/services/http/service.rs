//! The interface between the HTTP server and a service.

use super::peer::Peer;
use super::reply::{Answer, Reply};
use super::request::{self, Head, Refused, Request};
use super::rules::Rules;

/// Answers the requests at one listener.
pub trait Service: Send + Sync + 'static {
    /// Returns which requests the service accepts.
    fn rules(&self) -> Rules;
    /// Checks the head of a request, before anything of its body is read. By default, only requests to this machine's
    /// own names are admitted. Requests of web pages are admitted only if the rules say so.
    ///
    /// # Errors
    /// Why the request is refused.
    fn admit(&self, head: &Head<'_>) -> Result<(), Refused> {
        request::admit_local(head, self.rules().pages)
    }
    /// Answers a request that the rules allow. `peer`: the client, at the other end of the connection.
    fn answer(&self, request: Request, peer: Peer) -> impl Future<Output = Result<Answer, Refused>> + Send;
    /// Returns the answer to a request that was refused; `None` if the request gets no answer.
    fn refuse(&self, why: Refused) -> Option<Reply>;
}
