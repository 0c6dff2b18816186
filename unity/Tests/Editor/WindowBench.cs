#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>A view that records every state that it is given to show.</summary>
    internal sealed class FakeView<T> : IView<T>
    {
        public List<T> Shown { get; } = new();

        public T Now => Shown[Shown.Count - 1];

        public void Show(T state) => Shown.Add(state);
    }

    /// <summary>The model behind the window: bridge, settings, clipboard and programs. The test controls it.</summary>
    internal sealed class WindowBench : IBridgeHost, IBridgeInfo, IProjectChoices, IUserChoices, IClipboard, IProgramRunner
    {
        public static readonly DateTime Noon = new(2026, 1, 31, 12, 0, 0, DateTimeKind.Utc);

        private readonly TestSecurity security = new();

        public WindowBench()
        {
            Tools = new ToolRegistry(new TestLog());
            Security = new SecurityChecker(security);
        }

        public List<string> Done { get; } = new();

        public bool IsRunning { get; set; } = true;

        public IBridgeInfo? Running => IsRunning ? this : null;

        public TrafficLog Traffic { get; set; } = new();

        public BridgeStatus Status { get; set; } = new("ready", Noon, 1, 8711, 0, Array.Empty<ClientInfo>(), 0, 0);

        public long StartMilliseconds { get; set; } = 12;

        public IReadOnlyList<string> BrokenParts { get; set; } = Array.Empty<string>();

        public ToolRegistry Tools { get; }

        public SecurityChecker Security { get; }

        public string PackageVersion => "0";

        public EditorIdentity Editor { get; } = new();

        public int Port { get; set; } = 8711;

        public bool RunInBatchMode { get; set; }

        public bool WakeUnfocused { get; set; } = true;

        public bool RestoreMinimized { get; set; }

        public string ProgramPath { get; set; } = "";

        public bool AllowUnprovenClients
        {
            get => security.AllowUnprovenClients;
            set => security.AllowUnprovenClients = value;
        }

        ISecuritySettings IProjectChoices.Security => security;

        public IReadOnlyList<string> NamedTools => security.Permissions.Keys.ToList();

        public List<FakeRun> Runs { get; } = new();

        public FakeRun LastRun => Runs[Runs.Count - 1];

        public void Start()
        {
            Done.Add("start");
            IsRunning = true;
        }

        public void Stop()
        {
            Done.Add("stop");
            IsRunning = false;
        }

        public void SetSwitch(SecuritySettings setting, bool on)
        {
            security.On.Remove(setting);
            if (on) security.On.Add(setting);
        }

        public void SetGroup(ToolGroup group, bool on)
        {
            security.Off.Remove(group);
            if (!on) security.Off.Add(group);
            security.Switched(group);
        }

        public void SetPermission(string tool, ToolPermission permission)
        {
            security.Permissions.Remove(tool);
            if (permission != ToolPermission.Default) security.Permissions[tool] = permission;
        }

        public void Copy(string text) => Done.Add("copy " + text);

        public IProgramRun Start(Func<ProgramCall?> find)
        {
            Runs.Add(new FakeRun(find()));
            return LastRun;
        }

        public void NameClient(IToolContext call, string name, string pushEndpoint)
        {
        }

        internal sealed class FakeRun : IProgramRun
        {
            private readonly ProgramCall? call;

            public FakeRun(ProgramCall? call)
            {
                this.call = call;
                if (call == null) Result = ProgramResult.Nothing;
            }

            public ProgramCall Call => call ?? throw new InvalidOperationException("there was nothing to be run");

            public ProgramResult? Result { get; private set; }

            public bool IsDisposed { get; private set; }

            public void End(int exitCode, string output, string errors = "") => Result = new ProgramResult(exitCode, output, errors, null);

            public void Fail(string why) => Result = new ProgramResult(-1, "", "", why);

            public void Dispose() => IsDisposed = true;
        }
    }

    /// <summary>A session's texts in memory.</summary>
    internal sealed class TestStore : ISessionStore
    {
        private readonly Dictionary<string, string> texts;

        public TestStore(Dictionary<string, string> texts) => this.texts = texts;

        public string? Get(string key) => texts.TryGetValue(key, out string text) ? text : null;

        public void Set(string key, string? value) => texts[key] = value ?? "";
    }
}
