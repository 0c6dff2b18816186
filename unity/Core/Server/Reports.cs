#nullable enable
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>The answers to <c>holdfast/status</c> and <c>holdfast/tools</c> (Documentation~/protocol.md, sections 8 and 5), as JSON.</summary>
    internal static class Reports
    {
        /// <summary>What the editor and its calls are doing.</summary>
        public static string Status(BridgeParts parts)
        {
            EditorSnapshot now = parts.State.Snapshot;
            var (queued, running) = parts.Calls.Status();
            return Json.Write(new JObject
            {
                ["state"] = parts.State.Word,
                ["generation"] = parts.Secrets.Generation,
                ["frameAgeMs"] = parts.FrameAge,
                ["focused"] = now.IsFocused,
                ["importing"] = now.IsUpdating,
                ["compileErrors"] = now.HasCompileErrors,
                ["queued"] = queued,
                ["running"] = new JArray(running.Select(r => new JObject
                {
                    ["callId"] = r.CallId, ["tool"] = r.Tool, ["forMs"] = r.ForMs
                }))
            });
        }

        /// <summary>The tools, each with its description, its schema, and the reason why it is blocked, if it is.</summary>
        public static string Tools(BridgeParts parts, bool includeDevelopmentOnly)
        {
            IEnumerable<ToolEntry> listed =
                parts.Tools.All.Where(t => (includeDevelopmentOnly || !t.About.DisplayDevelopmentOnly) && parts.Security.IsListed(t));
            IEnumerable<JObject> tools = listed.Select(tool => One(tool, parts.Security.Check(tool)));
            return Json.Write(new JObject
            {
                ["generation"] = parts.Secrets.Generation, ["revision"] = parts.ToolsRevision, ["tools"] = new JArray(tools)
            });
        }

        private static JObject One(ToolEntry tool, SecurityDenial? denial)
        {
            var one = new JObject
            {
                ["name"] = tool.Name,
                ["description"] = tool.About.Description,
                ["inputSchema"] = tool.InputSchema,
                ["annotations"] = tool.Annotations,
                ["parallel"] = tool.About.Parallel,
                ["offMainThread"] = tool.About.OffMainThread,
                ["resumable"] = tool.Tool is IResumableTool,
                ["developmentOnly"] = tool.About.DisplayDevelopmentOnly,
                ["blocked"] = denial?.Reason
            };
            if (tool.TimeoutSeconds is { } seconds) one["timeoutSeconds"] = seconds;
            if (ToolGroups.Of(tool) is { } group) one["group"] = group.ToString();
            if (OtherNames.Of(tool) is { } names) one["otherNames"] = names;
            return one;
        }
    }
}
