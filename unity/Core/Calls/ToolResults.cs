#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Text;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Turns a tool's return value into the outcome of its call.</summary>
    internal static class ToolResults
    {
        private const string LocalTime = "yyyy-MM-ddTHH:mm:ss.fff";

        /// <summary>Fills in the times of a <see cref="BaseToolResponse"/>.</summary>
        public static void FillTimes(object? value, DateTime began, long durationMs)
        {
            if (value is not BaseToolResponse response) return;
            response.StartedAt ??= began.ToString(LocalTime, CultureInfo.InvariantCulture);
            response.EndedAt ??= began.AddMilliseconds(durationMs).ToString(LocalTime, CultureInfo.InvariantCulture);
            if (response.ExecutionTimeMs == 0) response.ExecutionTimeMs = durationMs;
        }

        /// <summary>Writes a return value and its <see cref="IToolContent"/> parts as JSON.</summary>
        public static CallOutcome Outcome(object? value, long durationMs)
        {
            string json;
            string? content;
            bool failed;
            try
            {
                json = Json.Write(value);
                if (Json.IsDeeper(json, Limits.ResultDepth)) throw new TooDeepException(Limits.ResultDepth);
                content = Content(value);
                failed = SaysItFailed(value);
            }
            catch (TooDeepException e)
            {
                return CallOutcome.Of(new RpcError("tool_failed", -32000, true, "The tool ran, and its result cannot be sent: " + e.Message)
                    .With("exception", e.GetType().FullName));
            }
            catch (Exception e)
            {
                // A getter of the tool's result type may throw any exception.
                return CallOutcome.Of(new RpcError("tool_failed", -32000, true, "The tool's result cannot be written as JSON: " + e.Message)
                    .With("exception", e.GetType().FullName));
            }
            if ((long)json.Length + (content?.Length ?? 0) > Limits.MessageOut - Limits.FrameHeader)
            {
                return CallOutcome.Of(new RpcError("result_too_large", -32007, true,
                    $"The tool ran, and its result has more than {Limits.MessageOut >> 20} MiB; ask for less of it"));
            }
            return CallOutcome.Of(json, content, failed, durationMs);
        }

        /// <summary>Why a return value cannot be a part of another result; null if it can.</summary>
        public static string? Flaw(object? value)
        {
            try
            {
                bool deep = Json.IsDeeper(Json.Write(value), Limits.InnerResultDepth);
                return deep ? "The tool ran, and its result cannot be sent: " + new TooDeepException(Limits.InnerResultDepth).Message : null;
            }
            catch (Exception e)
            {
                return "The tool ran, and its result cannot be sent: " + e.Message;
            }
        }

        /// <summary>Whether a tool's return value has Success, and it is false.</summary>
        public static bool SaysItFailed(object? value)
        {
            if (value == null) return false;
            if (value is JObject json) return json["Success"] is JValue { Value: false };
            if (value is IDictionary<string, object> map)
            {
                return map.TryGetValue("Success", out object success) && success is false;
            }
            const BindingFlags Public = BindingFlags.Instance | BindingFlags.Public;
            PropertyInfo? property = value.GetType().GetProperties(Public)
                .FirstOrDefault(p => p.Name == "Success" && p.GetIndexParameters().Length == 0);
            return property?.GetValue(value) is false;
        }

        private static string? Content(object? value)
        {
            if (value is not IToolContent { Content: { Count: > 0 } parts }) return null;
            var text = new StringBuilder("[");
            foreach (ToolContent part in parts)
            {
                if (text.Length > 1) text.Append(',');
                text.Append("{\"type\":").Append(JsonConvert.ToString(part.Type));
                if (part.Data == null)
                {
                    text.Append(",\"text\":").Append(JsonConvert.ToString(part.Text ?? ""));
                }
                else
                {
                    text.Append(",\"data\":\"").Append(Convert.ToBase64String(part.Data)).Append("\",\"mimeType\":")
                        .Append(JsonConvert.ToString(part.MimeType ?? "application/octet-stream"));
                }
                text.Append('}');
            }
            return text.Append(']').ToString();
        }
    }
}
