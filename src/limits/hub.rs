//! The bounds of the hub: one gateway that serves several clients.

use std::time::Duration;

use super::{
    CLIENT_MESSAGE_MAX_BYTES, DRAIN_MAX, EDITOR_MESSAGE_MAX_BYTES, LINKS_MAX, MIB, OPEN_REQUESTS_MAX, SESSIONS_MAX,
};
#[cfg(doc)]
use super::{POLICY_RULE_MAX_BYTES, POLICY_RULES_MAX};

/// Longest first line on a connection to the hub. It has the rules of a session: [`POLICY_RULES_MAX`] rules of
/// [`POLICY_RULE_MAX_BYTES`] from each of a few places, and the settings of clients.
pub const HUB_HELLO_MAX_BYTES: usize = MIB;
/// Longest folder that is taken from a variable of the client; a session tells it to the hub. Linux takes no longer path.
pub const CLIENT_FOLDER_MAX_BYTES: usize = 4096;
/// Longest id that is shown of a client's own session. A UUID has 36 bytes.
pub const CLIENT_SESSION_MAX_BYTES: usize = 64;
/// How long the hub waits for a connection's first line, and a session for the hub's answer to it. On a free machine both come
/// within a millisecond. A session that gets no answer serves its client by itself.
pub const HUB_ATTACH_MAX: Duration = Duration::from_secs(1);
/// How often a session that waits for answers looks whether the hub has said anything, and asks it if not.
pub const HUB_LOOK_EVERY: Duration = Duration::from_secs(1);
/// Questions without an answer after which a hub counts as hung and is ended. With [`HUB_LOOK_EVERY`] that is four seconds. A hub
/// that is ended by mistake costs calls whose editor has no journal an "outcome unknown", so this is longer than a busy machine
/// needs.
pub const HUB_QUESTIONS_MAX: u8 = 3;
/// How long a session looks for a successor of the hub that it lost, before it serves its client by itself. A successor starts
/// within a tenth of a second; the shortest patience that a user may set for a client is 6 s.
pub const HUB_SUCCESSOR_MAX: Duration = Duration::from_secs(5);
/// How long a session whose client sends nothing more waits for the hub's last answers: as long as the hub waits for its editors
/// ([`DRAIN_MAX`]), and a second for a busy machine. The official SDKs end a server four seconds after they closed its stdin.
pub const HUB_VERDICTS_MAX: Duration = DRAIN_MAX.saturating_add(Duration::from_secs(1));
/// How long a session waits for the lock of a hub that was killed, before it takes the hub for one that lives. The
/// system first takes back the memory of a killed process, and on a busy machine that takes hundreds of milliseconds. A
/// process that looks whether a hub runs holds the lock for a moment too.
pub const HUB_GONE_WITHIN: Duration = Duration::from_secs(1);
/// How long a session that goes on without a hub waits for a successor that has the lock to take the records over. Without them, all
/// calls that the session gave to the hub are "outcome unknown", also those that were never sent. A busy machine starts a hub within
/// two seconds.
pub const HUB_TAKEN_OVER_WITHIN: Duration = Duration::from_secs(5);
/// Attempts of a session that goes on without a hub to take the hub's lock, with pauses as for other locks. Other
/// processes hold it for a moment, to look or to take their calls out of the records. A hub holds it for longer.
pub const HUB_LOCK_ATTEMPTS: usize = 10;
/// Unreadable lines of hubs that belong to no known request, after which a session serves its client by itself. Each
/// such line ends its connection, and the next connection may bring the same line.
pub const HUB_UNREADABLE_MAX: u32 = 3;
/// How long a session waits for a hub's answer to the question of how its links stand. While no hub serves, the former
/// answer must do.
pub const HUB_QUESTION_MAX: Duration = Duration::from_secs(1);
/// How long a session waits for a hub to look where its client works, even while a hub is looked for. This is longer
/// than everything that a session does to find a hub, and longer than a survey.
pub const HUB_LOOK_MAX: Duration = Duration::from_secs(30);
/// How long a session waits before it asks for a link's tools again, if they were not those of the last sighting. A
/// sighting arrives within a millisecond.
pub const HUB_LIST_AGAIN: Duration = Duration::from_millis(10);
/// How long a session may take none of the lines that wait for it, before the hub lets its connection go. Its answers,
/// which may have megabytes each, stay as records, and it comes again if it lives.
pub const HUB_SESSION_STILL_MAX: Duration = Duration::from_secs(60);
/// How often a session asks for a link's tools while the sighting stays the same. With [`HUB_LIST_AGAIN`] this is
/// longer than a sighting takes on its way.
pub const HUB_LIST_ROUNDS: u8 = 20;
/// How many questions a session may have open at a hub, besides the calls of its client: one for the tools of each
/// link, and one for each gateway tool, whose question takes less than a millisecond.
pub const HUB_QUESTIONS_OPEN_MAX: usize = 4 * LINKS_MAX;
/// Longest result that crosses from a hub to a session, in its stored form: an editor's longest message, in which each
/// character may need two.
pub const HUB_RESULT_MAX_BYTES: usize = 2 * EDITOR_MESSAGE_MAX_BYTES;
/// Size of the pieces in which a longer answer crosses from a hub to a session. News of another call wait behind one
/// piece: a tenth of a millisecond.
pub const HUB_PIECE_BYTES: usize = 128 * 1024;
/// Bytes of a session's line to a hub besides the arguments of a call and its tool's name: the other parts of a call.
pub const HUB_CALL_REST_MAX_BYTES: usize = 64 * 1024;
/// How long a session looks at its project before it decides without whether it starts a hub. Its client waits for that long.
pub const HUB_DECIDED_MAX: Duration = Duration::from_millis(500);
/// How long the port for an editor that connects to us is kept after that editor was last here and no session uses it: a break of its user.
pub const ARRIVAL_KEPT_MAX: Duration = Duration::from_secs(3600);
/// How long a hub that is to make way for a newer one waits for an editor that connects to us and reloads.
pub const ARRIVAL_AWAITED_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether that editor is back.
pub const ARRIVAL_AWAITED_LOOK: Duration = Duration::from_millis(50);
/// How often it is looked whether the editor is here.
pub const ARRIVAL_KEPT_LOOK: Duration = Duration::from_secs(10);
/// How long an idle hub that no session uses keeps running.
pub const HUB_IDLE_MAX: Duration = Duration::from_secs(60);
/// Lines of a session that wait to be written to the hub: each open request with its cancellation, and as many others.
pub const HUB_LINES_MAX: usize = 4 * OPEN_REQUESTS_MAX;
/// Bytes of answers that the hub keeps on disk until their clients have them: eight of the largest. A further answer is sent
/// without a record.
pub const CALL_RECORDS_MAX_BYTES: usize = 8 * CLIENT_MESSAGE_MAX_BYTES;
/// Size of the hub's file of records at which it is written anew, even if calls are open: twice what may be kept.
pub const CALL_RECORDS_FILE_MAX_BYTES: usize = 2 * CALL_RECORDS_MAX_BYTES;
/// Size of the hub's file of records at which it is written anew as soon as nothing is kept. A call has a few hundred
/// bytes there, so this is done once in some thousand calls. It is also the largest content with which the file is
/// written anew each second if something in it is not needed any more: a write of this size takes about a millisecond.
pub const CALL_RECORDS_SPENT_BYTES: usize = MIB;
/// Size above which a file is no file of records: it is written anew before it can grow so large.
pub const CALL_RECORDS_READ_MAX_BYTES: usize = CALL_RECORDS_FILE_MAX_BYTES + CALL_RECORDS_MAX_BYTES;
/// Earlier names of the records that a hub remembers, one for each hub before it. A session comes to the next hub
/// within seconds. A session that slept while more hubs came and went is told that the outcomes of its calls are
/// unknown.
pub const CALL_RECORDS_NAMES_MAX: usize = 32;
/// How often a gateway of one client makes new records because its own are gone. There may be a system on which a file
/// seems to be another one at each look. Without this bound each call would make a file there.
pub const OWN_RECORDS_RENEWED_MAX: usize = 16;
/// How long the hub keeps an answer that its client has not acknowledged. A session that lost its hub comes back within seconds.
pub const CALL_RECORD_MAX_AGE: Duration = Duration::from_secs(600);
/// Connections to the hub that have not said who they are: as many as there may be sessions.
pub const HUB_STRANGERS_MAX: usize = SESSIONS_MAX;
/// Projects whose editors have their own series in a hub: as many as there are links. Further projects, which come
/// after links of others were closed, are counted together.
pub const METRIC_PROJECTS_MAX: usize = LINKS_MAX;
/// Series that one project's editor adds in a hub: a histogram, a counter of each cause, the states of its connection, and a few
/// gauges. Without the hub there would be 16 gateways, each with all series.
pub const PROJECT_SERIES_MAX: usize = 100;
/// Calls that an earlier gateway did not answer and that a client is told of in one sentence: more would fill a page.
/// `holdfast_calls` has all of them.
pub const LEFT_CALLS_TOLD_MAX: usize = 5;
/// How long a gateway waits after each look for calls that others left, while others seem to live. A process that was
/// killed a moment ago may not have ended yet, because the system first takes back its memory.
pub const LEFT_CALLS_PAUSES: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
];
/// Age at which the records of a killed gateway are removed, if no gateway of its client and project came. After a
/// weekend people still know what they had asked for.
pub const LEFT_CALLS_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often a gateway of one client removes old late results from its records.
pub const OWN_RECORDS_TIDIED_EVERY: Duration = Duration::from_secs(60);
