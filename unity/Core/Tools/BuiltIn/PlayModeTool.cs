#nullable enable
using System.ComponentModel;
using System.Diagnostics;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>What <see cref="PlayModeTool"/> does.</summary>
    internal enum PlayModeAction
    {
        /// <summary>Enters play mode.</summary>
        Enter,

        /// <summary>Leaves play mode.</summary>
        Exit,

        /// <summary>Pauses the game.</summary>
        Pause,

        /// <summary>Lets a paused game go on.</summary>
        Resume,

        /// <summary>Runs one frame of the game, and pauses it.</summary>
        Step
    }

    /// <summary>Parameters of <see cref="PlayModeTool"/>.</summary>
    internal sealed class PlayModeSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Enter, Exit, Pause, Resume, or Step (one frame, then paused)")]
        public PlayModeAction Action { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never. Entering play mode of a large project takes a minute and more")]
        public override int TimeoutSeconds { get; set; } = 180;
    }

    /// <summary>Result of <see cref="PlayModeTool"/>.</summary>
    internal sealed class PlayModeResponse : BaseToolResponse
    {
        /// <summary>Whether the editor is in the state that was asked for.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Whether the editor is in play mode now.</summary>
        public bool IsPlaying { get; set; }

        /// <summary>Whether the game is paused now.</summary>
        public bool IsPaused { get; set; }

        /// <summary>Whether the domain was reloaded during the call, as Unity does by default when it enters play mode.</summary>
        public bool DomainReloaded { get; set; }
    }

    /// <summary>
    /// Enters and leaves play mode. Unity usually reloads the domain when it enters play mode, which interrupts this call; then the
    /// next domain waits for play mode and answers.
    /// </summary>
    [McpTool(
        Description = "Enters or leaves play mode, pauses, resumes or steps the game. Answers when the editor has done it, also over the " +
            "domain reload. Example: {\"Action\": \"Enter\"}",
        Title = "Play mode", Destructive = false, Idempotent = false)]
    internal sealed class PlayModeTool : AbstractUnityTool<PlayModeSchema, PlayModeResponse>, IResumableTool
    {
        /// <inheritdoc/>
        public override string ToolName => "play-mode";

        /// <inheritdoc/>
        protected override async Task<PlayModeResponse> ExecuteAsync(PlayModeSchema parameters, IToolContext context)
        {
            IPlayMode mode = context.Get<IPlayMode>();
            switch (parameters.Action)
            {
                case PlayModeAction.Enter:
                case PlayModeAction.Exit:
                    return await Change(parameters.Action == PlayModeAction.Enter, mode, context);
                case PlayModeAction.Step when mode.IsPlaying:
                    mode.Step();
                    // The frame is run after this one.
                    await context.MainThread.Frames(1, context.Cancellation);
                    return mode.IsPlaying && mode.IsPaused
                        ? State(mode, true, "One frame of the game was run, and it is paused")
                        : State(mode, false, "The game did not stay paused after the frame; it may have left play mode");
                case PlayModeAction.Pause or PlayModeAction.Resume when mode.IsPlaying:
                    bool pause = parameters.Action == PlayModeAction.Pause;
                    mode.IsPaused = pause;
                    await context.MainThread.Frames(1, context.Cancellation);
                    return State(mode, mode.IsPaused == pause, mode.IsPaused ? "The game is paused" : "The game is not paused");
                default:
                    return State(mode, false, "The editor is not in play mode; enter it first");
            }
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            PlayModeResponse response = await Await((bool)kept["enter"]!, context.Get<IPlayMode>(), context);
            response.DomainReloaded = true;
            return response;
        }

        private static async Task<PlayModeResponse> Change(bool enter, IPlayMode mode, IToolContext context)
        {
            if (mode.IsPlaying == enter && mode.WillPlay == enter)
            {
                return State(mode, true, enter ? "The editor is in play mode already" : "The editor is not in play mode");
            }
            if (enter && Obstacle(context.Get<IEditorState>().Read()) is { } obstacle) return State(mode, false, obstacle);
            if (enter && context.Get<IScenes>().HasDirtyPrefab) return State(mode, false, SceneTool.UnsavedPrefab);
            context.KeepAcrossReload(new JObject { ["enter"] = enter });
            if (enter) mode.Enter();
            else mode.Exit();
            return await Await(enter, mode, context);
        }

        // Unity would not enter play mode, and tell the reason only in a message on the screen.
        private static string? Obstacle(EditorSnapshot now) =>
            now.HasCompileErrors ? "The scripts do not compile, so Unity does not enter play mode; compile tells the errors"
            : now.IsCompiling ? "Unity is compiling; call again when it has ended"
            : now.IsUpdating ? "Unity is importing assets; call again when it has ended"
            : null;

        private static async Task<PlayModeResponse> Await(bool enter, IPlayMode mode, IToolContext context)
        {
            var settled = Stopwatch.StartNew();
            int frames = 0;
            while (mode.IsPlaying != enter || mode.WillPlay != enter)
            {
                bool changing = mode.IsPlaying != mode.WillPlay;
                if (changing)
                {
                    settled.Restart();
                    frames = 0;
                }
                else if (++frames > Limits.PlayModeFrames && settled.ElapsedMilliseconds >= Limits.PlayModeSettle)
                {
                    return State(mode, false, enter
                        ? "Unity did not enter play mode, or left it at once; get-logs may tell why"
                        : "Unity did not leave play mode, or entered it again; get-logs may tell why");
                }
                await context.MainThread.Frames(1, context.Cancellation);
            }
            return State(mode, true, enter ? "The editor is in play mode" : "The editor has left play mode");
        }

        private static PlayModeResponse State(IPlayMode mode, bool success, string message) => new()
        {
            Success = success, Message = message, IsPlaying = mode.IsPlaying, IsPaused = mode.IsPaused
        };
    }
}
