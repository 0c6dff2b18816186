#nullable enable
using System;
using System.Collections.Generic;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Runs a conversation with a simulated gateway while the domain starts, so that the JIT compiler has compiled the code
    /// before a real gateway needs it. Otherwise the first gateway after a reload would wait for the compiler at each message.
    /// The rehearsal has its own bridge parts and its own thread. Clients do not notice it, and it changes nothing.
    /// </summary>
    internal sealed class Rehearsal
    {
        /// <summary>
        /// Whether to rehearse on this runtime. False on Mono: in about 500 simulated reloads with a rehearsal, a call failed
        /// once and a start failed once. The reason is not known, nor whether the rehearsal caused it.
        /// </summary>
        public static readonly bool IsWorthIt = Type.GetType("Mono.Runtime") == null;

        private const string Gateway = "rehearsal";

        private readonly IEditorLog log;
        private readonly Thread thread;
        private readonly Tool tool = new();
        private volatile bool stopped;

        /// <summary>Starts the rehearsal on its own thread. If it fails, only a warning is logged.</summary>
        public Rehearsal(IEditorLog log)
        {
            this.log = log;
            thread = new Thread(Guarded) { IsBackground = true, Name = "Holdfast rehearsal" };
            thread.Start();
        }

        /// <summary>Whether every step, including the call, succeeded.</summary>
        internal bool Succeeded { get; private set; }

        /// <summary>Asks the rehearsal to stop and waits at most <paramref name="milliseconds"/>.</summary>
        /// <returns>False if the rehearsal has not ended by then.</returns>
        internal bool Stop(int milliseconds)
        {
            stopped = true;
            return thread.Join(milliseconds);
        }

        /// <summary>
        /// Waits at most <paramref name="milliseconds"/> for the end of the rehearsal. Returns false if it has not ended.
        /// </summary>
        internal bool Join(int milliseconds) => thread.Join(milliseconds);

        private void Guarded()
        {
            try
            {
                Run();
            }
            catch (Exception e) when (e is not ThreadAbortException)
            {
                log.Warn("The bridge could not be rehearsed, so its first answers may take longer: " + e);
            }
        }

        private void Run()
        {
            var session = new SessionData(new NoEditor());
            var parts = new BridgeParts(NoEditor.Options, session);
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            // The connection is not started, so messages to it are queued and never written.
            var connection = new Connection(0, socket, parts, DateTime.UtcNow);
            string challenge = new('0', 32);
            parts.NewChallenge = () => challenge;
            string proof = Proofs.OfGateway(parts.Secrets.Token, challenge, challenge, parts.Secrets.Nonce, Gateway,
                connection.Port);
            foreach (Action step in new Action[]
            {
                () => Hear("hello", new JObject
                {
                    ["protocol"] = Bridge.Protocol, ["gateway"] = Gateway, ["clientName"] = "", ["challenge"] = challenge
                }),
                () => Hear("prove", new JObject { ["proof"] = proof }),
                () => parts.Tools.Register(tool),
                () => Hear("call", new JObject
                {
                    ["callId"] = "1", ["seq"] = 1, ["tool"] = tool.ToolName, ["arguments"] = new JObject { ["Text"] = "", ["Number"] = 1 }
                }),
                () => parts.MainThread.RunFrame(),
                () => Hear("outcome", new JObject
                {
                    ["calls"] = new JArray(new JObject { ["callId"] = "1", ["seq"] = 1 }, new JObject { ["callId"] = "2", ["seq"] = 2 })
                }),
                () => Hear("status", new JObject()),
                () => Hear("tools", new JObject()),
                () => Succeeded = new CallJournal(NoEditor.Options.Clock).Load(parts.Calls.Interrupt("")) == null && tool.HasRun
            })
            {
                if (stopped) return;
                step();
            }

            void Hear(string method, JObject about)
            {
                var frame = new MessageReassembler(() => Limits.MessageFromStranger);
                byte[] body = Json.Utf8.GetBytes(Json.Write(new JObject
                {
                    ["jsonrpc"] = "2.0", ["id"] = 1, ["method"] = "holdfast/" + method, ["params"] = about
                }));
                byte[] header = FrameParser.Header(body.Length);
                frame.Append(header, 0, header.Length);
                frame.Append(body, 0, body.Length);
                ((IConnectionHandler)parts).Received(connection, frame.Next()!);
            }
        }

        /// <summary>Parameters of the types that real tools have, so that the code for these types is compiled.</summary>
        private sealed class Parameters : BaseToolSchema
        {
            public string Text { get; set; } = "";

            public int Number { get; set; }
        }

        private sealed class Response : BaseToolResponse
        {
            public bool Success { get; set; } = true;

            public IReadOnlyList<Response> Results { get; set; } = Array.Empty<Response>();
        }

        // Has no [McpTool], so that Discover does not find it.
        private sealed class Tool : AbstractUnityTool<Parameters, Response>
        {
            public override string ToolName => "rehearsal";

            public bool HasRun { get; private set; }

            protected override Task<Response> ExecuteAsync(Parameters parameters, IToolContext context)
            {
                HasRun = parameters.Number == 1;
                return Task.FromResult(new Response { Results = new[] { new Response() } });
            }
        }

        private sealed class NoEditor : ISessionStore, IEditorState, IEditorPulse, IEditorLog, ISecuritySettings, IToolSource
        {
            private readonly Dictionary<string, string> session = new();

            public static BridgeOptions Options
            {
                get
                {
                    var nothing = new NoEditor();
                    return new BridgeOptions
                    {
                        State = nothing, Session = nothing, Pulse = nothing, Log = nothing, Security = nothing, Tools = nothing
                    };
                }
            }

            public void Restore()
            {
            }

            public bool IsAvailable => false;

            public bool AllowUnprovenClients => false;

            public string? Get(string key) => session.TryGetValue(key, out string value) ? value : null;

            public void Set(string key, string? value) => session[key] = value ?? "";

            public EditorSnapshot Read() => new();

            public void Signal()
            {
            }

            public void Info(string message)
            {
            }

            public void Warn(string message)
            {
            }

            public void Error(string message)
            {
            }

            public bool IsOn(SecuritySettings setting) => true;

            public bool IsOff(ToolGroup group) => false;

            public event Action<ToolGroup>? GroupSwitched
            {
                add { }
                remove { }
            }

            public ToolPermission PermissionOf(string toolName) => ToolPermission.Default;

            public IEnumerable<Type> FindToolTypes() => Array.Empty<Type>();
        }
    }
}
