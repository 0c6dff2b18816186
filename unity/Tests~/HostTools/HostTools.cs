#nullable enable
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.ComponentModel;
using System.IO;
using System.Threading;
using System.Threading.Tasks;
using EditorHost;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;
using UnityEditor;

// Tools of an imaginary user, which run in the simulated editor. The package does not know them. Their names and parameters are
// those of the test tools of `holdfast fake-unity`.
namespace Holdfast.HostTools
{
    public sealed class Nothing
    {
    }

    /// <summary>A part of another package, which fails in every domain if the editor was started with its flag.</summary>
    internal sealed class BrokenPorts : IPortProvider
    {
        public void AddPorts(ServiceTable ports)
        {
            if (Native.Current.Flag("brokenPart")) throw new InvalidOperationException("this part is broken");
        }
    }

    /// <summary>
    /// Lets the proofs cover the port of a test's faulty network, which stands between gateway and editor. Without it the gateway
    /// refuses the connection, as it must.
    /// </summary>
    internal sealed class ForwardedPort : IPortProvider
    {
        public void AddPorts(ServiceTable ports) => ((BridgeParts)ports.Get<IBridgeInfo>()).PortOf = connection =>
            int.TryParse(Native.Current.Text("forwardedPort"), out int forwarded) ? forwarded : connection.Port;
    }

    public sealed class TextParameter
    {
        [Description("What to return")]
        public string text { get; set; } = "";
    }

    public sealed class MsParameter
    {
        [Description("Milliseconds")]
        public int ms { get; set; }
    }

    public sealed class SizeParameter
    {
        [Description("Bytes of the result's text")]
        public int n { get; set; } = 1024;
    }

    public sealed class WorkParameter
    {
        [Description("What to count")]
        public string key { get; set; } = "";

        [Description("Milliseconds")]
        public int ms { get; set; }
    }

    public sealed class CountParameter
    {
        [Description("What to count")]
        public string key { get; set; } = "";

        [Description("Answer only when the person who steers the editor releases it")]
        public bool hold { get; set; }
    }

    [McpTool(Description = "Returns the text.", ReadOnly = true, Parallel = true)]
    public sealed class Echo : AbstractUnityTool<TextParameter, JObject>
    {
        public override string ToolName => "echo";

        protected override Task<JObject> ExecuteAsync(TextParameter parameters, CancellationToken token) =>
            Task.FromResult(new JObject { ["Echo"] = parameters.text });
    }

    [McpTool(Description = "Tells how long the start of the bridge took.", ReadOnly = true)]
    public sealed class StartTime : AbstractUnityTool<Nothing, JObject>
    {
        public override string ToolName => "start-time";

        protected override Task<JObject> ExecuteAsync(Nothing parameters, IToolContext context) =>
            Task.FromResult(new JObject { ["Ms"] = context.Get<IBridgeInfo>().StartMilliseconds });
    }

    [McpTool(Description = "Answers after a time.", ReadOnly = true)]
    public sealed class Sleep : AbstractUnityTool<MsParameter, JObject>
    {
        public override string ToolName => "sleep";

        protected override async Task<JObject> ExecuteAsync(MsParameter parameters, IToolContext context)
        {
            var watch = System.Diagnostics.Stopwatch.StartNew();
            while (watch.ElapsedMilliseconds < parameters.ms)
            {
                await context.MainThread.Frames(1, context.Cancellation);
                context.ReportProgress(watch.ElapsedMilliseconds, parameters.ms, "sleeping");
            }
            return new JObject { ["SleptMs"] = parameters.ms };
        }
    }

    [McpTool(Description = "Answers when the person who steers the editor releases it.")]
    public sealed class Hold : AbstractUnityTool<Nothing, JObject>
    {
        public override string ToolName => "hold";

        protected override async Task<JObject> ExecuteAsync(Nothing parameters, IToolContext context)
        {
            await Steer.Released(context);
            return new JObject { ["Released"] = true };
        }
    }

    [McpTool(Description = "Returns a result of a given size.", ReadOnly = true, Parallel = true)]
    public sealed class Big : AbstractUnityTool<SizeParameter, JObject>
    {
        public override string ToolName => "big";

        protected override Task<JObject> ExecuteAsync(SizeParameter parameters, CancellationToken token) =>
            Task.FromResult(new JObject { ["Text"] = new string('x', parameters.n) });
    }

