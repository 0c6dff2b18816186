#nullable enable
using System;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>A request or notification that was received.</summary>
    internal sealed class RpcRequest
    {
        public RpcRequest(string? id, string method, JToken? parameters)
        {
            Id = id;
            Method = method;
            Params = parameters;
        }

        /// <summary>The request's id as JSON, to be echoed; null for a notification.</summary>
        public string? Id { get; }

        public string Method { get; }

        public JToken? Params { get; }
    }

    /// <summary>
    /// An error as it is sent. Its <c>data</c> has <see cref="Type"/>, <see cref="Ran"/>, a message and more members.
    /// </summary>
    internal sealed class RpcError
    {
        public const int InternalError = -32603;

        private readonly JObject data;

        public RpcError(string type, int code, bool ran, string message, string? detail = null)
        {
            Code = code;
            Message = message;
            data = new JObject { ["type"] = type, ["ran"] = ran, ["message"] = detail ?? message };
        }

        public int Code { get; }

        public string Message { get; }

        public string Type => (string)data["type"]!;

        public bool Ran => (bool)data["ran"]!;

        /// <summary>Adds a member to <c>data</c>.</summary>
        public RpcError With(string name, JToken? value)
        {
            data[name] = value;
            return this;
        }

        /// <summary>Adds the call's id and tool to <c>data</c>.</summary>
        public void Identify(string? callId, string tool)
        {
            JToken? exception = data["exception"];
            data.Remove("exception");
            if (callId != null) data["callId"] = callId;
            data["tool"] = tool;
            if (exception != null) data["exception"] = exception;
        }

        public string ToJson() =>
            "{\"code\":" + Code + ",\"message\":" + JsonConvert.ToString(Message) + ",\"data\":" + Json.Write(data) + "}";
    }

    /// <summary>
    /// Reads and writes JSON-RPC messages. Results are passed as JSON text, so that they are written only once.
    /// </summary>
    internal static class JsonRpc
    {
        /// <summary>Reads one message.</summary>
        /// <returns>
        /// The request; or null, and then <paramref name="error"/> is the error to answer with, under <paramref name="id"/>.
        /// </returns>
        public static RpcRequest? Read(byte[] message, out string id, out RpcError? error)
        {
            id = "null";
            JToken value;
            try
            {
                value = Json.Parse(Json.StrictUtf8.GetString(message));
            }
            catch (Exception e) when (e is JsonException or ArgumentException or FormatException or OverflowException)
            {
                error = new RpcError("parse_error", -32700, false, "The message is no JSON: " + e.Message);
                return null;
            }
            error = null;
            if (value is not JObject request)
            {
                error = Invalid(value is JArray ? "batches are not taken" : "it is no object");
                return null;
            }
            JToken? givenId = request["id"];
            bool notification = givenId == null || givenId.Type == JTokenType.Null;
            if (!notification)
            {
                string text = givenId!.ToString(Formatting.None);
                bool fits = givenId.Type is JTokenType.String or JTokenType.Integer && text.Length <= 1024;
                if (!fits)
                {
                    error = Invalid("an id is a text or a whole number of at most 1024 bytes");
                    return null;
                }
                id = text;
            }
            if (request["method"] is not JValue { Type: JTokenType.String } method)
            {
                error = Invalid("the method is missing");
                return null;
            }
            return new RpcRequest(notification ? null : id, (string)method!, request["params"]);
        }

        public static string Result(string id, string result) =>
            new StringBuilder(result.Length + id.Length + 40).Append("{\"jsonrpc\":\"2.0\",\"id\":").Append(id)
                .Append(",\"result\":").Append(result).Append('}').ToString();

        public static string Error(string id, string error) =>
            "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":" + error + "}";

        public static string Notification(string method, JObject parameters) =>
            "{\"jsonrpc\":\"2.0\",\"method\":" + JsonConvert.ToString(method) + ",\"params\":" + Json.Write(parameters) + "}";

        private static RpcError Invalid(string why) =>
            new("invalid_request", -32600, false, "This is no JSON-RPC request: " + why);
    }
}
