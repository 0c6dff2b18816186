#nullable enable
namespace Holdfast
{
    /// <summary>Every bound of the bridge, with the reason for its number. Times are in milliseconds, sizes in bytes.</summary>
    public static class Limits
    {
        private const int Mib = 1024 * 1024;

        /// <summary>Nesting of JSON: what the gateway takes too; the stack bears much more.</summary>
        public const int JsonDepth = 128;

        /// <summary>A message from a peer that has proven nothing: uLoopMCP's own bound.</summary>
        public const int MessageFromStranger = Mib;

        /// <summary>A message from a proven gateway: what one line of its own client may hold.</summary>
        public const int MessageFromGateway = 16 * Mib;

        /// <summary>A message to a client: the longest that the gateway takes.</summary>
        public const int MessageOut = 64 * Mib;

        /// <summary>A frame's header: more than any real one by far.</summary>
        public const int FrameHeader = 4096;

        /// <summary>Bytes that an idle connection's buffer keeps; what a large message needed is given back.</summary>
        public const int BufferKept = 64 * 1024;

        /// <summary>Connections at once. Each has two threads; a person has a handful of AI editors.</summary>
        public const int Connections = 32;

        /// <summary>Requests of one connection that wait or run: as many as the gateway keeps open.</summary>
        public const int RequestsPerConnection = 256;

        /// <summary>Calls that wait or run, of all connections.</summary>
        public const int Calls = 512;

        /// <summary>Bytes of parameters of the calls that wait.</summary>
        public const long CallBytes = 64L * Mib;

        /// <summary>Calls of parallel tools that run at once: more gain nothing on one main thread.</summary>
        public const int ParallelCalls = 8;

        /// <summary>Worker threads for tools that need no main thread.</summary>
        public const int Workers = 4;

        /// <summary>Messages that wait to be written to one client.</summary>
        public const int OutgoingMessages = 1024;

        /// <summary>Bytes that wait to be written to one client; one message of full size always finds room.</summary>
        public const long OutgoingBytes = 2L * MessageOut;

        /// <summary>A client that takes no byte for so long is dropped: it would hold the memory of its answers.</summary>
        public const int SendTimeout = 15_000;

        /// <summary>A connection that is ended for a broken frame is read so long, or so many bytes, that it sees why.</summary>
        public const int DrainTime = 200;

        /// <summary>See <see cref="DrainTime"/>.</summary>
        public const int DrainBytes = Mib;

        /// <summary>Before a reload, what is queued to clients is given so long.</summary>
        public const int Goodbye = 100;

        /// <summary>Joining a thread before a reload: Unity waits for nobody, and a reload must not feel slower.</summary>
        public const int Join = 500;

        /// <summary>Calls that the journal remembers: an hour of a busy agent.</summary>
        public const int JournalEntries = 4096;

        /// <summary>Bytes of all results that the journal keeps; they cross a reload in SessionState.</summary>
        public const int JournalBytes = 8 * Mib;

        /// <summary>Bytes of one result that the journal keeps.</summary>
        public const int JournalResult = 4 * Mib;

        /// <summary>Age at which a journal entry goes: the gateway keeps late answers as long.</summary>
        public const long JournalAge = 3_600_000;

        /// <summary>Gateways that the journal remembers: every start of every AI editor of a long day.</summary>
        public const int JournalGateways = 1024;

        /// <summary>Length of a call id, a gateway id, a client's name: 36 is a GUID.</summary>
        public const int Name = 256;

        /// <summary>Call ids in one question for outcomes.</summary>
        public const int OutcomeQuestions = 512;

        /// <summary>Tools: as many as the gateway lists.</summary>
        public const int Tools = 2048;

        /// <summary>Length of a tool's name: what MCP clients take with the prefixes that they add.</summary>
        public const int ToolName = 48;

        /// <summary>Longest time limit of a call that a caller may ask for, in seconds.</summary>
        public const int ToolTimeoutSeconds = 3600;

        /// <summary>A call that was asked to stop and has not ended after so long loses its turn: no hang needs a person.</summary>
        public const int StopGrace = 30_000;

        /// <summary>Least time between two progress reports of a call: faster than a person reads.</summary>
        public const int ProgressEvery = 100;

        /// <summary>Actions that wait for the main thread.</summary>
        public const int MainThreadQueue = 4096;

        /// <summary>Time of one frame that the queue may take; what is left waits for the next one.</summary>
        public const int FrameBudget = 20;

        /// <summary>Pause between two wake-ups of an editor without focus, while work waits: about one frame.</summary>
        public const int WakeEvery = 10;

