//! What the model checker tries: the calls, the number of faults, and the detail that is wrong on purpose.

use holdfast::protocol::dialect::Shape;

/// The largest number of calls in a world.
pub const MAX_CALLS: usize = 3;

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Changes something, so it may run at most once.
    Plain,
    /// The tool is declared repeatable.
    Repeatable,
    /// The editor also writes the call's result into a file.
    Reported,
    /// The only sign of its outcome is that the editor came back.
    Inferred,
    /// The editor's journal knows its outcome.
    Journaled,
    /// The editor runs it as a job: its reply only names the job, which is asked for.
    Job,
    /// A domain reload may follow its answer, which is withheld until then.
    Reloading,
}

/// A detail that is wrong on purpose. The check of some promise must fail for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Broken {
    /// Nothing is broken.
    Nothing,
    /// Hanging up a connection leaves its epoch open in the ledger.
    EpochStaysOpen,
    /// The ledger lets a call be claimed again after its connection ended.
    ClaimsTwice,
    /// The connection task writes a call before it claims it.
    WritesBeforeClaim,
    /// A late answer is sent to the client instead of being kept.
    LateAnswerDelivered,
    /// A reply is matched by its call alone, even if it belongs to an older connection.
    OldFrameAccepted,
    /// The supervisor starts a successor of the bridge while the old epoch is open and the old tasks are alive.
    SuccessorTooEarly,
    /// A connection dials without the link's permit.
    DialsWithoutPermit,
    /// The ledger is not notified that the gateway ends.
    DrainForgotten,
    /// A claim is withdrawn although some bytes were written.
    RevokesTorn,
    /// The bridge is not notified of a call that was accepted.
    WakeUpLost,
    /// Nothing gives a verdict to the calls that are left at the end.
    EndUnsettled,
    /// When the registry ends, the slot of a list request is freed although the editor must still answer it.
    OldListCounts,
    /// The task of a connection that was hung up never ends.
    PermitLeaks,
    /// A successor of the bridge is registered under the bridge's address only after it has looked for held calls.
    EnlistedTooLate,
    /// A successor of the bridge looks for held calls although the gateway is ending.
    SuccessorUnaware,
    /// An answer of the journal is applied to the latest attempt to send the call, even if it names another attempt.
    StaleOutcomeCounts,
    /// The journal answers for every attempt to send a call that it did not run.
    JournalDenies,
    /// Late calls on an old connection are still read, and a question for an outcome does not keep a late sending from
    /// running.
    NeitherFencedNorSealed,
    /// A call is given up when its connection ends, although the journal knows its outcome.
    JournalUnasked,
    /// The editor's reply that it already has a sending is taken as the answer to the call.
    DoubleCounts,
    /// A call that cannot be sent keeps its slot at the editor.
    PlaceKept,
    /// Only the bridge receives the editor's announcement that it quits, not the connection's exchange.
    GoodbyeUnheard,
    /// Replies are matched with calls by their order, not by their number.
    RepliesInOrder,
    /// A call that is to run as a job is sent again if the answer that names the job is lost.
    SubmissionAgain,
    /// The name of a job is not kept for the time after a loss.
    JobUnnamed,
    /// The reply that only names a job is taken for the answer to the call.
    NameIsAnswer,
    /// A job that the editor does not have any more counts as one that has not run.
    LostJobUnrun,
    /// A hub sends a call that it has not recorded as sent.
    SendsUnrecorded,
    /// A hub answers a call and records the answer only when it was delivered.
    AnswersUnrecorded,
    /// A hub sends again what its predecessor recorded as sent.
    SendsRecordedAgain,
    /// Two hubs run at once: the one that takes the other's sessions over has read the records when it started, before anything
    /// was sent.
    SecondHub,
    /// A hub does not see that a line of its predecessor's records cannot be read.
    DamageUnseen,
    /// A hub whose predecessor's records were damaged names them as former ones all the same, so its own successor takes them for whole.
    DamageForgotten,
    /// A hub takes what its session brings late for something that was never sent.
    OldIsNew,
    /// A hub says that an outcome is unknown because the records were damaged or lost, and does not record that.
    UnknownUnrecorded,
    /// A hub takes a repeatable call that its predecessor sent for a new one.
    AgainIsNew,
    /// A hub does not record a late result.
    LateUnrecorded,
    /// Whoever comes after a killed hub and its session takes over only the calls whose client waited for an answer, and none whose
    /// client was told that it still runs.
    ToldForgotten,
    /// Whoever comes after a killed hub and its session tells the client of a call, and does not record that.
    TellingUnrecorded,
    /// Whoever comes after a killed hub and its session tells of no call for which "still running" was recorded, although the client may
    /// not have got that.
    RunningCountsAsTold,
    /// A gateway without a hub takes from the records of a killed hub what belongs to a session that lives.
    TakesFromTheLiving,
}

/// What one run of the model checker tries.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The client's calls. The patience for an earlier call ends first.
    pub calls: Vec<Kind>,
    /// Number of calls that the bridge inside the editor accepts at once.
    pub window: u8,
    /// Number of faults that may happen.
    pub faults: u8,
    /// Whether the only faults are the losses of a connection.
    pub losses_only: bool,
    /// Whether parts of the gateway may crash.
    pub crashes: bool,
    /// Whether the gateway may be stopped.
    pub stop: bool,
    /// The shape of the exchange. Only with [`Shape::Jobs`] there are calls of [`Kind::Job`].
    pub shape: Shape,
    /// Whether the editor still has its jobs after a reload. What ran is interrupted.
    pub jobs_survive: bool,
    /// Whether the gateway does not connect until the first call, because nothing needs the editor before.
    pub rests: bool,
    /// Whether the gateway is a hub, which keeps records and may be killed at any time.
    pub hub: bool,
    /// Whether the records of a hub may be damaged or lost, its session may stand still, and the hub may make way.
    pub harm: bool,
    /// Whether a hub may be killed together with its session, so that nobody brings what is open: the next gateway, with a hub or
    /// without one, has the records only.
    pub both: bool,
    /// The detail that is wrong on purpose.
    pub broken: Broken,
}

impl Setting {
    /// Whether the editor keeps a journal.
    pub fn has_journal(&self) -> bool {
        self.calls.contains(&Kind::Journaled)
    }

    /// Whether the editor runs calls as jobs.
    pub fn has_jobs(&self) -> bool {
        self.shape == Shape::Jobs
    }

    /// Whether the editor can be asked for outcomes.
    pub fn is_asked(&self) -> bool {
        self.has_journal() || self.has_jobs()
    }

    /// Whether a connection brings the answer to one message before the next is sent.
    pub fn one_by_one(&self) -> bool {
        self.shape != Shape::Stream
    }
}
