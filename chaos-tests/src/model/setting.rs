//! What is walked: the calls, the faults, and what is wrong with the world on purpose.

/// Calls that a world can have.
pub const MAX_CALLS: usize = 3;

/// What sort of call a client makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Changes something: at most once.
    Plain,
    /// Declared repeatable.
    Repeatable,
    /// The editor writes its result into a file too.
    Reported,
    /// That the editor came back is all that can be learned.
    Inferred,
    /// The editor's journal knows what became of it.
    Journaled,
    /// A domain reload follows its answer, which is withheld until then.
    Reloading,
}

/// A seam that is wrong. Each must be noticed by a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// Nothing: the world as it is.
    Nothing,
    /// Hanging up leaves the epoch open in the ledger.
    EpochStaysOpen,
    /// The ledger lets a call be claimed again after its connection ended.
    ClaimsTwice,
    /// The connection task writes first and claims then.
    WritesBeforeClaim,
    /// A late answer is given to the client instead of being kept.
    LateAnswerDelivered,
    /// A reply is matched by its call alone, not by the number of its message.
    OldFrameAccepted,
    /// The supervisor starts a successor while the old epoch is open and its tasks live.
    SuccessorTooEarly,
    /// A connection dials without the link's permit.
    DialsWithoutPermit,
    /// The end of the gateway is not told to the ledger.
    DrainForgotten,
    /// A claim is taken back although some bytes were written.
    RevokesTorn,
    /// The bridge is not told of a call that was accepted.
    WakeUpLost,
    /// Nothing settles what is left at the end.
    EndUnsettled,
    /// The end of a registry frees the place of a list that the editor still owes.
    OldListCounts,
    /// A connection's task never falls.
    PermitLeaks,
    /// A successor of the bridge is found under its address only after it looked for work.
    EnlistedTooLate,
    /// A successor of the bridge looks for work although the gateway stops.
    SuccessorUnaware,
    /// The journal's answer is taken for whatever sending of the call there is.
    StaleOutcomeCounts,
    /// The journal says that nothing ran.
    JournalDenies,
    /// What comes late over an old connection is read, and an outcome that was asked for does not seal.
    NeitherFencedNorSealed,
    /// A call whose outcome the journal knows is given up when its connection ends.
    JournalUnasked,
    /// The editor's word that it has a sending already is taken for its answer.
    DoubleCounts,
    /// The place of a call that cannot be sent stays taken.
    PlaceKept,
    /// The connection does not hear the editor's goodbye, only the bridge does.
    GoodbyeUnheard,
    /// Replies are matched in the order of the calls, not by the number of their message.
    RepliesInOrder,
}

/// What is walked.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The client's calls, in the order in which their patience ends.
    pub calls: Vec<Kind>,
    /// How many calls the bridge takes at once.
    pub window: u8,
    /// How many faults may happen.
    pub faults: u8,
    /// Only the loss of a connection, however it comes.
    pub losses_only: bool,
    /// Faults that end the gateway's own parts are among them.
    pub crashes: bool,
    /// The gateway may be stopped.
    pub stop: bool,
    /// Each message is a request of its own, with its response.
    pub http: bool,
    /// Nobody needs the editor before the first call: until then the bridge rests.
    pub rests: bool,
    /// What is wrong with the world.
    pub broken: Broken,
}

impl Setting {
    /// Whether the editor keeps a journal.
    pub fn has_journal(&self) -> bool {
        self.calls.contains(&Kind::Journaled)
    }
}