    [McpTool(Description = "Runs and reports that it failed.")]
    public sealed class Fail : AbstractUnityTool<Nothing, object>
    {
        public override string ToolName => "fail";

        protected override Task<object> ExecuteAsync(Nothing parameters, CancellationToken token) =>
            Task.FromResult<object>(new { Success = false, Message = "The tool failed", ErrorMessage = "As asked" });
    }

    [McpTool(Description = "Throws an exception.")]
    public sealed class Throw : AbstractUnityTool<Nothing, object>
    {
        public override string ToolName => "throw";

        protected override Task<object> ExecuteAsync(Nothing parameters, CancellationToken token) =>
            throw new InvalidOperationException("Thrown as asked");
    }

    [McpTool(Description = "Counts that it ran.")]
    public sealed class Count : AbstractUnityTool<CountParameter, JObject>
    {
        public override string ToolName => "count";

        protected override async Task<JObject> ExecuteAsync(CountParameter parameters, IToolContext context)
        {
            int runs = Counter.Begun(parameters.key);
            if (parameters.hold) await Steer.Released(context);
            return new JObject { ["Key"] = parameters.key, ["Runs"] = runs };
        }
    }

    internal static class Counter
    {
        // Counted before the tool waits for anything, since the tests ask whether a call began. The lines of the file have the
        // form that `holdfast fake-unity` writes.
        public static int Begun(string key)
        {
            int runs = SessionState.GetInt("count." + key, 0) + 1;
            SessionState.SetInt("count." + key, runs);
            string file = Native.Current.Text("countFile");
            var line = new JObject { ["key"] = key, ["runs"] = runs };
            if (file.Length > 0) File.AppendAllText(file, line.ToString(Formatting.None) + "\n");
            return runs;
        }
    }

    [McpTool(Description = "Counts that it ran and answers after a time, beside others.", Parallel = true)]
    public sealed class Wait : AbstractUnityTool<WorkParameter, JObject>
    {
        public override string ToolName => "wait";

        protected override async Task<JObject> ExecuteAsync(WorkParameter parameters, IToolContext context)
        {
            int runs = Counter.Begun(parameters.key);
            var watch = System.Diagnostics.Stopwatch.StartNew();
            while (watch.ElapsedMilliseconds < parameters.ms) await context.MainThread.Frames(1, context.Cancellation);
            var result = new JObject { ["Key"] = parameters.key, ["Runs"] = runs };
            if (context.TraceParent != null) result["TraceParent"] = context.TraceParent;
            return result;
        }
    }

    [McpTool(Description = "Counts that it ran, works for a time over any reload, and tells how far it is.")]
    public sealed class Work : AbstractUnityTool<WorkParameter, JObject>, IResumableTool
    {
        public override string ToolName => "work";

        public async Task<object?> ResumeAsync(JToken kept, IToolContext context) => await GoOn((JObject)kept, context);

        protected override Task<JObject> ExecuteAsync(WorkParameter parameters, IToolContext context) => GoOn(
            new JObject { ["Key"] = parameters.key, ["Runs"] = Counter.Begun(parameters.key), ["Ms"] = parameters.ms, ["Done"] = 0 }, context);

        private static async Task<JObject> GoOn(JObject kept, IToolContext context)
        {
            var watch = System.Diagnostics.Stopwatch.StartNew();
            long before = (long)kept["Done"]!, all = (long)kept["Ms"]!;
            while ((long)kept["Done"]! < all)
            {
                context.KeepAcrossReload(kept);
                context.ReportProgress((long)kept["Done"]!, all, "working");
                await context.MainThread.Frames(1, context.Cancellation);
                kept["Done"] = before + watch.ElapsedMilliseconds;
            }
            return kept;
        }
    }

    [McpTool(Description = "Tells how often count ran.", ReadOnly = true)]
    public sealed class Runs : AbstractUnityTool<CountParameter, JObject>
    {
        public override string ToolName => "runs";

        protected override Task<JObject> ExecuteAsync(CountParameter parameters, CancellationToken token) => Task.FromResult(
            new JObject { ["Key"] = parameters.key, ["Runs"] = SessionState.GetInt("count." + parameters.key, 0) });
    }

    [McpTool(Description = "Blocks the main thread for a time.")]
    public sealed class Block : AbstractUnityTool<MsParameter, JObject>
    {
        public override string ToolName => "block";

