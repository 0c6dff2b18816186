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
    /// A conversation with a gateway that nobody hears: over parts of its own, on a thread of its own, while the domain
    /// starts. Every domain begins with code that is not compiled yet, and the first gateway that is back after a reload
    /// would wait for that compiler message by message. It changes nothing, and no client ever sees it.
    /// </summary>
    public sealed class Rehearsal
    {
        /// <summary>
        /// Is it worth it on this runtime? Not on Mono: two failures were seen there with it, a call and a start, in about 500
        /// simulated reloads. Why is not known, nor whether it was the cause.
        /// </summary>
        public static readonly bool IsWorthIt = Type.GetType("Mono.Runtime") == null;

        private const string Gateway = "rehearsal";

        private readonly IEditorLog log;
        private readonly Thread thread;
        private readonly Tool tool = new();
        private volatile bool stopped;

        /// <summary>Begins. What fails in it is a warning, and no more.</summary>
        public Rehearsal(IEditorLog log)
        {
            this.log = log;
            thread = new Thread(Guarded) { IsBackground = true, Name = "Holdfast rehearsal" };
            thread.Start();
        }

        /// <summary>Has the call been answered with a result?</summary>
        internal bool Succeeded { get; private set; }

        /// <summary>Ends it, and waits at most so many milliseconds.</summary>
        /// <returns>False if it goes on still.</returns>
        internal bool Stop(int milliseconds)
        {
            stopped = true;
            return thread.Join(milliseconds);
        }

        /// <summary>Waits for its end.</summary>
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
            // It is not started: what it is told to send goes nowhere.
            var connection = new Connection(0, socket, parts, DateTime.UtcNow);
            string challenge = new('0', 32);
            parts.NewChallenge = () => challenge;
            string proof = Proofs.OfGateway(parts.Secrets.Token, challenge, challenge, parts.Secrets.Nonce, Gateway);
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
                () => Succeeded = new CallJournal(NoEditor.Options.Clock).Load(parts.Calls.Interrupt("")) && tool.HasRun
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

        /// <summary>What it says is of the kinds that real tools take and return.</summary>
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

        // Without the attribute by which tools are found.
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

            public ToolPermission PermissionOf(string toolName) => ToolPermission.Default;

            public IEnumerable<Type> FindToolTypes() => Array.Empty<Type>();
        }
    }
}
