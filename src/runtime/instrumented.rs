//! Wraps an actor and notes each message that it is handed. All actors of the gateway except supervisors are wrapped.

use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::telemetry::events::Events;

/// The wrapped actor; see the module's documentation.
pub struct Instrumented<A> {
    /// The actor.
    pub inner: A,
    /// Its name in logs and labels.
    pub name: &'static str,
    /// Where the messages are noted.
    pub events: Events,
}

impl<A: Actor> Actor for Instrumented<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(&self, me: ActorRef<A::Msg>, arguments: A::Arguments) -> Result<A::State, ActorProcessingErr> {
        self.inner.pre_start(me, arguments).await
    }

    async fn post_start(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.inner.post_start(me, state).await
    }

    async fn handle(
        &self,
        me: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.events.handed_over(self.name);
        self.inner.handle(me, message, state).await
    }

    async fn post_stop(&self, me: ActorRef<A::Msg>, state: &mut A::State) -> Result<(), ActorProcessingErr> {
        self.inner.post_stop(me, state).await
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<A::Msg>,
        event: SupervisionEvent,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.inner.handle_supervisor_evt(me, event, state).await
    }
}
