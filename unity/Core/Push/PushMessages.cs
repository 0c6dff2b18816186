#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>A push message. Members without a value are written too.</summary>
    internal sealed record PushMessage(string Type)
    {
        public string ReasonType { get; init; } = "";

        public string ReasonText { get; init; } = "";

        /// <summary>Whether the message tells which editor sends it: endpoint, Unity version, project and nonce.</summary>
        public bool Introduces { get; init; }

        public int ToolCount { get; init; }

        public IReadOnlyList<string> ChangedTools { get; init; } = Array.Empty<string>();

        public string ChangeType { get; init; } = "";

        public static readonly PushMessage Established = new("CONNECTION_ESTABLISHED") { Introduces = true };

        public static readonly PushMessage Recovered = new("DOMAIN_RELOAD_RECOVERED") { Introduces = true };

        public static readonly PushMessage Reload =
            new("DOMAIN_RELOAD") { ReasonType = "DOMAIN_RELOAD", ReasonText = "Unity domain reload initiated" };

        public static readonly PushMessage Disconnect =
            new("USER_DISCONNECT") { ReasonType = "USER_DISCONNECT", ReasonText = "UnityPushClient disconnecting" };

        public static readonly PushMessage Shutdown =
            new("UNITY_SHUTDOWN") { ReasonType = "UNITY_SHUTDOWN", ReasonText = "Unity Editor is shutting down" };

        public static PushMessage ToolsChanged(ToolChange change, int count, IReadOnlyList<string> names) => new("TOOLS_CHANGED")
        {
            ToolCount = count, ChangedTools = names, ChangeType = change.ToString().ToLowerInvariant()
        };

        /// <summary>Returns the message as one JSON line, without the line break.</summary>
        public string ToLine(long sequence, string? token, DateTime utcNow, EditorIdentity editor, string nonce, int port)
        {
            var line = new JObject { ["type"] = Type, ["sequence"] = sequence };
            if (token != null) line["token"] = token;
            line["timestamp"] = utcNow.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture);
            line["payload"] = new JObject
            {
                ["reason"] = new JObject { ["type"] = ReasonType, ["message"] = ReasonText },
                ["endpoint"] = Introduces ? "localhost:" + port.ToString(CultureInfo.InvariantCulture) : "",
                ["clientInfo"] = new JObject
                {
                    ["unityVersion"] = Introduces ? editor.UnityVersion : "",
                    ["projectPath"] = Introduces ? editor.ProjectPath : "",
                    ["sessionId"] = Introduces ? nonce : ""
                },
                ["toolsInfo"] = new JObject
                {
                    ["toolCount"] = ToolCount,
                    ["changedTools"] = new JArray(ChangedTools.Cast<object>().ToArray()),
                    ["changeType"] = ChangeType
                }
            };
            return Json.Write(line);
        }
    }
}
