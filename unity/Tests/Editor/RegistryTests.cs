#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    internal sealed class TestLog : IEditorLog
    {
        public List<string> Lines { get; } = new();

        public void Info(string message) => Add("info " + message);

        public void Warn(string message) => Add("warn " + message);

        public void Error(string message) => Add("error " + message);

        private void Add(string line)
        {
            lock (Lines) Lines.Add(line);
        }
    }

    internal sealed class TestSecurity : ISecuritySettings
    {
        public HashSet<SecuritySettings> On { get; } = new();

        public Dictionary<string, ToolPermission> Permissions { get; } = new();

        public bool AllowUnprovenClients { get; set; } = true;

        public HashSet<ToolGroup> Off { get; } = new();

        public event Action<ToolGroup>? GroupSwitched;

        public void Switched(ToolGroup group) => GroupSwitched?.Invoke(group);

        public bool IsOff(ToolGroup group) => Off.Contains(group);

        public bool IsOn(SecuritySettings setting) => On.Contains(setting);

        public ToolPermission PermissionOf(string toolName) =>
            Permissions.TryGetValue(toolName, out ToolPermission permission) ? permission : ToolPermission.Default;
    }

    public sealed class RegistryTests
    {
        private readonly TestLog log = new();

        private abstract class Plain : IUnityTool
        {
            public virtual string ToolName => GetType().Name;

            public virtual Type? ParametersType => null;

            public Task<object?> ExecuteAsync(JToken? parameters, IToolContext context) => Task.FromResult<object?>(null);
        }

        [McpTool(Description = "Good", ReadOnly = true)]
        private sealed class Good : Plain
        {
        }

        [McpTool(RequiredSecuritySetting = SecuritySettings.EnableTestsExecution)]
        private sealed class Guarded : Plain
        {
        }

        private sealed class Named : Plain
        {
            public Named(string name) => ToolName = name;

            public override string ToolName { get; }
        }

        private sealed class Throws : Plain
        {
            public Throws() => throw new InvalidOperationException("no luck");
        }

        private sealed class Source : IToolSource
        {
            private readonly Type[] types;

            public Source(params Type[] types) => this.types = types;

            public IEnumerable<Type> FindToolTypes() => types;
        }

        [Test]
        public void A_broken_tool_class_is_left_out_and_takes_nothing_with_it()
        {
            var registry = new ToolRegistry(log);
            registry.Discover(new Source(typeof(Throws), typeof(string), typeof(Plain), typeof(Good), typeof(Named)));
            Assert.That(registry.All.Select(t => t.Name), Is.EqualTo(new[] { "Good" }));
            Assert.That(log.Lines.Count(l => l.StartsWith("warn")), Is.EqualTo(3));
            Assert.That(log.Lines.Any(l => l.Contains("no luck")));
        }

        [Test]
        public void A_port_that_cannot_be_created_leaves_the_others_and_says_why()
        {
            ServiceTable ports = new ServiceTable(new SystemClock()).Add<IToolSource>(() => throw new InvalidOperationException("no luck"))
                .Add<IEditorLog>(() => log);
            Assert.That(ports.Get<IEditorLog>(), Is.SameAs(log));
            Assert.That(ports.Broken.Keys, Is.EqualTo(new[] { typeof(IToolSource) }));
            Assert.That(Assert.Throws<NotSupportedException>(() => ports.Get<IToolSource>())!.Message, Does.Contain("no luck"));
        }

        [TestCase("")]
        [TestCase("a b")]
        [TestCase("holdfast/call")]
        [TestCase("ü")]
        [TestCase("0123456789012345678901234567890123456789012345678")]
        public void A_name_that_clients_refuse_is_refused(string name) =>
            Assert.Throws<ArgumentException>(() => new ToolRegistry(log).Register(new Named(name)));

        [Test]
        public void Changes_are_told_with_their_names_and_change_the_revision()
        {
            var registry = new ToolRegistry(log);
            var told = new List<string>();
            registry.Changed += (change, names) => told.Add(change + " " + string.Join(",", names));
            string empty = registry.Revision;
            registry.Register(new Named("a"));
            Assert.Throws<ArgumentException>(() => registry.Register(new Named("a")));
            Assert.That(registry.Revision, Is.Not.EqualTo(empty));
            registry.NotifyChanged("a");
            Assert.That(registry.Unregister("a"));
            Assert.That(registry.Unregister("a"), Is.False);
            Assert.That(told, Is.EqualTo(new[] { "Added a", "Modified a", "Removed a" }));
            Assert.That(registry.Revision, Is.EqualTo(empty));
        }

        private sealed class Slow : BaseToolSchema
        {
            public override int TimeoutSeconds { get; set; } = 90;
        }

        private sealed class Limited : Plain
        {
            public Limited(Type parameters) => ParametersType = parameters;

            public override string ToolName => "a";

            public override Type? ParametersType { get; }
        }

        [Test]
        public void Another_time_limit_is_another_revision_though_the_schema_is_the_same()
        {
            string[] revisions = new[] { typeof(BaseToolSchema), typeof(Slow) }.Select(type =>
            {
                var registry = new ToolRegistry(log);
                registry.Register(new Limited(type));
                return registry.Revision;
            }).ToArray();
            Assert.That(revisions, Is.Unique);
        }

        [Test]
        public void All_annotations_are_there()
        {
            var registry = new ToolRegistry(log);
            registry.Register(new Good());
            Assert.That(Json.Write(registry.Find("Good")!.Annotations), Is.EqualTo(
                @"{""title"":""Good"",""readOnlyHint"":true,""destructiveHint"":false,""idempotentHint"":true,""openWorldHint"":false}"));
        }

        [Test]
        public void What_nobody_allowed_is_denied()
        {
            var registry = new ToolRegistry(log);
            registry.Register(new Good());
            registry.Register(new Guarded());
            registry.Register(new PingTool());
            var settings = new TestSecurity();
            var checker = new SecurityChecker(settings);
            string? Denied(string name) => checker.Check(registry.Find(name))?.Setting.ToString();

            Assert.That(Denied("ping"), Is.Null);
            Assert.That(Denied("nothing"), Is.EqualTo("None"));
            Assert.That(Denied("Good"), Is.EqualTo("AllowThirdPartyTools"));
            Assert.That(Denied("Guarded"), Is.EqualTo("EnableTestsExecution"));
            settings.On.Add(SecuritySettings.AllowThirdPartyTools);
            Assert.That(Denied("Good"), Is.Null);
            Assert.That(Denied("Guarded"), Is.EqualTo("EnableTestsExecution"));
            settings.On.Remove(SecuritySettings.AllowThirdPartyTools);
            settings.On.Add(SecuritySettings.EnableTestsExecution);
            Assert.That(Denied("Guarded"), Is.EqualTo("AllowThirdPartyTools"));
            settings.Permissions["Guarded"] = ToolPermission.Allow;
            Assert.That(Denied("Guarded"), Is.Null);
            settings.Permissions["ping"] = ToolPermission.Deny;
            Assert.That(Denied("ping"), Is.EqualTo("None"));
        }
    }
}
