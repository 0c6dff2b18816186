#nullable enable
using System;
using System.ComponentModel;
using System.Diagnostics;
using System.IO;
using System.Text;
using System.Threading;

namespace Holdfast
{
    /// <summary>A program to be run.</summary>
    /// <param name="Program">Its full path.</param>
    /// <param name="Arguments">Its arguments: words without blanks, quotes, or anything that a shell would read.</param>
    /// <param name="Folder">Its working directory.</param>
    public sealed record ProgramCall(string Program, string Arguments, string Folder);

    /// <summary>How it ended.</summary>
    /// <param name="ExitCode">Its exit code; of no meaning with a failure.</param>
    /// <param name="Output">What it wrote.</param>
    /// <param name="Errors">What it wrote to its error output.</param>
    /// <param name="Failure">Why it has no ending of its own, as a sentence; null if it has.</param>
    public sealed record ProgramResult(int ExitCode, string Output, string Errors, string? Failure)
    {
        /// <summary>There was nothing to be run.</summary>
        public static readonly ProgramResult Nothing = new(-1, "", "", "There is nothing to be run.");
    }

    /// <summary>A program that runs. Disposing ends it, and waits for that, at most <see cref="Limits.Join"/>.</summary>
    public interface IProgramRun : IDisposable
    {
        /// <summary>How it ended; null while it has not.</summary>
        ProgramResult? Result { get; }
    }

    /// <summary>Runs programs beside the main thread.</summary>
    public interface IProgramRunner
    {
        /// <summary>Starts one; returns at once.</summary>
        /// <param name="find">Says what to run; asked beside the main thread, since a folder of PATH may be one of a machine
        /// that does not answer. Null ends the run with <see cref="ProgramResult.Nothing"/>.</param>
        IProgramRun Start(Func<ProgramCall?> find);
    }

    /// <summary>Runs them as processes of the system: bounded in time and output, and ended before a reload.</summary>
    public sealed class ProgramRunner : IProgramRunner
    {
        private readonly IEditorLog log;
        private readonly int timeout;
        private readonly int most;
        private readonly int join;

        /// <param name="log">For what should not happen.</param>
        /// <param name="timeout">Milliseconds that a run may take.</param>
        /// <param name="most">Characters that it may write to each output.</param>
        /// <param name="join">Milliseconds that its end may take: tests of what it leaves have more of it.</param>
        public ProgramRunner(IEditorLog log, int timeout = Limits.ProgramTime, int most = Limits.ProgramOutput, int join = Limits.Join)
        {
            this.log = log;
            this.timeout = timeout;
            this.most = most;
            this.join = join;
        }

        /// <inheritdoc/>
        public IProgramRun Start(Func<ProgramCall?> find) => new Run(find, log, timeout, most, join);

        private sealed class Run : IProgramRun
        {
            private readonly IEditorLog log;
            private readonly ThreadGroup threads;
            private readonly int timeout;
            private readonly int most;
            private readonly int join;
            private volatile ProgramResult? result;
            private volatile bool ended;
            private volatile bool tooMuch;

            public Run(Func<ProgramCall?> find, IEditorLog log, int timeout, int most, int join)
            {
                this.log = log;
                this.timeout = timeout;
                this.most = most;
                this.join = join;
                threads = new ThreadGroup(log);
                // Starting one takes long where a virus scanner looks at it first.
                threads.Start("program", () => result = find() is { } call && !ended ? Execute(call) : ProgramResult.Nothing);
            }

            public ProgramResult? Result => result;

            public void Dispose()
            {
                ended = true;
                if (threads.Join(join).Count > 0) log.Warn("A program could not be ended in time");
            }

            private ProgramResult Execute(ProgramCall call)
            {
                using var process = new Process { StartInfo = StartInfo(call) };
                try
                {
                    process.Start();
                }
                catch (Exception e) when (e is Win32Exception or InvalidOperationException or IOException)
                {
                    return Failed($"{call.Program} could not be started: {e.Message}");
                }
                process.StandardInput.Close();
                StringBuilder output = new(), errors = new();
                Thread[] readers =
                {
                    threads.Start("program's output", () => ReadAll(process.StandardOutput, output)),
                    threads.Start("program's errors", () => ReadAll(process.StandardError, errors))
                };
                string? failure = Await(process, call.Program);
                foreach (Thread reader in readers)
                {
                    // Only a program that it started itself can hold the pipe open now.
                    if (!reader.Join(join)) failure ??= $"{call.Program} ended, and something that it started did not.";
                }
                if (failure != null) return Failed(failure);
                return new ProgramResult(process.ExitCode, output.ToString(), errors.ToString(), null);
            }

            private string? Await(Process process, string program)
            {
                Stopwatch watch = Stopwatch.StartNew();
                while (!process.WaitForExit(Limits.ProgramWatch))
                {
                    string? why = ended ? "was ended"
                        : tooMuch ? $"wrote more than {most} characters and was ended"
                        : watch.ElapsedMilliseconds > timeout ? $"did not end within {timeout / 1000.0:0.#} s and was ended"
                        : null;
                    if (why == null) continue;
                    Kill(process);
                    process.WaitForExit(join);
                    return $"{program} {why}. What it was asked to do may be done or not: look again.";
                }
                return tooMuch ? $"{program} wrote more than {most} characters. What it was asked to do is done." : null;
            }

            private void ReadAll(StreamReader from, StringBuilder text)
            {
                var some = new char[4096];
                for (int count; (count = from.Read(some, 0, some.Length)) > 0;)
                {
                    // Read on, so that it does not wait for us for ever.
                    if (text.Length + count > most) tooMuch = true;
                    else text.Append(some, 0, count);
                }
            }

            private static void Kill(Process process)
            {
                try
                {
                    process.Kill();
                }
                catch (Exception e) when (e is InvalidOperationException or Win32Exception)
                {
                    // It was faster.
                }
            }

            private static ProcessStartInfo StartInfo(ProgramCall call)
            {
                var info = new ProcessStartInfo(call.Program, call.Arguments)
                {
                    WorkingDirectory = call.Folder,
                    UseShellExecute = false,
                    CreateNoWindow = true,
                    RedirectStandardInput = true,
                    RedirectStandardOutput = true,
                    RedirectStandardError = true,
                    StandardOutputEncoding = Json.Utf8,
                    StandardErrorEncoding = Json.Utf8
                };
                info.EnvironmentVariables["NO_COLOR"] = "1";
                return info;
            }

            private static ProgramResult Failed(string why) => new(-1, "", "", why);
        }
    }
}
