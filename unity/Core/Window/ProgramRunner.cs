#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.IO;
using System.Text;
using System.Threading;

namespace Holdfast
{
    /// <summary>A program to run.</summary>
    /// <param name="Program">The program's full path.</param>
    /// <param name="Arguments">The arguments: words without blanks, quotes, or characters that a shell interprets.</param>
    /// <param name="Folder">The working directory.</param>
    internal sealed record ProgramCall(string Program, string Arguments, string Folder)
    {
        private static readonly Dictionary<string, string> Nothing = new();

        /// <summary>Variables of its environment, beside those of this process.</summary>
        public IReadOnlyDictionary<string, string> Environment { get; init; } = Nothing;
    }

    /// <summary>Result of a run.</summary>
    /// <param name="ExitCode">The exit code. Has no meaning if <paramref name="Failure"/> is set.</param>
    /// <param name="Output">What the program wrote to stdout.</param>
    /// <param name="Errors">What the program wrote to stderr.</param>
    /// <param name="Failure">Why the result cannot be used: the program was not started, was ended by us, or wrote too much. Null
    /// if it can be used.</param>
    internal sealed record ProgramResult(int ExitCode, string Output, string Errors, string? Failure)
    {
        /// <summary>The result if there was no program to run.</summary>
        public static readonly ProgramResult Nothing = new(-1, "", "", "There is nothing to be run.");
    }

    /// <summary>
    /// A running program. Dispose ends it and waits for its end, normally for at most <see cref="Limits.Join"/>.
    /// </summary>
    internal interface IProgramRun : IDisposable
    {
        /// <summary>The result; null while the program runs.</summary>
        ProgramResult? Result { get; }
    }

    /// <summary>Runs programs without blocking the main thread.</summary>
    internal interface IProgramRunner
    {
        /// <summary>Starts a program and returns at once.</summary>
        /// <param name="find">Returns the program to run. It is called on another thread, since a folder of PATH may be on a
        /// machine that does not answer. If it returns null, the result is <see cref="ProgramResult.Nothing"/>.</param>
        IProgramRun Start(Func<ProgramCall?> find);
    }

    /// <summary>Runs programs as processes, with limits on time and output. A domain reload ends the processes.</summary>
    internal sealed class ProgramRunner : IProgramRunner
    {
        private readonly IEditorLog log;
        private readonly int timeout;
        private readonly int most;
        private readonly int join;

        /// <param name="log">Receives a warning if a program cannot be ended.</param>
        /// <param name="timeout">Time limit of a run in milliseconds.</param>
        /// <param name="most">Maximum characters for each of the two outputs.</param>
        /// <param name="join">Milliseconds to wait for the end of a run. Tests of processes that are left over use a longer
        /// time.</param>
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
                // Done on another thread, since starting takes long if a virus scanner checks the program first.
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
                    // The program has ended, so only a process that it started can still have the pipe open.
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
                    // Further output is read and dropped, so that the program does not block while it writes.
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
                    // The program had ended already.
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
                foreach (KeyValuePair<string, string> variable in call.Environment) info.EnvironmentVariables[variable.Key] = variable.Value;
                return info;
            }

            private static ProgramResult Failed(string why) => new(-1, "", "", why);
        }
    }
}
