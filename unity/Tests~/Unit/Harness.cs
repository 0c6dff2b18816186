#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// A client of the bridge. It reads frames with its own code, so that the package's frame parser does not test itself.
    /// </summary>
    internal sealed class TestClient : IDisposable
    {
        private readonly TcpClient tcp;
        private readonly NetworkStream stream;
        private readonly BlockingCollection<string> messages = new();
        private int lastId;

        public TestClient(int port)
        {
            tcp = new TcpClient();
            tcp.Connect(IPAddress.Loopback, port);
            tcp.NoDelay = true;
            stream = tcp.GetStream();
            new Thread(Read) { IsBackground = true }.Start();
        }

        public void SendRaw(string bytes) => SendRaw(Encoding.UTF8.GetBytes(bytes));

        public void SendRaw(byte[] bytes) => stream.Write(bytes, 0, bytes.Length);

        /// <summary>Sends bytes to a bridge that may have closed the connection.</summary>
        /// <returns>False if the bridge has closed it.</returns>
        public bool TrySendRaw(byte[] bytes)
        {
            try
            {
                SendRaw(bytes);
                return true;
            }
            catch (IOException)
            {
                return false;
            }
        }

        public void Send(string body) => SendRaw($"Content-Length: {Encoding.UTF8.GetByteCount(body)}\r\n\r\n{body}");

        public string Post(string method, object parameters)
        {
            string id = "t" + ++lastId;
            Send(Json.Write(new JObject { ["jsonrpc"] = "2.0", ["id"] = id, ["method"] = method, ["params"] = JObject.FromObject(parameters) }));
            return id;
        }

        /// <summary>Returns the next message of any kind.</summary>
        public string Next() => messages.TryTake(out string message, TestEditor.Patience) ? message : throw new TimeoutException("nothing came");

        public JObject NextJson() => (JObject)Json.Parse(Next());

        /// <summary>Returns the next message that matches. Messages before it are dropped.</summary>
        public JObject Await(Func<JObject, bool> fits)
        {
            while (true)
            {
                JObject message = NextJson();
                if (fits(message)) return message;
            }
        }

        public JObject Await(string id) => Await(m => (string?)m["id"] == id);

        public JObject Ask(string method, object parameters) => Await(Post(method, parameters));

        /// <summary>
        /// Waits for the end of the connection and drops the messages before it. Returns false if it does not end in time.
        /// </summary>
        public bool Ended()
        {
            while (messages.TryTake(out _, TestEditor.Patience))
            {
            }
            return messages.IsCompleted;
        }

        /// <summary>
        /// Waits for the end of the connection. Returns the bridge's shutdown notification, or null if none came.
        /// </summary>
        public JObject? Farewell()
        {
            JObject? farewell = null;
            while (messages.TryTake(out string message, TestEditor.Patience))
            {
                JObject said = (JObject)Json.Parse(message);
                if ((string?)said["method"] == "notifications/server/shutdown") farewell = said;
            }
            Assert.That(messages.IsCompleted, "the connection does not end");
            return farewell;
        }

        public JObject Greet(TestEditor editor, string gateway = "g", object? push = null) => Greet(editor.Token, gateway, push);

        public JObject Greet(string token, string gateway = "g", object? push = null)
        {
            string mine = new('a', 32);
            var hello = new JObject { ["protocol"] = Bridge.Protocol, ["gateway"] = gateway, ["clientName"] = "tests", ["challenge"] = mine };
            if (push != null) hello["push"] = JObject.FromObject(push);
            JToken said = Ask("holdfast/hello", hello)["result"]!;
            return Ask("holdfast/prove", new
            {
                proof = Proofs.OfGateway(token, (string)said["challenge"]!, mine, (string)said["nonce"]!, gateway, (int)said["port"]!)
            });
        }

        public void Dispose() => tcp.Close();

        private void Read()
        {
            try
            {
                while (true)
                {
                    var header = new StringBuilder();
                    while (!header.ToString().EndsWith("\r\n\r\n"))
                    {
                        int b = stream.ReadByte();
                        if (b < 0) return;
                        header.Append((char)b);
                    }
                    var body = new byte[int.Parse(header.ToString().Split(':')[1].Trim())];
                    for (int at = 0; at < body.Length;)
                    {
                        int count = stream.Read(body, at, body.Length - at);
                        if (count == 0) return;
                        at += count;
                    }
                    messages.Add(Encoding.UTF8.GetString(body));
                }
            }
            catch (Exception e) when (e is IOException or ObjectDisposedException)
            {
                // The connection has ended.
            }
            finally
            {
                messages.CompleteAdding();
            }
        }
    }

    internal static class Crowd
    {
        /// <summary>
        /// Asserts that the first <see cref="Limits.Connections"/> clients, in the order in which they connected, are served, and
        /// that the others are refused.
        /// </summary>
        public static void ServedOrTold(this IReadOnlyList<TestClient> clients)
        {
            for (int i = 0; i < clients.Count; i++)
            {
                if (i < Limits.Connections)
                {
                    Assert.That(clients[i].Ask("holdfast/status", new { })["result"], Is.Not.Null);
                    continue;
                }
                Assert.That((string)clients[i].NextJson()["error"]!["data"]!["type"]!, Is.EqualTo("too_many_connections"));
                Assert.That(clients[i].Ended());
            }
        }
    }

    /// <summary>
    /// A fake editor for the bridge: a thread that acts as the main thread, a session that outlives domains, and a state that
    /// tests set. A reload is a stop followed by a new bridge over the same session.
    /// </summary>
    internal sealed class TestEditor : IEditorState, ISessionStore, IEditorPulse, IToolSource, IDisposable
    {
        /// <summary>
        /// Milliseconds after which a test is considered to hang. Large, so that tests pass on a loaded machine.
        /// </summary>
        public const int Patience = 60_000;

        private readonly Dictionary<string, string> session = new();
        private readonly BlockingCollection<Action> work = new();
        private readonly Thread main;
        private volatile bool frozen;
        private int restores;
        private int looks;
        private int signals;
        private volatile EditorSnapshot snapshot = new() { IsFocused = true };

        public TestEditor(Action<TestEditor>? configure = null)
        {
            Folder = Path.Combine(Path.GetTempPath(), "holdfast-tests-" + Guid.NewGuid().ToString("N"));
            Identity = new EditorIdentity
            {
                ProjectPath = "/projects/Täst", ProjectName = "Täst", UnityVersion = "6000.0.78f1", PackageVersion = "0.1.0",
                ProcessId = 4242, StateFolder = Folder
            };
            Security.On.Add(SecuritySettings.AllowThirdPartyTools);
            configure?.Invoke(this);
            main = new Thread(Main) { IsBackground = true, Name = "main" };
            main.Start();
            OnMain(Start);
        }

        public EditorIdentity Identity { get; set; }

        public string Folder { get; }

        public TestLog Log { get; } = new();

        public TestSecurity Security { get; } = new();

        public IClock Clock { get; set; } = new SystemClock();

        public Func<string>? Challenge { get; set; }

        public int PreferredPort { get; set; }

        /// <summary>
        /// Whether a stop has the same time limits as in a user's editor. If false, a stop waits for all last messages and
        /// threads, so that tests can rely on them.
        /// </summary>
        public bool LeavesInTime { get; set; }

        public bool Rehearses { get; set; }

        public Bridge Bridge { get; private set; } = null!;

        public string Token => Bridge.Parts.Secrets.Token;

        public int Port
        {
            get
            {
                Until(() => Bridge.Parts.Port != 0);
                return Bridge.Parts.Port;
            }
        }

        /// <summary>Whether the editor can be woken.</summary>
        public bool Wakeable { get; set; } = true;

        /// <summary>
        /// Whether the editor can be woken. The housekeeper's thread reads this once per turn while work waits, so it counts the
        /// turns.
        /// </summary>
        public bool IsAvailable
        {
            get
            {
                Interlocked.Increment(ref looks);
                return Wakeable;
            }
        }

        public EditorSnapshot Snapshot
        {
            set => snapshot = value;
        }

        public static void Until(Func<bool> holds)
        {
            var watch = Stopwatch.StartNew();
            while (!holds())
            {
                if (watch.ElapsedMilliseconds > Patience) throw new TimeoutException("it never held");
                Thread.Sleep(1);
            }
        }

        public string? Get(string key)
        {
            OnlyMain();
            return session.TryGetValue(key, out string value) ? value : null;
        }

        public void Set(string key, string? value)
        {
            OnlyMain();
            if (value == null) session.Remove(key);
            else session[key] = value;
        }

        public void Preset(string key, string value) => session[key] = value;

        public EditorSnapshot Read() => snapshot;

        public int Restores => restores;

        public int Signals => signals;

        public void Signal() => Interlocked.Increment(ref signals);

        public void Restore() => Interlocked.Increment(ref restores);

        /// <summary>Makes the next starts of a bridge fail while they look for tools.</summary>
        public bool ToolsFail { get; set; }

        public IEnumerable<Type> FindToolTypes() => ToolsFail ? throw new InvalidOperationException("no tools, as asked") : new[]
        {
            typeof(PingTool), typeof(SetClientNameTool), typeof(GetToolDetailsTool), typeof(EchoTool), typeof(FailTool), typeof(ThrowTool),
            typeof(PictureTool), typeof(GuardedTool), typeof(HoldTool), typeof(ParallelHoldTool), typeof(JobTool), typeof(StubbornTool),
            typeof(BigTool), typeof(WorkerTool), typeof(SlowStartTool)
        };

        /// <summary>Runs an action on the main thread between two frames, and waits until it has run.</summary>
        public void OnMain(Action action)
        {
            Exception? failure = null;
            using var done = new ManualResetEventSlim();
            work.Add(() =>
            {
                try
                {
                    action();
                }
                catch (Exception e)
                {
                    failure = e;
                }
                done.Set();
            });
            if (!done.Wait(2 * Patience)) throw new TimeoutException("the main thread is stuck");
            if (failure != null) throw new AssertionException("on the main thread: " + failure, failure);
        }

        /// <summary>
        /// Waits until the housekeeper's thread has made a complete turn. Some work must be waiting during that time.
        /// </summary>
        public void AwaitLook()
        {
            // The turn in progress may have begun before the call. The next turn is a complete one, and it has ended when the one
            // after it begins.
            int seen = looks;
            Until(() => looks >= seen + 2);
        }

        public void Reload()
        {
            OnMain(() => Bridge.Stop(StopCause.DomainReload));
            OnMain(Start);
        }

        public void Restart() => OnMain(Start);

        public void Stop(StopCause cause) => OnMain(() => Bridge.Stop(cause));

        /// <summary>Stops the frames until the result is disposed.</summary>
        public IDisposable Freeze()
        {
            frozen = true;
            OnMain(() => { });
            return new Thaw(this);
        }

        public void Dispose()
        {
            frozen = false;
            HoldTool.ReleaseAll();
            OnMain(() => Bridge.Stop(StopCause.EditorQuit));
            work.CompleteAdding();
            main.Join();
            if (Directory.Exists(Folder)) Directory.Delete(Folder, true);
            List<string> errors;
            lock (Log.Lines) errors = Log.Lines.Where(l => l.StartsWith("error ")).ToList();
            Assert.That(errors, Is.Empty);
            if (LeavesInTime) Until(() => Bridge.LiveThreads == 0);
            Assert.That(Bridge.LiveThreads, Is.Zero, "threads outlive the bridge");
        }

        private void Start()
        {
            int generation = Bridge.CountDomain(this);
            Bridge = new Bridge(new BridgeOptions
            {
                Editor = Identity, State = this, Session = this, Pulse = this, Log = Log, Security = Security, Tools = this,
                Clock = Clock, PreferredPort = PreferredPort, Generation = generation, Rehearsal = Rehearses ? new Rehearsal(Log) : null,
                Goodbye = LeavesInTime ? Limits.Goodbye : Patience, Join = LeavesInTime ? Limits.Join : Patience
            });
            if (Challenge != null) Bridge.Parts.NewChallenge = Challenge;
            Bridge.Start();
        }

        private void Main()
        {
            foreach (Action action in Frames()) action();
        }

        private IEnumerable<Action> Frames()
        {
            while (!work.IsCompleted)
            {
                if (work.TryTake(out Action action, 1)) yield return action;
                if (!frozen) Bridge?.Tick();
            }
        }

        private void OnlyMain()
        {
            if (main != null && main.IsAlive && Thread.CurrentThread != main)
            {
                throw new InvalidOperationException("the session is for the main thread only");
            }
        }

        private sealed class Thaw : IDisposable
        {
            private readonly TestEditor editor;

            public Thaw(TestEditor editor) => this.editor = editor;

            public void Dispose() => editor.frozen = false;
        }
    }

    public sealed class TextSchema
    {
        public string Text { get; set; } = "";
    }

    public sealed class EmptySchema
    {
    }

    [McpTool(Description = "Returns the text.", ReadOnly = true, Parallel = true)]
    internal sealed class EchoTool : AbstractUnityTool<TextSchema, JObject>
    {
        public override string ToolName => "echo";

        protected override Task<JObject> ExecuteAsync(TextSchema parameters, CancellationToken token) =>
            Task.FromResult(new JObject { ["Text"] = parameters.Text });
    }

    [McpTool]
    internal sealed class FailTool : AbstractUnityTool<EmptySchema, object>
    {
        public override string ToolName => "fail";

        protected override Task<object> ExecuteAsync(EmptySchema parameters, CancellationToken token) =>
            Task.FromResult<object>(new { Success = false, Message = "no such thing" });
    }

    [McpTool]
    internal sealed class ThrowTool : AbstractUnityTool<EmptySchema, object>
    {
        public override string ToolName => "throw";

        protected override Task<object> ExecuteAsync(EmptySchema parameters, CancellationToken token) =>
            throw new InvalidOperationException("Thrown as asked");
    }

    internal sealed class Picture : IToolContent
    {
        public int Width { get; set; } = 1;

        [Newtonsoft.Json.JsonIgnore]
        public IReadOnlyList<ToolContent> Content => new[]
        {
            ToolContent.OfImage(new byte[] { 1, 2, 3 }, "image/png"), ToolContent.OfText("ein Bild")
        };
    }

    [McpTool]
    internal sealed class PictureTool : AbstractUnityTool<EmptySchema, Picture>
    {
        public override string ToolName => "picture";

        protected override Task<Picture> ExecuteAsync(EmptySchema parameters, CancellationToken token) =>
            Task.FromResult(new Picture());
    }

    [McpTool(RequiredSecuritySetting = SecuritySettings.AllowMenuItemExecution)]
    internal sealed class GuardedTool : AbstractUnityTool<EmptySchema, object>
    {
        public override string ToolName => "guarded";

        protected override Task<object> ExecuteAsync(EmptySchema parameters, CancellationToken token) =>
            throw new InvalidOperationException("never to be run");
    }

    public sealed class HoldSchema : BaseToolSchema
    {
        public string Key { get; set; } = "";

        public override int TimeoutSeconds { get; set; }
    }

    /// <summary>A tool that answers when the test releases its key, and counts how often it began.</summary>
    [McpTool]
    internal class HoldTool : AbstractUnityTool<HoldSchema, JObject>
    {
        private static readonly ConcurrentDictionary<string, TaskCompletionSource<bool>> Held = new();

        public static readonly ConcurrentDictionary<string, int> Begun = new();

        public override string ToolName => "hold";

        public static void Release(string key) => Gate(key).TrySetResult(true);

        public static void ReleaseAll()
        {
            foreach (string key in Held.Keys) Release(key);
        }

        public static void AwaitBegun(string key) => TestEditor.Until(() => Begun.ContainsKey(key));

        protected override async Task<JObject> ExecuteAsync(HoldSchema parameters, IToolContext context)
        {
            Begun.AddOrUpdate(parameters.Key, 1, (_, n) => n + 1);
            context.ReportProgress(1, 2, "holding");
            context.ReportProgress(1);
            Task<bool> gate = Gate(parameters.Key).Task;
            var cancelled = new TaskCompletionSource<bool>();
            using (context.Cancellation.Register(() => cancelled.TrySetCanceled())) await await Task.WhenAny(gate, cancelled.Task);
            return new JObject { ["Key"] = parameters.Key };
        }

        private static TaskCompletionSource<bool> Gate(string key) => Held.GetOrAdd(key, _ => new TaskCompletionSource<bool>());
    }

    [McpTool(Parallel = true)]
    internal sealed class ParallelHoldTool : HoldTool
    {
        public override string ToolName => "parallel-hold";
    }

    /// <summary>A tool that ignores cancellation and never ends.</summary>
    [McpTool(Parallel = true)]
    internal sealed class StubbornTool : AbstractUnityTool<HoldSchema, JObject>
    {
        public override string ToolName => "stubborn";

        protected override Task<JObject> ExecuteAsync(HoldSchema parameters, CancellationToken token) =>
            new TaskCompletionSource<JObject>().Task;
    }

    /// <summary>A tool whose schema waits for a test, so that the preparation of the listener takes as long.</summary>
    [McpTool]
    internal sealed class SlowStartTool : IUnityTool
    {
        /// <summary>The preparation waits while this is not set.</summary>
        public static readonly ManualResetEventSlim Gate = new(true);

        /// <summary>Set when a preparation waits.</summary>
        public static readonly ManualResetEventSlim Waits = new(false);

        public string ToolName => "slow-start";

        public Type? ParametersType
        {
            get
            {
                if (!Gate.IsSet) Waits.Set();
                if (!Gate.Wait(TestEditor.Patience)) throw new TimeoutException("the test does not go on");
                return null;
            }
        }

        public Task<object?> ExecuteAsync(JToken? parameters, IToolContext context) => Task.FromResult<object?>(null);
    }

    /// <summary>A tool whose calls are resumed after a reload.</summary>
    [McpTool]
    internal sealed class JobTool : AbstractUnityTool<HoldSchema, JObject>, IResumableTool
    {
        public override string ToolName => "job";

        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            if ((string)kept["key"]! == "refused-key") throw new ToolParameterException("The kept state is wrong");
            bool endless = ((string)kept["key"]!).StartsWith("endless", StringComparison.Ordinal);
            await context.MainThread.Frames(endless ? int.MaxValue : 3, context.Cancellation);
            return new JObject { ["Resumed"] = kept["key"] };
        }

        protected override async Task<JObject> ExecuteAsync(HoldSchema parameters, IToolContext context)
        {
            context.KeepAcrossReload(new JObject { ["key"] = parameters.Key });
            HoldTool.Begun[parameters.Key] = 1;
            await context.MainThread.Frames(int.MaxValue, context.Cancellation);
            return new JObject();
        }
    }

    public sealed class BigSchema
    {
        public int Bytes { get; set; }
    }

    [McpTool(Parallel = true)]
    internal sealed class BigTool : AbstractUnityTool<BigSchema, JObject>
    {
        public override string ToolName => "big";

        protected override Task<JObject> ExecuteAsync(BigSchema parameters, CancellationToken token) =>
            Task.FromResult(new JObject { ["Text"] = new string('x', parameters.Bytes) });
    }

    [McpTool(OffMainThread = true, Parallel = true)]
    internal sealed class WorkerTool : AbstractUnityTool<EmptySchema, JObject>
    {
        public override string ToolName => "worker";

        protected override Task<JObject> ExecuteAsync(EmptySchema parameters, IToolContext context) =>
            Task.FromResult(new JObject
            {
                ["OnMain"] = context.MainThread.IsCurrent,
                ["TraceParent"] = context.TraceParent,
                ["TraceState"] = context.TraceState,
                ["Baggage"] = context.Baggage
            });
    }
}
