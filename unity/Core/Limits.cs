#nullable enable
namespace Holdfast
{
    /// <summary>Every limit of the bridge, with the reason for its value. Times are in milliseconds, sizes in bytes.</summary>
    internal static class Limits
    {
        private const int Mib = 1024 * 1024;

        /// <summary>Maximum nesting of JSON: the same as the gateway's. The stack could take much more.</summary>
        public const int JsonDepth = 128;

        /// <summary>
        /// Maximum nesting of a tool's result. Answers, and the journal's copies of them, add some levels, and many readers of JSON take
        /// no more than <see cref="JsonDepth"/>. Writing a value is recursive: a long linked list would end the editor with a stack
        /// overflow.
        /// </summary>
        public const int ResultDepth = 115;

        /// <summary>Maximum nesting of a result inside another one: of a call in a batch, or of C# code that was run.</summary>
        public const int InnerResultDepth = ResultDepth - 10;

        /// <summary>Maximum message from a client that has not proven itself: uLoopMCP's own limit.</summary>
        public const int MessageFromStranger = Mib;

        /// <summary>
        /// Maximum message from a proven gateway: as long as the longest line that the gateway accepts from its own client.
        /// </summary>
        public const int MessageFromGateway = 16 * Mib;

        /// <summary>Maximum message to a client: as long as the longest message that the gateway accepts.</summary>
        public const int MessageOut = 64 * Mib;

        /// <summary>Maximum frame header: far longer than any real one.</summary>
        public const int FrameHeader = 4096;

        /// <summary>Maximum buffer that an idle connection keeps. A larger buffer is released when it is empty.</summary>
        public const int BufferKept = 64 * 1024;

        /// <summary>Maximum number of connections. Each has two threads. A person uses a handful of AI editors at most.</summary>
        public const int Connections = 32;

        /// <summary>Maximum number of requests of one connection that wait or run: as many as the gateway keeps open.</summary>
        public const int RequestsPerConnection = 256;

        /// <summary>Maximum number of calls that wait or run, over all connections.</summary>
        public const int Calls = 512;

        /// <summary>Maximum total size of the messages of the calls that wait.</summary>
        public const long CallBytes = 64L * Mib;

        /// <summary>
        /// Maximum number of calls of parallel tools that run at once. A higher number would gain nothing on one main thread.
        /// </summary>
        public const int ParallelCalls = 8;

        /// <summary>Number of worker threads for tools that do not need the main thread.</summary>
        public const int Workers = 4;

        /// <summary>Maximum number of messages that wait to be written to one client.</summary>
        public const int OutgoingMessages = 1024;

        /// <summary>Maximum size of the messages that wait to be written to one client: two messages of full size.</summary>
        public const long OutgoingBytes = 2L * MessageOut;

        /// <summary>
        /// If a client reads nothing for this long, its connection is closed, since its answers fill the editor's memory.
        /// </summary>
        public const int SendTimeout = 15_000;

        /// <summary>
        /// After a broken frame, the connection is read for a while before it is closed, so that the client gets to read the
        /// error. Each read waits at most this long. This is also the time limit for sending a refusal to a client when there are
        /// too many connections.
        /// </summary>
        public const int DrainTime = 200;

        /// <summary>
        /// Maximum time for all these reads together, since a client may send a byte now and then for as long as it likes.
        /// </summary>
        public const int DrainTotal = 2_000;

        /// <summary>
        /// Maximum number of bytes that are read and ignored after a broken frame, before the connection is closed.
        /// </summary>
        public const int DrainBytes = Mib;

        /// <summary>
        /// When the bridge stops, how long it waits for its queued messages to be written to clients. It then waits at most as
        /// long for those to push listeners.
        /// </summary>
        public const int Goodbye = 100;

        /// <summary>
        /// Maximum time for joining the bridge's threads. Unity does not wait for them itself, and a reload must not feel slower.
        /// </summary>
        public const int Join = 500;

        /// <summary>Maximum number of calls in the journal: as many as a busy AI makes in an hour.</summary>
        public const int JournalEntries = 4096;

        /// <summary>
        /// Maximum length of all results in the journal, in characters. SessionState carries the journal across a reload.
        /// </summary>
        public const int JournalBytes = 8 * Mib;

        /// <summary>Maximum length of one result in the journal, in characters.</summary>
        public const int JournalResult = 4 * Mib;

