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
        /// <summary>All of it.</summary>
        [Description("Compile everything, also what has not changed")]
        public bool ForceRecompile { get; set; }

        /// <summary>In play mode too.</summary>
        [Description("Compile in play mode too, which Unity may answer by leaving it")]
        public bool AllowInPlayMode { get; set; }
    }

    /// <summary>A message of the compiler.</summary>
    public sealed class CompileIssue
    {
        /// <summary>Its text.</summary>
        public string Message { get; set; } = "";

        /// <summary>The file.</summary>
        public string File { get; set; } = "";

        /// <summary>The line, from 1.</summary>
        public int Line { get; set; }

        /// <summary>The column.</summary>
        public int Column { get; set; }
    }

    /// <summary>Result of <see cref="CompileTool"/>.</summary>
    public sealed class CompileResponse : BaseToolResponse
    {
        /// <summary>There are no errors; null if that is not known.</summary>
        public bool? Success { get; set; }

        /// <summary>How many errors; null if that is not known.</summary>
        public int? ErrorCount { get; set; }

        /// <summary>How many warnings, of the assemblies that were compiled now; null if that is not known.</summary>
        public int? WarningCount { get; set; }

        /// <summary>The errors.</summary>
        public IReadOnlyList<CompileIssue> Errors { get; set; } = Array.Empty<CompileIssue>();

        /// <summary>The warnings.</summary>
        public IReadOnlyList<CompileIssue> Warnings { get; set; } = Array.Empty<CompileIssue>();

        /// <summary>A sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The compilation was not seen to its end, so the counts say nothing.</summary>
        public bool IsIndeterminate { get; set; }

        /// <summary>Nothing had changed, so nothing was compiled.</summary>
        public bool UpToDate { get; set; }

        /// <summary>The new code has been loaded since.</summary>
        public bool DomainReloaded { get; set; }

        /// <summary>The call's id; empty if it has none.</summary>
        public string RequestId { get; set; } = "";
    }

    /// <summary>
    /// Compiles. A compilation that succeeds is followed by a reload, which cuts this very call: what the compiler said is
    /// kept in the moment in which it ends, and answered after the reload.
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
            // One that runs already knows nothing of files that were saved after it began.
            context.KeepAcrossReload(new JObject { ["phase"] = "waiting", ["force"] = parameters.ForceRecompile });
            await Quiet(compiler, context);
            return await Compile(compiler, parameters.ForceRecompile, context);
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            ICompiler compiler = context.Get<ICompiler>();
            await Quiet(compiler, context);
            // The reload was that of the compilation before ours, which has not been asked for.
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
                // Nothing is new, and the errors are to be told all the same.
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

    /// <summary>What is answered of a compilation.</summary>
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
                : "The editor reloaded before the end of the compilation was seen; it has no compile errors now"
        };

        private static CompileIssue Issue(CompilerNote note) => new()
        {
            Message = note.Message, File = note.File, Line = note.Line, Column = note.Column
        };
    }

    /// <summary>
    /// One compilation, listened to. It stops listening when it ends, when it is disposed, and when the call is cancelled,
    /// which a reload does too: nothing of the old domain may stay subscribed.
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

        /// <summary>What it came to; cancelled with the call.</summary>
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
            // Told here, on the main thread, and not by whoever awaits it: the reload may be next. It has heard all it wants, too.
            StopListening();
            CompileResponse told = CompileReport.Of(notes, context);
            if (keep && told.Success == true)
            {
                context.KeepAcrossReload(new JObject { ["phase"] = "finished", ["result"] = Json.Token(told) });
            }
            response.TrySetResult(told);
        }

        /// <summary>Does a compilation begin? Waits some frames.</summary>
        public async Task<bool> Begins()
        {
            for (int frame = 0; frame < Limits.CompileSettle; frame++)
            {
                if (started) return true;
                await context.MainThread.Frames(1, context.Cancellation);
                // It has been asked for, and its beginning takes time.
                if (compiler.IsCompiling) frame = -1;
            }
            return started;
        }

        /// <summary>Waits for the reload that cuts this call, or for a sign that there is none.</summary>
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

        // Unity's events are for the main thread. A reload cancels there; a caller does not.
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
