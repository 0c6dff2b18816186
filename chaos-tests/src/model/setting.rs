//! What is walked: the calls, the faults, and the seam that is broken on purpose.

/// Most calls in a world.
pub const MAX_CALLS: usize = 3;

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Changes something: at most once.
    Plain,
    /// Declared repeatable.
    Repeatable,
    /// The editor also writes its result into a file.
    Reported,
    /// Nothing can be learned of its outcome but that the editor came back.
    Inferred,
    /// The editor's journal knows its outcome.
    Journaled,
    /// A domain reload may follow its answer, which is withheld until then.
    Reloading,
}

/// A seam that is broken on purpose. A promise must notice each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// Nothing is broken.
    Nothing,
    /// Hanging up leaves the epoch open in the ledger.
    EpochStaysOpen,
    /// The ledger lets a call be claimed again after its connection ended.
    ClaimsTwice,
    /// The connection task writes a call before it claims it.
    WritesBeforeClaim,
    /// A late answer is sent to the client instead of being kept.
    LateAnswerDelivered,
    /// A reply is matched by its call alone, although it is for an older connection.
    OldFrameAccepted,
    /// The supervisor starts a successor of the bridge while the old epoch is open and its tasks live.
    SuccessorTooEarly,
    /// A connection dials without the link's permit.
    DialsWithoutPermit,
    /// The ledger is not told that the gateway ends.
    DrainForgotten,
    /// A claim is withdrawn although some bytes were written.
    RevokesTorn,
    /// The bridge is not notified of a call that was accepted.
    WakeUpLost,
    /// Nothing settles the calls that are left at the end.
    EndUnsettled,
    /// The end of the registry frees the place of a list that the editor still owes.
    OldListCounts,
    /// The task of a connection that was hung up never ends.
    PermitLeaks,
    /// A successor of the bridge is registered under its address only after it has looked for work.
    EnlistedTooLate,
    /// A successor of the bridge looks for work although the gateway ends.
    SuccessorUnaware,
    /// An answer of the journal is taken for the latest sending of the call, whichever sending it names.
    StaleOutcomeCounts,
    /// The journal says of every sending that it did not run.
    JournalDenies,
    /// Late calls on an old connection are still read, and a question for an outcome does not seal the sending.
    NeitherFencedNorSealed,
    /// A call whose outcome the journal knows is given up when its connection ends.
    JournalUnasked,
    /// The editor's reply that it already has a sending is taken as the answer to the call.
    DoubleCounts,
    /// A call that cannot be sent keeps its place.
    PlaceKept,
    /// Only the bridge receives the editor's goodbye, not the connection's exchange.
    GoodbyeUnheard,
    /// Replies are matched with calls in the order of the calls, not by their number.
    RepliesInOrder,
}

/// What is walked.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The client's calls. The patience of an earlier one ends first.
    pub calls: Vec<Kind>,
    /// Number of calls that the bridge takes at once.
    pub window: u8,
    /// Number of faults that may happen.
    pub faults: u8,
    /// Whether the only faults are losses of a connection.
    pub losses_only: bool,
    /// Whether parts of the gateway may crash.
    pub crashes: bool,
    /// Whether the gateway may be stopped.
    pub stop: bool,
    /// Whether the dialect speaks HTTP: each message is a request of its own, with its response.
    pub http: bool,
    /// Whether the bridge rests until the first call, because nobody needs the editor before.
    pub rests: bool,
    /// The seam that is broken.
    pub broken: Broken,
}

impl Setting {
    /// Whether the editor keeps a journal.
    pub fn has_journal(&self) -> bool {
        self.calls.contains(&Kind::Journaled)
    }
}