        /// <summary>Age at which a journal entry is removed. The gateway keeps late results for the same time.</summary>
        public const long JournalAge = 3_600_000;

        /// <summary>Maximum number of gateways in the journal: one for every start of every AI editor on a long day.</summary>
        public const int JournalGateways = 1024;

        /// <summary>Maximum length of a call id, a gateway id or a client's name. A GUID has 36 characters.</summary>
        public const int Name = 256;

        /// <summary>Maximum number of call ids in one <c>holdfast/outcome</c> request.</summary>
        public const int OutcomeQuestions = 512;

        /// <summary>Maximum number of tools: as many as the gateway lists.</summary>
        public const int Tools = 2048;

        /// <summary>Maximum length of a tool's name. MCP clients add prefixes to it and do not accept longer names.</summary>
        public const int ToolName = 48;

        /// <summary>How many parts of an asset `inspect` lists.</summary>
        public const int AssetParts = 100;

        /// <summary>How many characters of an argument a refusal shows.</summary>
        public const int ShownArgument = 60;

        /// <summary>How many of several unknown arguments a refusal names.</summary>
        public const int ShownArguments = 5;

        /// <summary>Minimum length of a name for which a similar one is looked for. Shorter ones are similar to too much.</summary>
        public const int NearLength = 3;

        /// <summary>Maximum time limit that a caller may set for a call, in seconds.</summary>
        public const int ToolTimeoutSeconds = 3600;

        /// <summary>
        /// A call that was asked to stop and still runs after this time is answered with an error, so that other calls can run.
        /// </summary>
        public const int StopGrace = 30_000;

        /// <summary>Minimum time between two progress reports of a call. A person does not read faster.</summary>
        public const int ProgressEvery = 100;

        /// <summary>Maximum number of actions that wait for the main thread.</summary>
        public const int MainThreadQueue = 4096;

        /// <summary>
        /// Once this much of a frame is used up, no further queued action begins. The rest waits for the next frame.
        /// </summary>
        public const int FrameBudget = 20;

        /// <summary>Pause between two signals that wake an editor without focus, while work waits: about one frame.</summary>
        public const int WakeEvery = 10;

        /// <summary>
        /// Pause between two signals while a call runs and nothing waits for the main thread: the frames of a screen with 60 Hz.
        /// The time limits of calls are checked as often.
        /// </summary>
        public const int WakeWhileBusy = 16;

        /// <summary>
        /// If an editor was woken and has run no frame for this long, it may be minimised. Even a busy editor runs a frame now
        /// and then.
        /// </summary>
        public const int FrameMissed = 1_000;

        /// <summary>How long the editor is kept awake after the last work, since the next call usually follows at once.</summary>
        public const int WakeTail = 250;

        /// <summary>How long only the old port is tried after a reload. The old listener should release it soon.</summary>
        public const int PortRetry = 3_000;

        /// <summary>Pause between two attempts to bind a port, and after a failed accept.</summary>
        public const int PortRetryEvery = 50;

        /// <summary>Number of ports that are tried, from the configured one upwards, before any free port is used.</summary>
        public const int PortScan = 10;

        /// <summary>Time limit for one send to a push listener.</summary>
        public const int PushConnect = 2_000;

        /// <summary>
        /// First pause between two attempts to reach a push listener. It doubles up to <see cref="PushRetryLast"/>.
        /// </summary>
        public const int PushRetryFirst = 100;

        /// <summary>Longest pause between two attempts to reach a push listener.</summary>
        public const int PushRetryLast = 5_000;

        /// <summary>
        /// Number of failed attempts in a row after which a push endpoint is removed, because its gateway must have ended.
        /// </summary>
        public const int PushAttempts = 20;

        /// <summary>Maximum number of push endpoints: as many as connections.</summary>
        public const int PushEndpoints = Connections;

        /// <summary>How often an idle push connection is checked for having been closed.</summary>
        public const int PushWatch = 1_000;

        /// <summary>Maximum number of push messages that wait for one endpoint. Beyond it the oldest is dropped.</summary>
        public const int PushQueue = 64;

        /// <summary>Maximum number of requests in the log that the window shows.</summary>
        public const int TrafficEntries = 200;

