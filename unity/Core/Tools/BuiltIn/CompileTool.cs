#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="CompileTool"/>.</summary>
    public sealed class CompileSchema : BaseToolSchema
    {
        /// <summary>Whether to compile everything, including unchanged assemblies.</summary>
        [Description("Compile everything, also what has not changed")]
        public bool ForceRecompile { get; set; }

        /// <summary>Whether to compile in play mode.</summary>
        [Description("Compile in play mode too, which Unity may answer by leaving it")]
        public bool AllowInPlayMode { get; set; }
    }

    /// <summary>A message of the compiler.</summary>
    public sealed class CompileIssue
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
    public sealed class CompileResponse : BaseToolResponse
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
            "The editor reloads its scripts after a success; the answer comes when that is done",
        Title = "Compile", Destructive = false, Idempotent = true)]
    public sealed class CompileTool : AbstractUnityTool<CompileSchema, CompileResponse>, IResumableTool
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
            // A compilation that is already running does not include files that were saved after it began. So wait for its end
            // first.
            context.KeepAcrossReload(new JObject { ["phase"] = "waiting", ["force"] = parameters.ForceRecompile });
            await Quiet(compiler, context);
            return await Compile(compiler, parameters.ForceRecompile, context);
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            ICompiler compiler = context.Get<ICompiler>();
            await Quiet(compiler, context);
            // The reload followed an earlier compilation. This call has not requested its own compilation yet.
            if ((string?)kept["phase"] == "waiting") return await Compile(compiler, (bool)kept["force"]!, context);
            if (kept["result"] is not JObject result) return CompileReport.Unknown(context, true, compiler.HasErrors);
            var response = (CompileResponse)Json.To(result, typeof(CompileResponse))!;
            response.DomainReloaded = true;
            return response;
        }

        private static async Task Quiet(ICompiler compiler, IToolContext context)
        {
            while (compiler.IsCompiling) await context.MainThread.Frames(1, context.Cancellation);
        }

        private static async Task<CompileResponse> Compile(ICompiler compiler, bool force, IToolContext context)
        {
            bool resumable = context.KeepAcrossReload(new JObject { ["phase"] = "asked" });
            using var run = new CompilationRun(compiler, context, resumable);
            compiler.Refresh();
            if (force) compiler.Request(true);
            if (!await run.Begins())
            {
                if (!compiler.HasErrors) return CompileReport.UpToDate(context);
                // Nothing has changed, but the last compilation failed and its errors must be reported. So compile again.
                compiler.Request(false);
                if (!await run.Begins()) return CompileReport.Unknown(context, false, compiler.HasErrors);
            }
            context.ReportProgress(1, null, "compiling");
            CompileResponse response = await run.Response;
            if (response.Success != true || !resumable) return response;
            context.ReportProgress(2, null, "reloading");
            await run.AwaitReload();
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

    /// <summary>
    /// Listens to one compilation. It unsubscribes when the compilation ends, when it is disposed, and when the call is
    /// cancelled. A domain reload cancels the call too, so nothing of the old domain stays subscribed.
    /// </summary>
    internal sealed class CompilationRun : ICompilationListener, IDisposable
    {
        private readonly ICompiler compiler;
        private readonly IToolContext context;
        private readonly bool keep;
        private readonly List<CompilerNote> notes = new();
        private readonly TaskCompletionSource<CompileResponse> response = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly IDisposable subscription;
        private readonly CancellationTokenRegistration registration;
        private bool started;
        private bool listening = true;

        public CompilationRun(ICompiler compiler, IToolContext context, bool keep)
        {
            this.compiler = compiler;
            this.context = context;
            this.keep = keep;
            subscription = compiler.Listen(this);
            registration = context.Cancellation.Register(Cancelled);
        }

        /// <summary>The result of the compilation. The task is cancelled if the call is cancelled.</summary>
        public Task<CompileResponse> Response => response.Task;

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
            if (!started || response.Task.IsCompleted) return;
            // The result is saved here, on the main thread, and not by the code that awaits it, since a reload may follow at
            // once.
            StopListening();
            CompileResponse told = CompileReport.Of(notes, context);
            if (keep && told.Success == true)
            {
                context.KeepAcrossReload(new JObject { ["phase"] = "finished", ["result"] = Json.Token(told) });
            }
            response.TrySetResult(told);
        }

        /// <summary>
        /// Waits up to <see cref="Limits.CompileSettle"/> frames for a compilation to begin. Returns false if none began.
        /// </summary>
        public async Task<bool> Begins()
        {
            for (int frame = 0; frame < Limits.CompileSettle; frame++)
            {
                if (started) return true;
                await context.MainThread.Frames(1, context.Cancellation);
                // A compilation was requested and is about to begin. So count the frames from the start again.
                if (compiler.IsCompiling) frame = -1;
            }
            return started;
        }

        /// <summary>
        /// Waits for the reload that interrupts this call. Returns if none comes within <see cref="Limits.ReloadAfterCompile"/>.
        /// </summary>
        public async Task AwaitReload()
        {
            await context.MainThread.Switch(context.Cancellation);
            var watch = System.Diagnostics.Stopwatch.StartNew();
            while (compiler.IsCompiling || watch.ElapsedMilliseconds < Limits.ReloadAfterCompile)
            {
                await context.MainThread.Frames(1, context.Cancellation);
            }
        }

        public void Dispose()
        {
            registration.Dispose();
            StopListening();
        }

        private void Cancelled()
        {
            response.TrySetCanceled();
            StopListening();
        }

        // Unity's events may be used on the main thread only. A reload cancels the call on that thread; a caller cancels it on
        // another.
        private void StopListening()
        {
            if (!context.MainThread.IsCurrent)
            {
                context.MainThread.PostCleanup(StopListening);
                return;
            }
            if (!listening) return;
            listening = false;
            subscription.Dispose();
        }
    }
}
