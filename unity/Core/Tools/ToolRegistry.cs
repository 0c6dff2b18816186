#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>A registered tool with its description and schemas.</summary>
    internal sealed class ToolEntry
    {
        // Publishes no exception: a later reader tries again.
        private readonly Lazy<(JObject Input, JObject Legacy, int? TimeoutSeconds)> schemas;

        internal ToolEntry(IUnityTool tool, McpToolAttribute about, bool builtIn)
        {
            Tool = tool;
            About = about;
            IsBuiltIn = builtIn;
            Name = tool.ToolName;
            Type? parameters = tool.ParametersType;
            schemas = new Lazy<(JObject, JObject, int?)>(
                () => (SchemaGenerator.Generate(parameters), SchemaGenerator.GenerateLegacy(parameters), SchemaGenerator.TimeoutSeconds(parameters)),
                LazyThreadSafetyMode.PublicationOnly);
        }

        /// <summary>The registered instance.</summary>
        public IUnityTool Tool { get; }

        /// <summary>Name of the tool.</summary>
        public string Name { get; }

        /// <summary>The attribute of the tool's class, or the defaults if it has none.</summary>
        public McpToolAttribute About { get; }

        /// <summary>Whether the tool belongs to this package, judged by its assembly.</summary>
        public bool IsBuiltIn { get; }

        /// <summary>JSON Schema of the tool's parameters.</summary>
        public JObject InputSchema => schemas.Value.Input;

        /// <summary>Schema of the parameters in uLoopMCP's form.</summary>
        public JObject LegacySchema => schemas.Value.Legacy;

        /// <summary>The seconds after which a call that says nothing else is cancelled; null: never.</summary>
        public int? TimeoutSeconds => schemas.Value.TimeoutSeconds;

        /// <summary>MCP's annotations; all five are present.</summary>
        public JObject Annotations => new()
        {
            ["title"] = About.Title.Length > 0 ? About.Title : Name,
            ["readOnlyHint"] = About.ReadOnly,
            ["destructiveHint"] = !About.ReadOnly && About.Destructive,
            ["idempotentHint"] = About.ReadOnly || About.Idempotent,
            ["openWorldHint"] = About.OpenWorld
        };
    }

    /// <summary>How the tool list changed.</summary>
    internal enum ToolChange
    {
        /// <summary>Tools were added.</summary>
        Added,

        /// <summary>Tools were removed.</summary>
        Removed,

        /// <summary>Tools were changed, as reported to <see cref="ToolRegistry.NotifyChanged"/>.</summary>
        Modified
    }

    /// <summary>The tools: classes with <see cref="McpToolAttribute"/>, and tools registered at run time. Any thread.</summary>
    internal sealed class ToolRegistry
    {
        private readonly object gate = new();
        private readonly Dictionary<string, ToolEntry> tools = new(StringComparer.Ordinal);
        private readonly IEditorLog log;
        private ToolEntry[]? sorted;
        private string? revision;

        /// <summary>Creates an empty registry.</summary>
        public ToolRegistry(IEditorLog log) => this.log = log;

        /// <summary>Raised after a change, with the names of the changed tools, on the thread that made the change.</summary>
        public event Action<ToolChange, IReadOnlyList<string>>? Changed;

        /// <summary>
        /// Registers every tool class of a source. A class that cannot be registered is left out with a warning. The schemas are
        /// made by <see cref="MakeSchemas"/>, or by whoever reads them first.
        /// </summary>
        public void Discover(IToolSource source)
        {
            var added = new List<string>();
            foreach (Type type in source.FindToolTypes().OrderBy(t => t.FullName, StringComparer.Ordinal))
            {
                if (type.IsAbstract || type.ContainsGenericParameters) continue;
                try
                {
                    if (!typeof(IUnityTool).IsAssignableFrom(type)) throw new ArgumentException("it is no IUnityTool");
                    added.Add(Add((IUnityTool)Activator.CreateInstance(type)!, false));
                }
                catch (Exception e)
                {
                    log.Warn($"The tool class {type.FullName} is left out: {Unwrap(e).Message}");
                }
            }
            if (added.Count > 0) Changed?.Invoke(ToolChange.Added, added);
        }

        /// <summary>
        /// Makes the schemas of all tools. A tool whose schema fails is removed and returned: its parameters may need the main
        /// thread, where <see cref="RegisterAgain"/> tries once more.
        /// </summary>
        internal IReadOnlyList<IUnityTool> MakeSchemas()
        {
            var failed = new List<IUnityTool>();
            foreach (ToolEntry entry in All)
            {
                try
                {
                    _ = entry.InputSchema;
                }
                catch (Exception e) when (e is not ThreadAbortException)
                {
                    lock (gate)
                    {
                        tools.Remove(entry.Name);
                        Forget();
                    }
                    failed.Add(entry.Tool);
                }
            }
            return failed;
        }

        /// <summary>Registers a tool that <see cref="MakeSchemas"/> returned, or leaves it out with a warning. Main thread.</summary>
        internal void RegisterAgain(IUnityTool tool)
        {
            try
            {
                Register(tool);
            }
            catch (Exception e)
            {
                log.Warn($"The tool class {tool.GetType().FullName} is left out: {Unwrap(e).Message}");
            }
        }

        /// <summary>Registers a tool at run time.</summary>
        /// <exception cref="ArgumentException">
        /// The name is not allowed or is taken, or there are <see cref="Limits.Tools"/> tools already.
        /// </exception>
        public void Register(IUnityTool tool)
        {
            string name = Add(tool, true);
            Changed?.Invoke(ToolChange.Added, new[] { name });
        }

        /// <summary>Removes a tool.</summary>
        /// <returns>False if no tool has this name.</returns>
        public bool Unregister(string name)
        {
            lock (gate)
            {
                if (!tools.Remove(name)) return false;
                Forget();
            }
            Changed?.Invoke(ToolChange.Removed, new[] { name });
            return true;
        }

        /// <summary>Reports that the named tools have changed, for example because a description depends on other data.</summary>
        public void NotifyChanged(params string[] names)
        {
            lock (gate) Forget();
            Changed?.Invoke(ToolChange.Modified, names);
        }

        /// <summary>The tool with this name, or null.</summary>
        public ToolEntry? Find(string name)
        {
            lock (gate) return tools.TryGetValue(name, out ToolEntry entry) ? entry : null;
        }

        /// <summary>All tools, sorted by name.</summary>
        public IReadOnlyList<ToolEntry> All
        {
            get
            {
                lock (gate) return sorted ??= tools.Values.OrderBy(t => t.Name, StringComparer.Ordinal).ToArray();
            }
        }

        /// <summary>A short hash of every name, description, schema, annotation and time limit. It changes when one of them does.</summary>
        public string Revision
        {
            get
            {
                IReadOnlyList<ToolEntry> all = All;
                lock (gate)
                {
                    if (revision != null) return revision;
                    var text = new StringBuilder();
                    foreach (ToolEntry tool in all)
                    {
                        text.Append(tool.Name).Append('\n').Append(tool.About.Description).Append('\n')
                            .Append(Json.Write(tool.InputSchema)).Append(Json.Write(tool.Annotations)).Append(tool.TimeoutSeconds).Append('\n');
                    }
                    using SHA256 hash = SHA256.Create();
                    return revision = Hex.Encode(hash.ComputeHash(Json.Utf8.GetBytes(text.ToString())), 8);
                }
            }
        }

        private string Add(IUnityTool tool, bool withSchemas)
        {
            string name = tool.ToolName;
            if (!IsName(name))
            {
                throw new ArgumentException(
                    $"a tool's name has 1 to {Limits.ToolName} letters, digits, '_' or '-', unlike '{name}'");
            }
            Type type = tool.GetType();
            McpToolAttribute about = type.GetCustomAttribute<McpToolAttribute>() ?? new McpToolAttribute();
            var entry = new ToolEntry(tool, about, type.Assembly == typeof(ToolRegistry).Assembly || IsOurs(type.Assembly));
            if (withSchemas) _ = entry.InputSchema;
            lock (gate)
            {
                if (tools.TryGetValue(name, out ToolEntry other))
                {
                    throw new ArgumentException($"'{name}' is taken by {other.Tool.GetType().FullName}");
                }
                if (tools.Count >= Limits.Tools) throw new ArgumentException($"there are {Limits.Tools} tools already");
                tools.Add(name, entry);
                Forget();
            }
            return name;
        }

        // Compared by name, since this assembly cannot refer to the package's other assemblies. If a project gives such a name to
        // an assembly of its own, it has decided to trust it.
        private static bool IsOurs(Assembly assembly) =>
            assembly.GetName().Name is "Holdfast.Editor" or "Holdfast.Editor.TestRunner";

        private static bool IsName(string? name) => !string.IsNullOrEmpty(name) && name!.Length <= Limits.ToolName &&
            name.All(c => c is >= 'a' and <= 'z' or >= 'A' and <= 'Z' or >= '0' and <= '9' or '_' or '-');

        private static Exception Unwrap(Exception e) => e is TargetInvocationException { InnerException: { } inner } ? inner : e;

        private void Forget()
        {
            sorted = null;
            revision = null;
        }
    }
}