        /// <summary>
        /// Maximum length of one request or answer in the log, in characters: enough for a person to read. The client has the
        /// whole text.
        /// </summary>
        public const int TrafficText = 4096;

        /// <summary>Maximum length of all log entries, in characters. SessionState carries them across every reload.</summary>
        public const int TrafficTotal = 512 * 1024;

        /// <summary>For a request longer than this only the size is logged: writing it as JSON would take too long.</summary>
        public const int TrafficRequest = 64 * 1024;

        /// <summary>Lowest port that a user may choose. Lower ports are reserved by the system.</summary>
        public const int LeastPort = 1024;

        /// <summary>
        /// Time limit of a <c>holdfast</c> program that the window runs. It only reads and writes a few small files.
        /// </summary>
        public const int ProgramTime = 10_000;

        /// <summary>
        /// Maximum number of characters that the program may write to each of its two outputs. A list of clients has 8 000.
        /// </summary>
        public const int ProgramOutput = 256 * 1024;

        /// <summary>Interval at which a thread that waits for the program checks whether to end it.</summary>
        public const int ProgramWatch = 20;

        /// <summary>Maximum number of client names that the session remembers.</summary>
        public const int SessionClients = 64;

        /// <summary>
        /// Maximum characters of the texts in a result, so that its JSON is smaller than <see cref="JournalResult"/>.
        /// </summary>
        public const int ResultText = Mib;

        /// <summary>Maximum characters of one console message or stack trace in a result.</summary>
        public const int LogText = 64 * 1024;

        /// <summary>Maximum number of messages that are kept if the console itself cannot be read.</summary>
        public const int ConsoleRing = 1000;

        /// <summary>
        /// Time limit for matching a caller's regular expression with one text, since matching blocks the editor.
        /// </summary>
        public const int RegexMatch = 100;

        /// <summary>Time limit for matching a caller's regular expression with all texts of one call.</summary>
        public const int RegexTotal = 2_000;

        /// <summary>Maximum number of result files of one kind that are kept.</summary>
        public const int ResultFiles = 50;

        /// <summary>Maximum number of compiler messages in a result, errors first. The counts include all messages.</summary>
        public const int CompileIssues = 500;

        /// <summary>
        /// Number of frames to wait for a requested compilation to begin. After that, no compilation is expected.
        /// </summary>
        public const int CompileSettle = 10;

        /// <summary>How long to wait for a reload after a successful compilation. After that, no reload is expected.</summary>
        public const int ReloadAfterCompile = 2_000;

        /// <summary>
        /// If Unity says for this long that it compiles while no compilation runs, something else holds the reload back. Unity
        /// itself reloads within a frame or two.
        /// </summary>
        public const int ReloadHeld = 5_000;

        /// <summary>
        /// How long Unity may not even begin to enter or leave play mode. It begins in the next frame, unless something prevents it.
        /// </summary>
        public const int PlayModeSettle = 2_000;

        /// <summary>Number of frames that must pass too, since one frame can take longer than <see cref="PlayModeSettle"/>.</summary>
        public const int PlayModeFrames = 10;

        /// <summary>Maximum number of ids in a refusal that says that several objects have the same path.</summary>
        public const int SameObjects = 10;

        /// <summary>Maximum number of children that are named in a result. get-hierarchy has all.</summary>
        public const int ChildNames = 200;

        /// <summary>Maximum number of selected objects in a result, or to select.</summary>
        public const int SelectedObjects = 200;

        /// <summary>Maximum number of steps that one call undoes. A mistake here undoes work of the user.</summary>
        public const int UndoSteps = 20;

        /// <summary>Maximum number of assets in a result.</summary>
        public const int FoundAssets = 1_000;

        /// <summary>Maximum length of a script in bytes or characters. The largest scripts of people have a few hundred thousand.</summary>
        public const int ScriptText = 1_000_000;

        /// <summary>Maximum number of packages of the registries in a result.</summary>
        public const int FoundPackages = 100;

        /// <summary>Maximum length of a package's description in a result, in characters.</summary>
        public const int PackageText = 200;

        /// <summary>Maximum length of a package's name or address in characters. Addresses are rarely longer than 200.</summary>
        public const int PackageId = 1_000;

        /// <summary>
        /// How long a call that a reload interrupted waits for its package. The Package Manager may still be at work then; a large
        /// package from git takes minutes.
        /// </summary>
        public const int PackageSettle = 120_000;