        /// <summary>An editor without a frame for so long, though it was woken, may be minimised: even a busy one has some.</summary>
        public const int FrameMissed = 1_000;

        /// <summary>How often the time limits of calls are looked at: they are in seconds.</summary>
        public const int DeadlineEvery = 100;

        /// <summary>Waking goes on so long after the last work: the next call mostly follows at once.</summary>
        public const int WakeTail = 250;

        /// <summary>The wanted port is tried so long after a reload before any other: its old listener is going.</summary>
        public const int PortRetry = 3_000;

        /// <summary>Pause between two tries of a port.</summary>
        public const int PortRetryEvery = 50;

        /// <summary>Ports after the wanted one that are tried at a fresh start, before any free one is taken.</summary>
        public const int PortScan = 10;

        /// <summary>Connecting to a push listener on loopback.</summary>
        public const int PushConnect = 2_000;

        /// <summary>First and longest pause between two tries to reach a push listener.</summary>
        public const int PushRetryFirst = 100;

        /// <summary>See <see cref="PushRetryFirst"/>.</summary>
        public const int PushRetryLast = 5_000;

        /// <summary>Failed tries in a row after which an endpoint is forgotten: its gateway is gone.</summary>
        public const int PushAttempts = 20;

        /// <summary>Push endpoints at once: as many as connections.</summary>
        public const int PushEndpoints = Connections;

        /// <summary>How often an idle push connection is looked at: its end is found then.</summary>
        public const int PushWatch = 1_000;

        /// <summary>Push messages that wait for one endpoint; the oldest goes first.</summary>
        public const int PushQueue = 64;

        /// <summary>Requests that the log in the window shows.</summary>
        public const int TrafficEntries = 200;

        /// <summary>Characters of one request or answer in it: what a person reads there; the client has the rest.</summary>
        public const int TrafficText = 4096;

        /// <summary>Characters of all of them: they cross every reload in SessionState.</summary>
        public const int TrafficTotal = 512 * 1024;

        /// <summary>Size of a request from which it is not written into the log at all: that would take longer than it is worth.</summary>
        public const int TrafficRequest = 64 * 1024;

        /// <summary>Least port that a user may choose: those below are the system's.</summary>
        public const int LeastPort = 1024;

        /// <summary>A run of the gateway's program for the window: it only reads and writes a few small files.</summary>
        public const int ProgramTime = 10_000;

        /// <summary>Characters that such a run may write, to each of its two outputs; a list of clients has 8 000.</summary>
        public const int ProgramOutput = 256 * 1024;

        /// <summary>How often a thread that waits for the program looks whether it is to give up.</summary>
        public const int ProgramWatch = 20;

        /// <summary>Clients that the session remembers by name.</summary>
        public const int SessionClients = 64;

        /// <summary>Characters of a result's texts: its JSON stays below what the journal keeps of one result.</summary>
        public const int ResultText = Mib;

        /// <summary>Characters of one message or stack trace of the console in a result.</summary>
        public const int LogText = 64 * 1024;

        /// <summary>Messages that are kept where the console itself cannot be read.</summary>
        public const int ConsoleRing = 1000;

        /// <summary>Matching a caller's regular expression with one text: it blocks the editor.</summary>
        public const int RegexMatch = 100;

        /// <summary>The same with all texts of a call.</summary>
        public const int RegexTotal = 2_000;

        /// <summary>Files of one kind of large results that are kept.</summary>
        public const int ResultFiles = 50;

        /// <summary>Messages of the compiler in a result, errors first; the counts are of all.</summary>
        public const int CompileIssues = 500;

        /// <summary>Frames in which a compilation begins after it was asked for, or it does not.</summary>
        public const int CompileSettle = 10;

        /// <summary>A reload after a compilation that succeeded begins within this time, or none is needed.</summary>
        public const int ReloadAfterCompile = 2_000;

        /// <summary>GameObjects that one call walks over.</summary>
        public const int SceneNodes = 200_000;

        /// <summary>Depth to which a hierarchy is walked, and written: its JSON nests twice as deep, below what gateways take.</summary>
        public const int SceneDepth = 50;

        /// <summary>Properties of one component in a result.</summary>
        public const int ComponentProperties = 200;

        /// <summary>Results of a search, also in a file.</summary>
        public const int SearchHits = 10_000;

        /// <summary>A test run that has said nothing for so long after a reload has ended without a word.</summary>
        public const int TestSilence = 60_000;

        /// <summary>Failed tests with their messages in a result.</summary>
        public const int FailedTests = 50;
    }
}
