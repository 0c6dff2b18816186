#nullable enable
using System;
using System.Globalization;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Writes calls into the log of requests. Any thread.</summary>
    internal sealed class CallRecords
    {
        private readonly TrafficLog traffic;
        private readonly IClock clock;

        public CallRecords(TrafficLog traffic, IClock clock)
        {
            this.traffic = traffic;
            this.clock = clock;
        }

        /// <summary>The time as log and messages show it: UTC, with milliseconds.</summary>
        public static string Time(DateTime utc) => utc.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture);

        /// <summary>Logs a call that has ended.</summary>
        public void Ended(Connection? connection, ToolCall call, CallOutcome outcome) => traffic.Add(new TrafficEntry(
            Time(clock.UtcNow), connection?.ClientName ?? "", call.Tool.Name,
            outcome.Error?.Type ?? (outcome.IsError ? "tool_error" : "ok"), outcome.DurationMs, Shown(call.Arguments, call.Bytes),
            outcome.Error?.ToJson() ?? outcome.Value));

        /// <summary>Logs a call that was refused.</summary>
        public void Refused(Connection connection, string what, JToken? arguments, int bytes, string type, string error) => traffic.Add(
            new TrafficEntry(Time(clock.UtcNow), connection.ClientName, what, type, 0, Shown(arguments, bytes), error));

        private static string Shown(JToken? arguments, int bytes) =>
            arguments == null ? "{}" : bytes <= Limits.TrafficRequest ? Json.Write(arguments) : $"({bytes} bytes)";
    }
}