        /// <summary>Maximum number of tests in a list.</summary>
        public const int ListedTests = 2_000;

        /// <summary>Maximum number of calls in a batch. Larger ones are hard to check, for models and for people.</summary>
        public const int BatchCalls = 50;

        /// <summary>Maximum length of code to run, in characters.</summary>
        public const int CodeText = 100_000;

        /// <summary>
        /// Time limit of the compiler for code to run, in milliseconds. Its first start takes up to ten seconds on a slow machine with a
        /// virus scanner.
        /// </summary>
        public const int CodeCompile = 60_000;

        /// <summary>Maximum number of the compiler's errors in a result.</summary>
        public const int CodeErrors = 50;

        /// <summary>Maximum number of lines that code logged in a result.</summary>
        public const int CodeLogs = 200;

        /// <summary>Maximum length of one such line, in characters.</summary>
        public const int CodeSays = 2_000;

        /// <summary>Minimum width and height of a picture in pixels.</summary>
        public const int PictureLeast = 16;

        /// <summary>
        /// Maximum width and height of a picture in pixels. A picture of this size is below <see cref="MessageOut"/>, and models
        /// see no more detail in a larger one.
        /// </summary>
        public const int PictureSide = 2_048;

        /// <summary>
        /// Maximum size in bytes of all pictures of one result. The models' APIs take 5 MiB of base64, which has a third more bytes.
        /// </summary>
        public const int PictureBytes = 3_900_000;

        /// <summary>Maximum number of resolutions at which one call takes the game.</summary>
        public const int GameSizes = 6;

        /// <summary>Maximum width and height of such a resolution in pixels, as of a screen with 8K.</summary>
        public const int GameSide = 8_192;

        /// <summary>Number of frames until a window that was brought to the front has been drawn.</summary>
        public const int PictureFrames = 3;

        /// <summary>Maximum size of letters in a user interface. The largest screens have fewer lines of pixels.</summary>
        public const int FontSize = 10_000;

        /// <summary>Maximum number of edits in one call.</summary>
        public const int TextEdits = 100;

        /// <summary>Maximum number of scene files of the project in a result. Large projects have a few hundred.</summary>
        public const int ScenePaths = 500;

        /// <summary>Maximum length of an asset's path in characters. Windows allows 260 for the whole path.</summary>
        public const int AssetPath = 200;

        /// <summary>Maximum number of GameObjects that one call visits.</summary>
        public const int SceneNodes = 200_000;

        /// <summary>
        /// Maximum depth of a hierarchy in a result. Its JSON nests twice as deep, which is below <see cref="InnerResultDepth"/>.
        /// </summary>
        public const int SceneDepth = 50;

        /// <summary>Maximum number of properties of one component in a result.</summary>
        public const int ComponentProperties = 200;

        /// <summary>
        /// Maximum depth of structures in the value of a property. Structures may refer to each other in a circle.
        /// </summary>
        public const int PropertyDepth = 6;

        /// <summary>Maximum number of items of one array in the value of a property.</summary>
        public const int PropertyItems = 32;

        /// <summary>Maximum number of single values in the value of one property.</summary>
        public const int PropertyValues = 256;

        /// <summary>Maximum number of results of a search, even if they are written to a file.</summary>
        public const int SearchHits = 10_000;

        /// <summary>
        /// Once this much of a frame is used up, no further object or result of a search is looked at in it. A provider may need
        /// milliseconds for the texts of one result.
        /// </summary>
        public const int SearchFrame = 10;

        /// <summary>
        /// Maximum number of properties of one component that a search for references looks at. Only those of structures and
        /// references count; a component has a few hundred.
        /// </summary>
        public const int SearchedProperties = 20_000;

        /// <summary>Maximum number of references of one GameObject in a result, and of GameObjects of one file without a script.</summary>
        public const int FoundReferences = 20;

        /// <summary>Maximum number of scenes that a result names as not looked at.</summary>
        public const int NamedScenes = 20;

        /// <summary>
        /// A test run that continues after a reload counts as ended if it reports nothing for this long and the test framework
        /// does not say that it is running.
        /// </summary>
        public const int TestSilence = 60_000;

        /// <summary>Maximum number of failed tests that a result lists with their messages.</summary>
        public const int FailedTests = 50;
    }
}
