#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class ModelCompiler : ICompiler
    {
        private readonly List<ICompilationListener> listeners = new();

        public bool IsCompiling { get; set; }

        public bool IsRunning { get; set; }

        public bool WaitsForPlayMode { get; set; }

        public bool HasErrors { get; set; }

        public Action? OnRefresh { get; set; }

        public Action<bool>? OnRequest { get; set; }

        public List<string> Asked { get; } = new();

        public int Listening => listeners.Count;

        public void Refresh()
        {
            Asked.Add("refresh");
            OnRefresh?.Invoke();
        }

        public void Request(bool clean)
        {
            Asked.Add(clean ? "clean" : "request");
            OnRequest?.Invoke(clean);
        }

        public IDisposable Listen(ICompilationListener listener)
        {
            listeners.Add(listener);
            return new Ending(() => listeners.Remove(listener));
        }

        public void Begin()
        {
            IsCompiling = IsRunning = true;
            foreach (ICompilationListener one in listeners.ToArray()) one.Started();
        }

        public void End(params CompilerNote[] notes)
        {
            foreach (ICompilationListener one in listeners.ToArray())
            {
                one.AssemblyFinished("Game.dll", notes);
                one.Finished();
            }
            HasErrors = notes.Any(n => n.IsError);
            IsCompiling = IsRunning = false;
        }

        private sealed class Ending : IDisposable
        {
            private readonly Action end;

            public Ending(Action end) => this.end = end;

            public void Dispose() => end();
        }
    }

    public sealed class CompileToolTests
    {
        private static readonly CompilerNote Error = new(true, "CS1002", "Assets/A.cs", 3, 5);
        private static readonly CompilerNote Warning = new(false, "CS0168", "Assets/B.cs", 4, 1);

        private ToolBench bench = null!;
        private ModelCompiler compiler = null!;

        [SetUp]
        public void SetUp()
        {
            compiler = new ModelCompiler();
            bench = new ToolBench().With<ICompiler>(compiler);
        }

        [TearDown]
        public void TearDown()
        {
            bench.Dispose();
            Assert.That(compiler.Listening, Is.Zero, "the tool still listens");
        }

        [Test]
        public void Errors_are_answered_with_their_places()
        {
            compiler.OnRefresh = () =>
            {
                compiler.Begin();
                compiler.End(Warning, Error);
            };
            JToken got = bench.Run(new CompileTool(), new { });
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That((int)got["ErrorCount"]!, Is.EqualTo(1));
            Assert.That((int)got["WarningCount"]!, Is.EqualTo(1));
            Assert.That((string)got["Errors"]![0]!["File"]!, Is.EqualTo("Assets/A.cs"));
            Assert.That((int)got["Errors"]![0]!["Line"]!, Is.EqualTo(3));
            Assert.That((string)got["RequestId"]!, Is.EqualTo("call-1"));
            Assert.That((bool)got["DomainReloaded"]!, Is.False);
        }

        [Test]
        public void What_the_compiler_said_is_kept_before_the_reload_and_answered_after_it()
        {
            compiler.OnRefresh = compiler.Begin;
            Task<object?> cut = bench.Start(new CompileTool(), new { });
            bench.Frame();
            bench.Frame();
            compiler.End(Warning);
            // The reload follows in the same turn of the main loop, before another frame runs.
            Assert.That(compiler.Listening, Is.Zero, "nothing of the old domain may stay subscribed");
            bench.Cancel();
            Assert.That(cut.IsCompleted && !cut.IsCanceled && !cut.IsFaulted, Is.False);

            using var next = new ToolBench();
            next.With<ICompiler>(compiler);
            JToken got = next.Finish(next.Resume(new CompileTool(), bench.Kept.Last()));
            Assert.That((bool)got["Success"]!);
            Assert.That((bool)got["DomainReloaded"]!);
            Assert.That((int)got["WarningCount"]!, Is.EqualTo(1));
            Assert.That((string)got["Warnings"]![0]!["Message"]!, Is.EqualTo("CS0168"));
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh" }), "it was compiled again");
        }

        [Test]
        public void Nothing_to_compile_is_up_to_date()
        {
            JToken got = bench.Run(new CompileTool(), new { });
            Assert.That((bool)got["Success"]! && (bool)got["UpToDate"]!);
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh" }));
        }

        [Test]
        public void Old_errors_are_told_again()
        {
            compiler.HasErrors = true;
            compiler.OnRequest = _ =>
            {
                compiler.Begin();
                compiler.End(Error);
            };
            JToken got = bench.Run(new CompileTool(), new { });
            Assert.That((int)got["ErrorCount"]!, Is.EqualTo(1));
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh", "request" }));
        }

        [Test]
        public void A_compilation_that_never_began_is_not_called_a_reload()
        {
            compiler.HasErrors = true;
            compiler.OnRequest = _ => compiler.HasErrors = false;
            JToken got = bench.Run(new CompileTool(), new { });
            Assert.That((bool)got["IsIndeterminate"]!);
            Assert.That((bool)got["DomainReloaded"]!, Is.False);
            Assert.That((string)got["Message"]!, Does.Not.Contain("reload"));
        }

        [Test]
        public void A_forced_compilation_is_clean()
        {
            compiler.OnRequest = _ =>
            {
                compiler.Begin();
                compiler.End(Error);
            };
            bench.Run(new CompileTool(), new { ForceRecompile = true });
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh", "clean" }));
        }

        [Test]
        public void Play_mode_is_left_alone_unless_asked()
        {
            bench.Snapshot = new EditorSnapshot { IsPlaying = true };
            JToken got = bench.Run(new CompileTool(), new { });
            Assert.That((bool)got["Success"]!, Is.False);
            Assert.That(compiler.Asked, Is.Empty);
            bench.Run(new CompileTool(), new { AllowInPlayMode = true });
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh" }));
            // The user wants scripts to be compiled after playing. Unity would not begin before.
            compiler.WaitsForPlayMode = true;
            got = bench.Run(new CompileTool(), new { AllowInPlayMode = true });
            Assert.That((string)got["Message"]!, Does.Contain("after playing"));
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh" }));
        }

        [Test]
        public void A_compilation_that_runs_already_is_waited_for_and_not_taken_for_ours()
        {
            compiler.IsCompiling = compiler.IsRunning = true;
            Task<object?> task = bench.Start(new CompileTool(), new { });
            for (int i = 0; i < 5; i++) bench.Frame();
            Assert.That(compiler.Asked, Is.Empty);
            // The earlier compilation ends in a reload, which interrupts this call before it has requested a compilation.
            bench.Cancel();
            bench.Frame();
            Assert.That(task.IsCanceled);
            using var next = new ToolBench();
            next.With<ICompiler>(compiler);
            compiler.IsCompiling = compiler.IsRunning = false;
            JToken got = next.Finish(next.Resume(new CompileTool(), bench.Kept.Last()));
            Assert.That((bool)got["UpToDate"]!);
            Assert.That(compiler.Asked, Is.EqualTo(new[] { "refresh" }));
        }

        [Test]
        public void A_reload_that_hid_the_end_is_owned_up_to()
        {
            JToken got = bench.Finish(bench.Resume(new CompileTool(), new JObject { ["phase"] = "asked" }));
            Assert.That((bool)got["IsIndeterminate"]!);
            Assert.That(got["Success"]!.Type, Is.EqualTo(JTokenType.Null));
            Assert.That(got["ErrorCount"]!.Type, Is.EqualTo(JTokenType.Null));
        }
    }
}
