#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Handles the messages of all connections. Holdfast's own methods are handled at once. uLoopMCP's methods are handled one
    /// after another on each connection. Called on the connections' reading threads.
    /// </summary>
    internal sealed class Dispatcher
    {
        private const string Extension = "holdfast/";
        private readonly BridgeParts parts;
        private readonly LegacyMethods legacy;
        private readonly object proveGate = new();

        public Dispatcher(BridgeParts parts)
        {
            this.parts = parts;
            legacy = new LegacyMethods(parts);
        }

        public void Received(Connection connection, byte[] message)
        {
            RpcRequest? request = JsonRpc.Read(message, out string id, out RpcError? error);
            if (request == null)
            {
                connection.Send(JsonRpc.Error(id, error!.ToJson()));
                return;
            }
            if (!request.Method.StartsWith(Extension, StringComparison.Ordinal))
            {
                legacy.Received(connection, request, message.Length);
                return;
            }
            if (request.Method == "holdfast/call")
            {
                Call(connection, request, message.Length);
                return;
            }
            error = null;
            string? result = Answer(connection, request, ref error);
            bool proofFailed = request.Method == "holdfast/prove" && error?.Type == "not_proven";
            if (request.Id != null)
            {
                connection.Send(error == null
                    ? JsonRpc.Result(request.Id, result!)
                    : JsonRpc.Error(request.Id, error.ToJson()));
            }
            if (proofFailed) connection.Finish();
        }

        private string? Answer(Connection connection, RpcRequest request, ref RpcError? error)
        {
            var given = new Parameters(request.Params);
            switch (request.Method)
            {
                case "holdfast/hello":
                    return Hello(connection, given, ref error);
                case "holdfast/prove":
                    return Prove(connection, given, ref error);
                case "holdfast/status":
                    return Reports.Status(parts);
                case "holdfast/tools":
                case "holdfast/outcome":
                case "holdfast/cancel":
                    if (NotProven(connection) is { } refusal)
                    {
                        error = refusal;
                        return null;
                    }
                    break;
                default:
                    error = new RpcError("unknown_method", -32601, false, "There is no method " + request.Method);
                    return null;
            }
            return request.Method switch
            {
                "holdfast/tools" => Reports.Tools(parts, given.Flag("includeDevelopmentOnly", ref error)),
                "holdfast/outcome" => Outcome(connection, given, ref error),
                _ => Cancel(given, ref error)
            };
        }

        private string? Hello(Connection connection, Parameters given, ref RpcError? error)
        {
            if (connection.Greeting != null)
            {
                error = new RpcError("invalid_request", -32600, false, "This connection has said hello already");
                return null;
            }
            long protocol = given.Number("protocol", 0, long.MaxValue, ref error);
            string gateway = given.Text("gateway", 1, Limits.Name, ref error);
            string client = given.Text("clientName", 0, Limits.Name, ref error);
            string challenge = given.Text("challenge", 32, 128, ref error);
            if (error == null && protocol != Bridge.Protocol)
            {
                error = new RpcError("unsupported_protocol", -32001, false,
                    $"The protocol {protocol} is not known here; {Bridge.Protocol} is").With("supported", new JArray(Bridge.Protocol));
            }
            var push = new Parameters(given["push"]);
            string? endpoint = push.OptionalText("endpoint", Limits.Name, ref error);
            string? token = push.OptionalText("token", Limits.Name, ref error);
            if (error != null) return null;
            string own = parts.NewChallenge();
            connection.Greeting = new Greeting(gateway, client, challenge, own, endpoint, token);
            EditorIdentity editor = parts.Editor;
            SessionSecrets secrets = parts.Secrets;
            return Json.Write(new JObject
            {
                ["protocol"] = Bridge.Protocol,
                ["product"] = "holdfast",
                ["packageVersion"] = editor.PackageVersion,
                ["unityVersion"] = editor.UnityVersion,
                ["project"] = editor.ProjectPath,
                ["projectName"] = editor.ProjectName,
                ["pid"] = editor.ProcessId,
                ["port"] = parts.PortOf(connection),
                ["generation"] = secrets.Generation,
                ["nonce"] = secrets.Nonce,
                ["state"] = parts.State.Word,
                ["challenge"] = own,
                ["proof"] = Proofs.OfEditor(
                    secrets.Token, challenge, own, secrets.Nonce, editor.ProcessId, editor.ProjectPath, parts.PortOf(connection))
            });
        }

        private string? Prove(Connection connection, Parameters given, ref RpcError? error)
        {
            string proof = given.Text("proof", 0, 128, ref error);
            if (error != null) return null;
            if (connection.IsProven || connection.Greeting is not { } greeting)
            {
                error = new RpcError("invalid_request", -32600, false, "A proof follows a hello, once");
                return null;
            }
            SessionSecrets secrets = parts.Secrets;
            string expected = Proofs.OfGateway(
                secrets.Token, greeting.OwnChallenge, greeting.Challenge, secrets.Nonce, greeting.Gateway, parts.PortOf(connection));
            if (!Hex.SameSecret(proof, expected))
            {
                error = new RpcError("not_proven", -32001, false, "The proof is wrong; read the instance file again");
                return null;
            }
            lock (proveGate)
            {
                List<Connection> former =
                    parts.Connections.Where(c => c != connection && c.Gateway == greeting.Gateway).ToList();
                parts.Calls.Fence(greeting.Gateway, connection, former);
                foreach (Connection one in former) one.Close();
                parts.Calls.Greet(greeting.Gateway);
                connection.Prove(greeting.Gateway);
            }
            parts.NameClient(connection, greeting.ClientName, greeting.PushEndpoint, greeting.PushToken);
            return Json.Write(new JObject
            {
                ["proven"] = true, ["connection"] = connection.Number, ["toolsRevision"] = parts.ToolsRevision
            });
        }

        private void Call(Connection connection, RpcRequest request, int bytes)
        {
            // A call without an id cannot be answered, so it is ignored.
            if (request.Id == null) return;
            connection.CountCall();
            var given = new Parameters(request.Params);
            RpcError? error = NotProven(connection);
            string callId = "", name = "";
            if (error == null) callId = given.Text("callId", 1, Limits.Name, ref error);
            long seq = error == null ? given.Number("seq", 1, long.MaxValue, ref error) : 0;
            if (error == null) name = given.Text("tool", 1, Limits.Name, ref error);
            JToken? arguments = given["arguments"];
            if (error == null && arguments != null && arguments.Type is not (JTokenType.Object or JTokenType.Null))
            {
                error = Parameters.Wrong("arguments must be an object");
            }
            bool progress = error == null && given.Flag("progress", ref error);
            long? timeout = error == null && given["timeoutMs"] != null
                ? given.Number("timeoutMs", 0, Limits.ToolTimeoutSeconds * 1000L, ref error)
                : null;
            if (error == null)
            {
                error = Submit(connection, request.Id, name, callId, call =>
                {
                    call.CallId = callId;
                    call.Gateway = connection.Gateway;
                    call.Seq = seq;
                    call.WantsProgress = progress;
                    call.TimeoutMs = (int?)timeout;
                    // The call runs even if its trace cannot be read.
                    call.TraceParent = TraceText(given, "traceparent");
                    call.TraceState = TraceText(given, "tracestate");
                    call.Baggage = TraceText(given, "baggage");
                }, arguments, bytes);
            }
            if (error == null) return;
            if (callId.Length > 0) error.With("callId", callId);
            if (name.Length > 0 && error.Type == "unknown_tool") error.With("tool", name);
            string json = error.ToJson();
            parts.Records.Refused(connection, name.Length > 0 ? name : request.Method, arguments, bytes, error.Type, json);
            connection.Send(JsonRpc.Error(request.Id, json));
        }

        private static string? TraceText(Parameters given, string name) =>
            given["trace"] is JObject trace && trace[name] is JValue { Type: JTokenType.String } text ? (string?)text : null;

        private RpcError? Submit(
            Connection connection, string id, string name, string callId, Action<ToolCall> fill, JToken? arguments, int bytes)
        {
            ToolEntry? tool = parts.Tools.Find(name);
            if (tool == null) return new RpcError("unknown_tool", -32602, false, "Unknown tool: " + name);
            if (parts.Security.Check(tool) is { } denial)
            {
                return new RpcError("security_blocked", RpcError.InternalError, false, denial.Refusal(name))
                    .With("callId", callId).With("command", name).With("reason", denial.Reason)
                    .With("setting", denial.Setting.ToString());
            }
            ToolCall call = parts.NewCall(tool, arguments, bytes);
            call.Origin = connection;
            fill(call);
            call.Ended = (ended, outcome) => parts.Answered(ended, outcome, connection, id);
            return parts.Calls.Submit(call);
        }

        private string? Outcome(Connection connection, Parameters given, ref RpcError? error)
        {
            if (given["calls"] is not JArray calls || calls.Count > Limits.OutcomeQuestions)
            {
                error = Parameters.Wrong($"calls must be a list of at most {Limits.OutcomeQuestions} calls");
                return null;
            }
            var questions = new List<(string, long)>();
            foreach (JToken call in calls)
            {
                var one = new Parameters(call);
                questions.Add((one.Text("callId", 1, Limits.Name, ref error), one.Number("seq", 1, long.MaxValue, ref error)));
                if (error != null) return null;
            }
            string outcomes = parts.Calls.Outcomes(connection.Gateway!, questions);
            return "{\"generation\":" + parts.Secrets.Generation + ",\"nonce\":\"" + parts.Secrets.Nonce +
                "\",\"outcomes\":" + outcomes + "}";
        }

        private string? Cancel(Parameters given, ref RpcError? error)
        {
            string callId = given.Text("callId", 1, Limits.Name, ref error);
            if (error != null) return null;
            CallStatus? status = parts.Calls.Cancel(callId);
            return Json.Write(new JObject
            {
                ["callId"] = callId,
                ["status"] = status == null ? null : JournalEntry.Word(status.Value)
            });
        }

        private static RpcError? NotProven(Connection connection) => connection.IsProven
            ? null
            : new RpcError("not_proven", -32001, false, "Prove yourself first: holdfast/hello, then holdfast/prove");
    }

    /// <summary>
    /// Reads the members of a method's parameters. The first wrong member sets the error; later ones do not change it.
    /// </summary>
    internal readonly struct Parameters
    {
        private readonly JObject? members;

        public Parameters(JToken? given) => members = given as JObject;

        public JToken? this[string name] => members?[name];

        public static RpcError Wrong(string what) => new("invalid_params", -32602, false, what);

        public string Text(string name, int least, int most, ref RpcError? error)
        {
            if (this[name] is JValue { Type: JTokenType.String } value)
            {
                string text = (string)value!;
                int length = Json.Utf8.GetByteCount(text);
                if (length >= least && length <= most) return text;
            }
            error ??= Wrong($"{name} must be a text of {least} to {most} bytes");
            return "";
        }

        public string? OptionalText(string name, int most, ref RpcError? error) =>
            this[name] == null || this[name]!.Type == JTokenType.Null ? null : Text(name, 0, most, ref error);

        public long Number(string name, long least, long most, ref RpcError? error)
        {
            if (this[name] is JValue { Type: JTokenType.Integer, Value: long value } && value >= least && value <= most)
            {
                return value;
            }
            error ??= Wrong($"{name} must be a whole number from {least} to {most}");
            return 0;
        }

        public bool Flag(string name, ref RpcError? error)
        {
            JToken? value = this[name];
            if (value == null || value.Type == JTokenType.Null) return false;
            if (value.Type == JTokenType.Boolean) return (bool)value;
            error ??= Wrong(name + " must be true or false");
            return false;
        }
    }
}
