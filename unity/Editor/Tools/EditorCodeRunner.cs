#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;
using UnityEditor;
using UnityEditor.Compilation;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Implements the port of code with the compiler that Unity uses for scripts. Where it lies: DotNetSdkRoslyn and NetCoreRuntime
    /// below the editor's contents until 6000.3, DotNetSdk since 6000.5; since 6000.3 below the folder for scripting.
    /// </summary>
    internal sealed class EditorCodeRunner : ICodeRunner
    {
        public CodeCompiler? Compiler
        {
            get
            {
                const BindingFlags Any = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
                var scripting = typeof(EditorApplication).GetProperty("applicationScriptingPath", Any)?.GetValue(null) as string;
                foreach (string root in new[] { scripting, EditorApplication.applicationContentsPath }.OfType<string>())
                {
                    string? csc = Compilers(root).FirstOrDefault(File.Exists);
                    string? dotnet = new[] { "NetCoreRuntime", "DotNetSdk" }.SelectMany(f => new[] { "dotnet", "dotnet.exe" }.Select(p => Path.Combine(root, f, p)))
                        .FirstOrDefault(File.Exists);
                    if (csc != null && dotnet != null) return new CodeCompiler(dotnet, csc, References());
                }
                return null;
            }
        }

        public IProgramRunner Programs { get; } = new ProgramRunner(new UnityLog(), Limits.CodeCompile);

        private static IEnumerable<string> Compilers(string root)
        {
            yield return Path.Combine(root, "DotNetSdkRoslyn", "csc.dll");
            string sdk = Path.Combine(root, "DotNetSdk", "sdk");
            if (!Directory.Exists(sdk)) yield break;
            foreach (string version in Directory.GetDirectories(sdk)) yield return Path.Combine(version, "Roslyn", "bincore", "csc.dll");
        }

        // What Unity compiles the scripts of the editor with, whatever of it is loaded now. Of an assembly that is there twice, the first
        // counts. Where the loaded assemblies lie is not asked: newer editors load scripts from memory.
        private static IReadOnlyList<string> References()
        {
            IEnumerable<string> scripts = CompilationPipeline.GetAssemblies(AssembliesType.Editor).Select(a => Path.GetFullPath(a.outputPath));
            IEnumerable<string> system = CompilationPipeline.GetSystemAssemblyDirectories(ApiCompatibilityLevel.NET_Unity_4_8).Where(Directory.Exists)
                .SelectMany(d => Directory.GetFiles(d, "*.dll"));
            return scripts.Concat(system).Concat(CompilationPipeline.GetPrecompiledAssemblyPaths(CompilationPipeline.PrecompiledAssemblySources.All))
                .Where(File.Exists).GroupBy(Path.GetFileName, StringComparer.OrdinalIgnoreCase).Select(g => g.First()).ToList();
        }

        public async Task<JToken> Run(byte[] assembly, CancellationToken cancellation)
        {
            MethodInfo run = Load(assembly).GetType(CodeSource.TypeName)!.GetMethod(CodeSource.MethodName)!;
            object? value = await (Task<object>)run.Invoke(null, new object[] { cancellation })!;
            var text = new BoundedText();
            try
            {
                using (var writer = new BoundedJsonWriter(text, Limits.InnerResultDepth)) Serializer().Serialize(writer, value);
                return new JRaw(text.ToString());
            }
            catch (TooLongException)
            {
                return $"(the result has more than {Limits.ResultText} characters; return less of it)";
            }
            catch (TooDeepException e)
            {
                return $"(the result cannot be sent: {e.Message})";
            }
            catch (Exception e) when (e is not OperationCanceledException)
            {
                // A getter of the result's type may throw any exception.
                return value!.ToString() ?? "";
            }
        }

        // On CoreCLR the code belongs into the scripts' own context. In another one it would keep the scripts of this domain in memory
        // for ever.
        private static System.Reflection.Assembly Load(byte[] assembly)
        {
#if UNITY_6000_5_OR_NEWER
            return UnityEngine.Assemblies.CurrentAssemblies.LoadFromBytes(assembly);
#else
            return System.Reflection.Assembly.Load(assembly);
#endif
        }

        public IDisposable Listen(Action<string, string> logged)
        {
            void Note(string message, string stack, LogType type) => logged(type.ToString(), message);
            Application.logMessageReceivedThreaded += Note;
            return new Subscription(() => Application.logMessageReceivedThreaded -= Note);
        }

        private static JsonSerializer Serializer()
        {
            var serializer = new JsonSerializer { ReferenceLoopHandling = ReferenceLoopHandling.Ignore };
            serializer.Converters.Add(new Names());
            return serializer;
        }

        private sealed class TooLongException : Exception
        {
        }

        // A list may be computed while it is written, and have no end.
        private sealed class BoundedText : StringWriter
        {
            public BoundedText() : base(System.Globalization.CultureInfo.InvariantCulture)
            {
            }

            public override void Write(char value)
            {
                if (GetStringBuilder().Length >= Limits.ResultText) throw new TooLongException();
                base.Write(value);
            }

            public override void Write(char[] buffer, int index, int count)
            {
                if (GetStringBuilder().Length + count > Limits.ResultText) throw new TooLongException();
                base.Write(buffer, index, count);
            }

            public override void Write(string? value)
            {
                if (GetStringBuilder().Length + (value?.Length ?? 0) > Limits.ResultText) throw new TooLongException();
                base.Write(value);
            }
        }

        // The properties of Unity's objects and structures refer to each other, and reading some of them changes the project.
        private sealed class Names : JsonConverter
        {
            public override bool CanRead => false;

            public override bool CanConvert(Type type) =>
                typeof(UnityEngine.Object).IsAssignableFrom(type) || (type.IsValueType && type.Namespace == "UnityEngine" && !type.IsEnum);

            public override void WriteJson(JsonWriter writer, object? value, JsonSerializer serializer) =>
                writer.WriteValue(value is UnityEngine.Object one && one != null ? EditorObjects.Of(one).Reference : value?.ToString());

            public override object ReadJson(JsonReader reader, Type type, object? existing, JsonSerializer serializer) => throw new NotSupportedException();
        }
    }
}