        protected override Task<JObject> ExecuteAsync(MsParameter parameters, CancellationToken token)
        {
            Thread.Sleep(parameters.ms);
            return Task.FromResult(new JObject { ["BlockedMs"] = parameters.ms });
        }
    }

    [McpTool(Description = "Asks for a reload, and answers after it.")]
    public sealed class ReloadAndAnswer : AbstractUnityTool<TextParameter, JObject>, IResumableTool
    {
        public override string ToolName => "reload-and-answer";

        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            await context.MainThread.Frames(2, context.Cancellation);
            return new JObject { ["Echo"] = kept["text"] };
        }

        protected override async Task<JObject> ExecuteAsync(TextParameter parameters, IToolContext context)
        {
            if (!context.KeepAcrossReload(new JObject { ["text"] = parameters.text })) return new JObject { ["Echo"] = null };
            EditorUtility.RequestScriptReload();
            await context.MainThread.Frames(int.MaxValue, context.Cancellation);
            return new JObject();
        }
    }

    public sealed class PictureResult : IToolContent
    {
        public int Width => 1;

        [JsonIgnore]
        public IReadOnlyList<ToolContent> Content => new[]
        {
            ToolContent.OfImage(Convert.FromBase64String(
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), "image/png")
        };
    }

    [McpTool(Description = "Returns a picture.", ReadOnly = true)]
    public sealed class PictureTool : AbstractUnityTool<Nothing, PictureResult>
    {
        public override string ToolName => "picture";

        protected override Task<PictureResult> ExecuteAsync(Nothing parameters, CancellationToken token) =>
            Task.FromResult(new PictureResult());
    }

    /// <summary>A tool that is registered at run time. It has no McpTool attribute, so it is not found automatically.</summary>
    public sealed class Later : AbstractUnityTool<TextParameter, JObject>
    {
        private readonly string name;

        public Later(string name) => this.name = name;

        public override string ToolName => name;

        protected override Task<JObject> ExecuteAsync(TextParameter parameters, CancellationToken token) =>
            Task.FromResult(new JObject { ["Echo"] = parameters.text });
    }

    /// <summary>Methods that the host calls by name.</summary>
    public static class Steer
    {
        private static TaskCompletionSource<bool> gate = new();

        public static void Release()
        {
            TaskCompletionSource<bool> open = gate;
            gate = new TaskCompletionSource<bool>();
            open.TrySetResult(true);
        }

        public static void Changed() => Holdfast.Editor.Controller.Bridge?.Info.Tools.NotifyChanged();

        public static void AddTool(string name) => Holdfast.Editor.Controller.Bridge?.Info.Tools.Register(new Later(name));

        internal static async Task Released(IToolContext context)
        {
            var cancelled = new TaskCompletionSource<bool>();
            using (context.Cancellation.Register(() => cancelled.TrySetCanceled())) await await Task.WhenAny(gate.Task, cancelled.Task);
        }
    }

    /// <summary>Counts Unity's costly calls since the last time.</summary>
    [McpTool(Description = "Counts calls.")]
    public sealed class CountedCalls : AbstractUnityTool<Nothing, JObject>
    {
        public override string ToolName => "counted";

        protected override Task<JObject> ExecuteAsync(Nothing parameters, CancellationToken token)
        {
            var counted = new JObject
            {
                ["GlobalIds"] = Counted.GlobalIds, ["Names"] = Counted.Names, ["Popups"] = Counted.Popups, ["Hidden"] = Counted.Hidden,
                ["Imports"] = Counted.Imports, ["Contents"] = Counted.Contents, ["GameSize"] = Counted.GameSize
            };
            (Counted.GlobalIds, Counted.Names, Counted.Popups) = (0, 0, 0);
            return Task.FromResult(counted);
        }
    }

    public sealed class ConsoleViewParameter
    {
        public int flags { get; set; } = -1;

        public string filter { get; set; } = "";
    }

    /// <summary>Sets and reads the user's options of the console window.</summary>
    [McpTool(Description = "Sets and reads what the console's window shows.")]
    public sealed class ConsoleView : AbstractUnityTool<ConsoleViewParameter, JObject>
    {
        public override string ToolName => "console-view";

        protected override Task<JObject> ExecuteAsync(ConsoleViewParameter parameters, CancellationToken token)
        {
            if (parameters.flags >= 0)
            {
                Native.Current.SetSession("consoleFlags", parameters.flags.ToString());
                Native.Current.SetSession("consoleFilter", parameters.filter);
            }
            return Task.FromResult(new JObject
            {
                ["Flags"] = int.Parse(Native.Current.GetSession("consoleFlags")), ["Filter"] = Native.Current.GetSession("consoleFilter")
            });
        }
    }

    public sealed class AllowParameter
    {
        public SecuritySettings setting { get; set; }
    }

    /// <summary>Turns a switch on, as the user does in the settings.</summary>
    [McpTool(Description = "Turns a switch of the user's on.")]
    public sealed class Allow : AbstractUnityTool<AllowParameter, JObject>
    {
        public override string ToolName => "allow";

        protected override Task<JObject> ExecuteAsync(AllowParameter parameters, CancellationToken token)
        {
            Holdfast.Editor.HoldfastSettings.instance.SetSwitch(parameters.setting, true);
            return Task.FromResult(new JObject());
        }
    }

    public sealed class ContentsParameter
    {
        public string folder { get; set; } = "";
    }

    /// <summary>Says where the editor is installed.</summary>
    [McpTool(Description = "Moves the folder of the editor.")]
    public sealed class Contents : AbstractUnityTool<ContentsParameter, JObject>
    {
        public override string ToolName => "contents";

        protected override Task<JObject> ExecuteAsync(ContentsParameter parameters, CancellationToken token)
        {
            Native.Current.SetSession("contents", parameters.folder);
            return Task.FromResult(new JObject());
        }
    }

    /// <summary>Takes the script of a component away, as happens if its file is deleted.</summary>
    [McpTool(Description = "Takes away the script of the last component of an object, or of the colliders in a file.")]
    public sealed class LoseScript : AbstractUnityTool<TextParameter, JObject>
    {
        public override string ToolName => "lose-script";

        protected override Task<JObject> ExecuteAsync(TextParameter parameters, CancellationToken token)
        {
            Engine.LoseScript(parameters.text);
            return Task.FromResult(new JObject());
        }
    }

    /// <summary>Opens a prefab, as the user does in the project window.</summary>
    [McpTool(Description = "Opens a prefab as the user does.")]
    public sealed class OpenAsUser : AbstractUnityTool<TextParameter, JObject>
    {
        public override string ToolName => "open-as-user";

        protected override Task<JObject> ExecuteAsync(TextParameter parameters, CancellationToken token)
        {
            UnityEditor.SceneManagement.PrefabStageUtility.OpenPrefab(parameters.text);
            return Task.FromResult(new JObject());
        }
    }

    /// <summary>Changes an object as the user does, without a step of a tool.</summary>
    [McpTool(Description = "Puts an object into the layer UI as the user does.")]
    public sealed class EditAsUser : AbstractUnityTool<TextParameter, JObject>
    {
        public override string ToolName => "edit-as-user";

        protected override Task<JObject> ExecuteAsync(TextParameter parameters, CancellationToken token)
        {
            UnityEngine.GameObject one = System.Linq.Enumerable.First(
                UnityEngine.SceneManagement.SceneManager.GetActiveScene().GetRootGameObjects(), o => o.name == parameters.text);
            Undo.RecordObject(one, "User");
            one.layer = UnityEngine.LayerMask.NameToLayer("UI");
            return Task.FromResult(new JObject());
        }
    }

    /// <summary>A component of which an object has one at most.</summary>
    [UnityEngine.DisallowMultipleComponent]
    public sealed class OnlyOne : UnityEngine.MonoBehaviour
    {
    }

    public static class Menus
    {
        [MenuItem("Tools/Count %&c")]
        public static void Count() => Native.Current.SetSession("counted", "yes");
    }

    /// <summary>What a field with [SerializeReference] of the simulated components has.</summary>
    [Serializable]
    public abstract class Effect
    {
        public int strength = 1;
    }

    [Serializable]
    public sealed class Burn : Effect
    {
        public float seconds = 2.5f;
    }

    [Serializable]
    public sealed class Freeze : Effect
    {
        public string note;

        public Freeze(string note) => this.note = note;
    }

    /// <summary>A type of the project that can be an asset.</summary>
    public sealed class LevelData : UnityEngine.ScriptableObject
    {
    }
}
