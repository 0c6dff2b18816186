#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text.RegularExpressions;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Tests that the stubs, against which the package is compiled here, match Unity. Every visible member of the stubs is
    /// compared with facts that were taken from Unity's public reference source (Tests~/Facts/README.md).
    /// </summary>
    public sealed class FactTests
    {
        private static readonly Dictionary<string, string> Keywords = new()
        {
            ["Void"] = "void", ["Boolean"] = "bool", ["Int32"] = "int", ["Int64"] = "long", ["UInt32"] = "uint", ["UInt64"] = "ulong",
            ["Single"] = "float", ["Double"] = "double", ["String"] = "string", ["Object"] = "object", ["Char"] = "char", ["Byte"] = "byte"
        };

        private static string Repository => Environment.GetEnvironmentVariable("HOLDFAST_REPOSITORY")!;

        [TestCase("2022.3", "2022.3.0")]
        [TestCase("2022.3", "2022.3.76")]
        [TestCase("2022.3", "2023.1.0")]
        [TestCase("2022.3", "2023.1.22")]
        [TestCase("2022.3", "2023.2.0")]
        [TestCase("2022.3", "2023.2.22")]
        [TestCase("6000.0", "6000.0.0")]
        [TestCase("6000.0", "6000.0.78")]
        [TestCase("6000.0", "6000.1.0")]
        [TestCase("6000.0", "6000.1.17")]
        [TestCase("6000.0", "6000.2.0")]
        [TestCase("6000.0", "6000.2.15")]
        [TestCase("6000.3", "6000.3.0")]
        [TestCase("6000.3", "6000.3.19")]
        [TestCase("6000.4", "6000.4.0")]
        [TestCase("6000.4", "6000.4.12")]
        [TestCase("6000.5", "6000.5.0")]
        [TestCase("6000.5", "6000.5.2")]
        [TestCase("6000.5", "6000.6.0")]
        [TestCase("6000.5", "6000.7.0")]
        public void Every_stub_is_as_unity_has_it(string stubs, string unity)
        {
            HashSet<string> facts = Facts(unity);
            string[] members = MembersOf(Path.Combine(Repository, ".tools", "csharp", "out", stubs));
            Assert.That(members, Has.Length.GreaterThan(50));
            List<string> wrong = members.Where(m => !facts.Contains(m)).ToList();
            Assert.That(wrong, Is.Empty, $"{wrong.Count} of {members.Length} members are not in Unity {unity} like this");
        }

        // The versions have assemblies of the same names. On Mono, a domain binds a reference to the first one of that name.
        private static string[] MembersOf(string folder) =>
            Type.GetType("Mono.Runtime") == null ? new StubReader().Members(folder) : InOwnDomain(folder);

        // .NET does not have the methods that are called here.
        private static string[] InOwnDomain(string folder)
        {
            AppDomain domain = AppDomain.CreateDomain("stubs", null, AppDomain.CurrentDomain.SetupInformation);
            try
            {
                return ((StubReader)domain.CreateInstanceAndUnwrap(typeof(StubReader).Assembly.FullName, typeof(StubReader).FullName)).Members(folder);
            }
            finally
            {
                AppDomain.Unload(domain);
            }
        }

        /// <summary>Reads the visible members of one version's stubs.</summary>
        public sealed class StubReader : MarshalByRefObject
        {
            public string[] Members(string folder)
            {
                var loaded = new List<Assembly>();
                // Assemblies are loaded from bytes, so that one process can load several versions of them.
                ResolveEventHandler resolve = (_, e) => loaded.Find(a => a.GetName().Name == new AssemblyName(e.Name).Name);
                AppDomain.CurrentDomain.AssemblyResolve += resolve;
                try
                {
                    foreach (string path in Directory.GetFiles(folder, "Unity*.dll").OrderBy(p => !p.Contains("UnityEngine")))
                    {
                        loaded.Add(Assembly.Load(File.ReadAllBytes(path)));
                    }
                    return loaded.SelectMany(a => a.GetTypes()).Where(IsUnitys).SelectMany(Describe).ToArray();
                }
                finally
                {
                    AppDomain.CurrentDomain.AssemblyResolve -= resolve;
                }
            }
        }

        /// <summary>
        /// What the package reaches by reflection is in every version, or the package does without it. (Whatever else it uses is in the stubs,
        /// or it would not compile.)
        /// </summary>
        [Test]
        public void What_is_reached_by_reflection_is_in_every_version()
        {
            // Not in 2022.3.0 to 2022.3.4 and 2023.1.0 to 2023.1.3; not before 6000.3; not in version 2.0 of the test framework; not before 6000.0.1.
            string[] optional = { "SetSiblingIndex", "applicationScriptingPath", "IsRunActive", "globalScenes" };
            var everywhere = new HashSet<string>(Rows().Where(f => f[7] == "all").Select(f => f[4].Split('(')[0]));
            var names = new List<string>();
            foreach (string folder in new[] { "Editor", "TestRunner" })
            {
                foreach (string file in Directory.GetFiles(Path.Combine(Repository, "unity", folder), "*.cs", SearchOption.AllDirectories))
                {
                    names.AddRange(Regex.Matches(File.ReadAllText(file),
                        @"\b(?:GetMethod|GetField|GetProperty|Internal|Raise|Method<[\w<>, ]+>|Field)\(\s*(?:\w+,\s*)?""(\w+)""").Cast<Match>().Select(m => m.Groups[1].Value));
                }
            }
            Assert.That(names, Has.Count.GreaterThan(25).And.Contain("GrabPixels").And.Contain("m_TemporarilyDisableAutoSave").And.Contain("GetCountsByType"));
            Assert.That(names.Where(n => n != "Invoke" && !optional.Contains(n) && !everywhere.Contains(n)), Is.Empty);
        }

        private static IEnumerable<string[]> Rows() =>
            File.ReadAllLines(Path.Combine(Repository, "unity", "Tests~", "Facts", "unity-api.tsv")).Select(l => l.Split('\t')).Where(f => f[0] != "versions");

        // The first line names the versions in their order. A row is true of all, or of some and of ranges such as 6000.4.0..6000.7.0.
        private static HashSet<string> Facts(string version)
        {
            string first = File.ReadLines(Path.Combine(Repository, "unity", "Tests~", "Facts", "unity-api.tsv")).First();
            List<string> order = first.Substring("versions\t".Length).Split(' ').ToList();
            int at = order.IndexOf(version);
            Assert.That(at, Is.GreaterThanOrEqualTo(0), "there are no facts of " + version);
            bool IsIn(string range)
            {
                string[] ends = range.Split(new[] { ".." }, StringSplitOptions.None);
                return order.IndexOf(ends[0]) <= at && at <= order.IndexOf(ends[ends.Length - 1]);
            }
            return new HashSet<string>(Rows().Where(f => f[7] == "all" || f[7].Split(',').Any(IsIn))
                .Select(f => string.Join(" ", f[0], f[1], f[3], f[4], f[5], f[6]).Replace("UnityObject", "Object")));
        }

        // Members that are not public in Unity. The package uses them by reflection.
        private static readonly HashSet<string> Reflected = new()
        {
            "SignalTick", "IsRunActive", "GetMenuItems", "MenuItemExists", "LogEntries", "LogEntry", "ScriptingMenuItem", "View", "GUIView", "GrabPixels", "GetBackingScaleFactor",
            "m_Parent", "m_TemporarilyDisableAutoSave", "UpdateEnvironmentHideFlags", "CheckIfAddingPrefabWouldResultInCyclicNesting",
            "ValidateObjectReferenceValue", "ShaderGUIUtility", "ValidateMaterial", "ReloadScene", "RegisterFileChangeUndo"
        };

        private static bool IsUnitys(Type type) =>
            (type.IsVisible || type.IsNestedFamily || Reflected.Contains(type.Name)) && type.Namespace != "EditorHost";

        private static IEnumerable<string> Describe(Type type)
        {
            string name = NameOf(type);
            string Line(MemberInfo member, string kind, bool isStatic, string signature, string returns) => string.Join(
                " ", name, kind, isStatic ? "static" : "-", signature, returns, member.IsDefined(typeof(ObsoleteAttribute), false) ? "obsolete" : "-");

            if (typeof(Delegate).IsAssignableFrom(type))
            {
                MethodInfo invoke = type.GetMethod("Invoke")!;
                yield return Line(type, "delegate", false, "(" + ParametersOf(invoke) + ")", Short(invoke.ReturnType));
                yield break;
            }
            string keyword = type.IsEnum ? "enum" : type.IsInterface ? "interface" : type.IsValueType ? "struct" : "class";
            yield return Line(type, "type", type.IsAbstract && type.IsSealed, keyword, "-");
            const BindingFlags Declared = BindingFlags.DeclaredOnly | BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
            foreach (MemberInfo member in type.GetMembers(Declared))
            {
                switch (member)
                {
                    case FieldInfo { IsSpecialName: false } f when f.IsPublic || f.IsFamily || Reflected.Contains(f.Name):
                        yield return type.IsEnum
                            ? Line(f, "enumvalue", true, f.Name, "-")
                            : Line(f, "field", f.IsStatic, f.Name, Short(f.FieldType));
                        break;
                    case PropertyInfo p when Visible(p.GetMethod ?? p.SetMethod) && p.GetIndexParameters().Length == 0:
                        yield return Line(p, "property", (p.GetMethod ?? p.SetMethod)!.IsStatic, p.Name, Short(p.PropertyType));
                        break;
                    case EventInfo e when Visible(e.AddMethod):
                        yield return Line(e, "event", e.AddMethod!.IsStatic, e.Name, Short(e.EventHandlerType!));
                        break;
                    case MethodInfo { IsSpecialName: false } m when Visible(m):
                        string arity = m.IsGenericMethod ? "`" + m.GetGenericArguments().Length : "";
                        yield return Line(m, "method", m.IsStatic, $"{m.Name}{arity}({ParametersOf(m)})", Short(m.ReturnType));
                        break;
                    // Only constructors with parameters are compared: one without exists in Unity even if no source declares it.
                    case ConstructorInfo c when Visible(c) && c.GetParameters().Length > 0:
                        yield return Line(c, "ctor", false, $".ctor({ParametersOf(c)})", "-");
                        break;
                }
            }
        }

        private static bool Visible(MethodBase? method) =>
            method != null && (method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly || Reflected.Contains(method.Name));

        private static string NameOf(Type type) => type.IsNested
            ? NameOf(type.DeclaringType!) + "." + type.Name
            : (type.Namespace == null ? "" : type.Namespace + ".") + type.Name;

        private static string ParametersOf(MethodBase method) => string.Join(",", method.GetParameters().Select(p =>
            (p.IsOut ? "out " : p.IsIn ? "in " : p.ParameterType.IsByRef ? "ref " : p.IsDefined(typeof(ParamArrayAttribute), false) ? "params " : "") +
            Short(p.ParameterType)));

        private static string Short(Type type)
        {
            if (type.IsByRef) return Short(type.GetElementType()!);
            if (type.IsArray) return Short(type.GetElementType()!) + "[]";
            if (Nullable.GetUnderlyingType(type) is { } bare) return Short(bare) + "?";
            if (type.IsGenericType)
            {
                return type.Name.Split('`')[0] + "<" + string.Join(",", type.GetGenericArguments().Select(Short)) + ">";
            }
            // Only types of System are written as C# keywords, since Unity has its own class Object.
            return type.Namespace == "System" && Keywords.TryGetValue(type.Name, out string keyword) ? keyword : type.Name;
        }
    }
}
