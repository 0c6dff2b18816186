#nullable enable
using System;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Handles uLoopMCP's protocol, so that an unmodified server of that package can use the bridge. In this protocol, the method
    /// of a request is the tool's name, requests of one connection are answered in order, and there are two kinds of errors.
    /// </summary>
    internal sealed class LegacyMethods
    {
        private readonly BridgeParts parts;

        public LegacyMethods(BridgeParts parts) => this.parts = parts;

        public void Received(Connection connection, RpcRequest request, int bytes)
        {
            // Notifications have no effect in uLoopMCP's protocol.
            if (request.Id is not { } id) return;
            if (!connection.IsProven && !parts.Security.AllowsUnproven)
            {
                connection.Send(JsonRpc.Error(id, new RpcError("not_proven", -32001, false,
                    "This editor answers only programs that prove that they can read the project's files. Use holdfast's gateway, " +
                    "which does (`holdfast setup` enters it into your AI editor), or turn on \"Clients that cannot prove " +
                    "themselves\" in Unity's Window > Holdfast").ToJson()));
                return;
            }
            if (connection.IsProven && request.Method == "ping")
            {
                Begin(connection, id, request, bytes, () => { });
                return;
            }
            if (!connection.Lane.Post(done => Begin(connection, id, request, bytes, done)))
            {
                connection.Send(JsonRpc.Error(id, Internal("Too many requests of this connection wait", false).ToJson()));
            }
        }

        private void Begin(Connection connection, string id, RpcRequest request, int bytes, Action done)
        {
            if (request.Method == "sendPushNotificationEndpoint")
            {
                connection.Send(PushEndpoint(connection, id, request.Params as JObject));
                done();
                return;
            }
            // Pings are not shown: they would push all other requests out of the window's log.
            bool shown = request.Method != "ping";
            if (shown) connection.CountCall();
            ToolEntry? tool = parts.Tools.Find(request.Method);
            RpcError? refusal = tool == null
                ? Internal("Unknown tool: " + request.Method, false)
                : parts.Security.Check(tool) is { } denial ? Blocked(tool, denial) : null;
            if (refusal == null)
            {
                ToolCall call = parts.NewCall(tool!, request.Params, bytes);
                call.Origin = connection;
                call.WantsTimes = true;
                call.Ended = (ended, outcome) =>
                {
                    connection.Send(outcome.Error == null
                        ? JsonRpc.Result(id, outcome.Value)
                        : JsonRpc.Error(id, Translate(ended, outcome.Error)));
                    if (shown) parts.Records.Ended(connection, ended, outcome);
                    done();
                };
                if (parts.Calls.Submit(call) is not { } error) return;
                refusal = Internal(error.Message, false);
            }
            string json = refusal.ToJson();
            parts.Records.Refused(connection, request.Method, request.Params, bytes, refusal.Type, json);
            connection.Send(JsonRpc.Error(id, json));
            done();
        }

        private string PushEndpoint(Connection connection, string id, JObject? given)
        {
            RpcError? error = null;
            var parameters = new Parameters(given);
            string name = parameters["endpoint"] != null ? "endpoint" : "PushNotificationEndpoint";
            string endpoint = parameters.Text(name, 1, Limits.Name, ref error);
            if (error != null) return JsonRpc.Error(id, error.ToJson());
            parts.NameClient(connection, connection.ClientName, endpoint, null);
            return JsonRpc.Result(id, Json.Write(new JObject { ["Success"] = true, ["PushNotificationEndpoint"] = endpoint }));
        }

        private static string Translate(ToolCall call, RpcError error) => error.Type switch
        {
            "timed_out" => new RpcError("internal_error", RpcError.InternalError, true, "Request timeout",
                $"Tool {call.Tool.Name} timed out after {call.TimeoutSeconds} seconds").ToJson(),
            "invalid_params" => new RpcError("internal_error", RpcError.InternalError, error.Ran, error.Message, error.Ran ? "" : "Nothing of the call ran").ToJson(),
            _ => Internal(error.Message, error.Ran).ToJson()
        };

        private static RpcError Blocked(ToolEntry tool, SecurityDenial denial) =>
            new RpcError("security_blocked", RpcError.InternalError, false, denial.Refusal(tool.Name))
                .With("command", tool.Name).With("reason", denial.Reason);

        private static RpcError Internal(string what, bool ran) =>
            new RpcError("internal_error", RpcError.InternalError, ran, "Internal error", what);
    }
}
