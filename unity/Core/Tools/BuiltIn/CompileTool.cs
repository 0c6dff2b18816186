#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="CompileTool"/>.</summary>
    internal sealed class CompileSchema : BaseToolSchema
    {
        /// <summary>Whether to compile everything, including unchanged assemblies.</summary>
        [Description("Compile everything, also what has not changed")]
        public bool ForceRecompile { get; set; }

        /// <summary>Whether to compile in play mode.</summary>
        [Description("Compile in play mode too, which Unity may answer by leaving it")]
        public bool AllowInPlayMode { get; set; }
    }

    /// <summary>A message of the compiler.</summary>
    internal sealed class CompileIssue
    {
        /// <summary>Text of the message.</summary>
        public string Message { get; set; } = "";

        /// <summary>The source file.</summary>
        public string File { get; set; } = "";

        /// <summary>The line in the file, from 1.</summary>
        public int Line { get; set; }

        /// <summary>The column in the line.</summary>
        public int Column { get; set; }
    }

    /// <summary>Result of <see cref="CompileTool"/>.</summary>
    internal sealed class CompileResponse : BaseToolResponse
    {
        /// <summary>
        /// Whether the compilation had no errors; null if that is unknown. False if the compilation was refused.
        /// </summary>
        public bool? Success { get; set; }

        /// <summary>Number of errors; null if unknown.</summary>
        public int? ErrorCount { get; set; }

        /// <summary>Number of warnings in the assemblies that this compilation compiled; null if unknown.</summary>
        public int? WarningCount { get; set; }

        /// <summary>The errors, at most <see cref="Limits.CompileIssues"/>.</summary>
        public IReadOnlyList<CompileIssue> Errors { get; set; } = Array.Empty<CompileIssue>();

        /// <summary>The warnings, as many as <see cref="Limits.CompileIssues"/> leaves room for.</summary>
        public IReadOnlyList<CompileIssue> Warnings { get; set; } = Array.Empty<CompileIssue>();

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Whether the end of the compilation was not observed, so that the numbers are unknown.</summary>
        public bool IsIndeterminate { get; set; }

        /// <summary>Whether nothing was compiled because nothing had changed.</summary>
        public bool UpToDate { get; set; }

        /// <summary>Whether the domain was reloaded during the call.</summary>
        public bool DomainReloaded { get; set; }

        /// <summary>The call's id; empty if the client gave none.</summary>
        public string RequestId { get; set; } = "";
    }

    /// <summary>
    /// Compiles the scripts. A successful compilation is followed by a domain reload, which interrupts this call. So the result
    /// is saved as soon as the compilation ends, and the call is answered after the reload.
    /// </summary>
    [McpTool(
        Description = "Takes in changed files, compiles the scripts, and answers with the compiler's errors and warnings. " +
            "The editor reloads its scripts after a success; the answer comes when that is done. " +
            "For scripts that use an API which Unity has renamed, Unity asks the user first",
        Title = "Compile", Destructive = false, Idempotent = true)]
    internal sealed class CompileTool : AbstractUnityTool<CompileSchema, CompileResponse>, IResumableTool
    {
        /// <inheritdoc/>
        public override string ToolName => "compile";

        /// <inheritdoc/>
        protected override async Task<CompileResponse> ExecuteAsync(CompileSchema parameters, IToolContext context)
        {
            ICompiler compiler = context.Get<ICompiler>();
            if (context.Get<IEditorState>().Read().IsPlaying && !parameters.AllowInPlayMode)
            {
                return Refused("The editor is in play mode; leave it first, or set AllowInPlayMode", context);
            }
            if (context.Get<IEditorState>().Read().IsPlaying && compiler.WaitsForPlayMode)
            {
                return Refused("The editor is in play mode, and its preferences say that scripts are compiled after playing; " +
                    "leave play mode first", context);
            }
            // A compilation that is already running does not include files that were saved after it began. So wait for its end
            // first.
            context.KeepAcrossReload(new JObject { ["phase"] = "waiting", ["force"] = parameters.ForceRecompile });
            if (!await Quiet(compiler, context)) return CompileReport.Held(context);
            return await Compile(compiler, parameters.ForceRecompile, context);
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            ICompiler compiler = context.Get<ICompiler>();
            bool quiet = await Quiet(compiler, context);
            // The reload followed an earlier compilation. This call has not requested its own compilation yet.
            if ((string?)kept["phase"] == "waiting")
            {
                return quiet ? await Compile(compiler, (bool)kept["force"]!, context) : CompileReport.Held(context);
            }
            if (kept["result"] is not JObject result) return CompileReport.Unknown(context, true, compiler.HasErrors);
            var response = (CompileResponse)Json.To(result, typeof(CompileResponse))!;
            response.DomainReloaded = true;
            return response;
        }

        // Returns false if a reload is held back, so that no other compilation can begin.
        private static async Task<bool> Quiet(ICompiler compiler, IToolContext context)
        {
            var patience = new ReloadPatience(compiler);
            while (compiler.IsCompiling)
            {
                if (patience.IsOver) return false;
                await context.MainThread.Frames(1, context.Cancellation);
            }
            return true;
        }

        private static async Task<CompileResponse> Compile(ICompiler compiler, bool force, IToolContext context)
        {
            bool resumable = context.KeepAcrossReload(new JObject { ["phase"] = "asked" });
            using var run = new CompilationRun(compiler, context, resumable);
            compiler.Refresh();
            if (force) compiler.Request(true);
            if (!await run.Begins())
            {
                if (compiler.IsCompiling) return CompileReport.Held(context);
                if (!compiler.HasErrors) return CompileReport.UpToDate(context);
                // Nothing has changed, but the last compilation failed and its errors must be reported. So compile again.
                compiler.Request(false);
                if (!await run.Begins()) return CompileReport.Unknown(context, false, compiler.HasErrors);
            }
            context.ReportProgress(1, null, "compiling");
            CompileResponse response = await run.Response;
            if (response.Success != true || !resumable) return response;
            context.ReportProgress(2, null, "reloading");
            if (await run.IsReloadHeld()) response.Message += "; " + CompileReport.HeldBack;
            return response;
        }

        private static CompileResponse Refused(string why, IToolContext context) => new()
        {
            Success = false, Message = why, IsIndeterminate = true, RequestId = context.CallId ?? ""
        };
    }

    /// <summary>Makes the result of a compilation.</summary>
    internal static class CompileReport
    {
        public const string HeldBack = "the reload of the scripts is held back by something else, such as a tool that locks it or " +
            "play mode, so the old code still runs";

        public static CompileResponse Held(IToolContext context) => new()
        {
            IsIndeterminate = true, RequestId = context.CallId ?? "",
            Message = "Unity says that it compiles, but no compilation runs: " + HeldBack
        };

        public static CompileResponse Of(IReadOnlyList<CompilerNote> notes, IToolContext context)
        {
            List<CompilerNote> errors = notes.Where(n => n.IsError).ToList(), warnings = notes.Where(n => !n.IsError).ToList();
            bool success = errors.Count == 0;
            int left = Limits.CompileIssues - Math.Min(Limits.CompileIssues, errors.Count);
            string cut = notes.Count > Limits.CompileIssues ? $"; the first {Limits.CompileIssues} are listed" : "";
            return new CompileResponse
            {
                Success = success,
                ErrorCount = errors.Count,
                WarningCount = warnings.Count,
                Errors = errors.Take(Limits.CompileIssues).Select(Issue).ToList(),
                Warnings = warnings.Take(left).Select(Issue).ToList(),
                Message = (success ? "The scripts compile" : "The scripts do not compile") +
                    $": {errors.Count} errors, {warnings.Count} warnings of what was compiled now{cut}",
                RequestId = context.CallId ?? ""
            };
        }

        public static CompileResponse UpToDate(IToolContext context) => new()
        {
            Success = true, ErrorCount = 0, WarningCount = 0, UpToDate = true, RequestId = context.CallId ?? "",
            Message = "Nothing has changed since the last compilation, which succeeded; ForceRecompile compiles all the same"
        };

        public static CompileResponse Unknown(IToolContext context, bool reloaded, bool hasErrors) => new()
        {
            Success = hasErrors ? false : null, IsIndeterminate = true, DomainReloaded = reloaded, RequestId = context.CallId ?? "",
            Message = hasErrors
                ? "The scripts do not compile; the compiler's messages were not seen, get-logs has them"
                : (reloaded ? "The editor reloaded before the end of the compilation was seen" : "No compilation was seen to begin") +
                    "; the editor has no compile errors now"
        };

        private static CompileIssue Issue(CompilerNote note) => new()
        {
            Message = note.Message, File = note.File, Line = note.Line, Column = note.Column
        };
    }

    /// <summary>Listens to one compilation.</summary>
    internal sealed class CompilationRun : UnityEventJob<CompileResponse>, ICompilationListener
    {
        private readonly ICompiler compiler;
        private readonly bool keep;
        private readonly List<CompilerNote> notes = new();
        private bool started;

        public CompilationRun(ICompiler compiler, IToolContext context, bool keep) : base(context)
        {
            this.compiler = compiler;
            this.keep = keep;
            Begin(compiler.Listen(this));
        }

        public void Started()
        {
            notes.Clear();
            started = true;
        }

        public void AssemblyFinished(string assemblyPath, IReadOnlyList<CompilerNote> found)
        {
            notes.AddRange(found);
        }

        public void Finished()
        {
            if (!started || Response.IsCompleted) return;
            CompileResponse told = CompileReport.Of(notes, Context);
            if (keep && told.Success == true)
            {
                Context.KeepAcrossReload(new JObject { ["phase"] = "finished", ["result"] = Json.Token(told) });
            }
            End(told);
        }

        /// <summary>
        /// Waits up to <see cref="Limits.CompileSettle"/> frames for a compilation to begin. Returns false if none began.
        /// </summary>
        public async Task<bool> Begins()
        {
            var patience = new ReloadPatience(compiler);
            for (int frame = 0; frame < Limits.CompileSettle; frame++)
            {
                if (started) return true;
                await Context.MainThread.Frames(1, Context.Cancellation);
                // A compilation was requested and is about to begin. So count the frames from the start again.
                if (compiler.IsCompiling && !patience.IsOver) frame = -1;
            }
            return started;
        }

        /// <summary>
        /// Waits for the reload that interrupts this call. Returns false if none comes within <see
        /// cref="Limits.ReloadAfterCompile"/>, and true if it is held back.
        /// </summary>
        public async Task<bool> IsReloadHeld()
        {
            await Context.MainThread.Switch(Context.Cancellation);
            var watch = Stopwatch.StartNew();
            var patience = new ReloadPatience(compiler);
            while (compiler.IsCompiling || watch.ElapsedMilliseconds < Limits.ReloadAfterCompile)
            {
                if (compiler.IsCompiling && patience.IsOver) return true;
                await Context.MainThread.Frames(1, Context.Cancellation);
            }
            return false;
        }
    }

    /// <summary>Tells when Unity has said for too long that it compiles while no compilation runs.</summary>
    internal sealed class ReloadPatience
    {
        private readonly ICompiler compiler;
        private readonly Stopwatch alone = Stopwatch.StartNew();
        private int frames;

        public ReloadPatience(ICompiler compiler) => this.compiler = compiler;

        /// <summary>
        /// Whether it is time to give up; asked once in each frame. A single long frame does not count, since the reload may
        /// follow it.
        /// </summary>
        public bool IsOver
        {
            get
            {
                if (compiler.IsRunning || !compiler.IsCompiling)
                {
                    alone.Restart();
                    frames = 0;
                }
                return ++frames > Limits.CompileSettle && alone.ElapsedMilliseconds >= Limits.ReloadHeld;
            }
        }
    }
}
