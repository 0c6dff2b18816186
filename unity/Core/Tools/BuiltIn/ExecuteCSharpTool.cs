#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.IO;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="ExecuteCSharpTool"/>.</summary>
    internal sealed class ExecuteCSharpSchema : BaseToolSchema
    {
        /// <summary>The code.</summary>
        [McpRequired]
        [Description("Statements of C# 9, with usings before them. They may return a value, and may await; cancellation is the token of the time limit. " +
            "UnityEngine and UnityEditor are there")]
        public string Code { get; set; } = "";

        /// <summary>Whether the code is only compiled.</summary>
        [Description("Only compile the code, and run nothing")]
        public bool CompileOnly { get; set; }

        /// <inheritdoc/>
        [Description("Seconds after which the code is cancelled; 0: never. Code that does not look at cancellation goes on")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>A line that the code logged.</summary>
    /// <param name="Type">Log, Warning, Error, Assert or Exception.</param>
    /// <param name="Message">The message.</param>
    internal sealed record CodeLog(string Type, string Message);

    /// <summary>Result of <see cref="ExecuteCSharpTool"/>.</summary>
    internal sealed class ExecuteCSharpResponse : BaseToolResponse
    {
        /// <summary>Whether the code ran to its end.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>What the code returned.</summary>
        public JToken? Result { get; set; }

        /// <summary>The compiler's errors. If there are any, nothing ran.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<CodeError>? Errors { get; set; }

        /// <summary>What was logged while the code ran, at most <see cref="Limits.CodeLogs"/>. Other code may have logged it.</summary>
        public IReadOnlyList<CodeLog> Logs { get; set; } = Array.Empty<CodeLog>();
    }

    /// <summary>Compiles C# code with the editor's compiler, and runs it in the editor.</summary>
    [McpTool(
        Description = "Runs C# statements in the editor, for what no other tool does. A loop that never ends blocks the editor. " +
            "Example: {\"Code\": \"return Selection.activeObject.name;\"}",
        Title = "Execute C#", RequiredSecuritySetting = SecuritySettings.AllowCodeExecution, OpenWorld = true)]
    internal sealed class ExecuteCSharpTool : AbstractUnityTool<ExecuteCSharpSchema, ExecuteCSharpResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "execute-csharp";

        /// <inheritdoc/>
        protected override async Task<ExecuteCSharpResponse> ExecuteAsync(ExecuteCSharpSchema parameters, IToolContext context)
        {
            if (parameters.Code.Trim().Length == 0) throw new ToolParameterException("Code is empty");
            if (parameters.Code.Length > Limits.CodeText) throw new ToolParameterException($"Code has more than {Limits.CodeText} characters");
            ICodeRunner runner = context.Get<ICodeRunner>();
            if (runner.Compiler is not { } compiler)
            {
                return new ExecuteCSharpResponse { Message = "The C# compiler is not where Unity installs it, below the editor's folder; nothing ran" };
            }
            // Assemblies of the same name cannot be loaded side by side in every runtime.
            string name = "holdfast-code-" + Hex.Random(8);
            string folder = Path.Combine(context.Get<IBridgeInfo>().Editor.ProjectPath, "Temp", name), assembly = Path.Combine(folder, name + ".dll");
            try
            {
                ProgramResult built = await Compile(parameters.Code, runner, compiler, assembly, context);
                if (built.Failure != null) return new ExecuteCSharpResponse { Message = built.Failure + " Nothing ran." };
                if (built.ExitCode != 0) return Wrong(built);
                if (parameters.CompileOnly) return new ExecuteCSharpResponse { Success = true, Message = "The code compiles; nothing ran" };
                return await Run(runner, File.ReadAllBytes(assembly), context);
            }
            finally
            {
                if (Directory.Exists(folder)) Directory.Delete(folder, true);
            }
        }

        private static async Task<ProgramResult> Compile(string code, ICodeRunner runner, CodeCompiler compiler, string assembly, IToolContext context)
        {
            string folder = Path.GetDirectoryName(assembly);
            Directory.CreateDirectory(folder);
            string source = Path.Combine(folder, "code.cs"), arguments = Path.Combine(folder, "code.rsp");
            File.WriteAllText(source, CodeSource.Of(code), Json.Utf8);
            File.WriteAllText(arguments, CodeSource.Arguments(source, assembly, compiler.References), Json.Utf8);
            using IProgramRun run = runner.Programs.Start(
                () => new ProgramCall(compiler.Dotnet, $"exec \"{compiler.Csc}\" -noconfig \"@{arguments}\"", folder) { Environment = Environment(compiler.Dotnet) });
            while (run.Result == null) await context.MainThread.Frames(1, context.Cancellation);
            return run.Result;
        }

        // As Unity starts the compiler: with its own .NET and no other, and without the library ICU, which many servers do not have.
        private static Dictionary<string, string> Environment(string dotnet) => new()
        {
            ["DOTNET_ROOT"] = Path.GetDirectoryName(dotnet) ?? "", ["DOTNET_MULTILEVEL_LOOKUP"] = "0", ["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"
        };

        private static ExecuteCSharpResponse Wrong(ProgramResult built)
        {
            IReadOnlyList<CodeError> errors = CodeSource.Errors(built.Output + "\n" + built.Errors);
            string rest = (built.Output + built.Errors).Trim();
            return new ExecuteCSharpResponse
            {
                Errors = errors,
                Message = errors.Count > 0
                    ? "The code does not compile; nothing ran"
                    : "The compiler failed; nothing ran. It says: " + (rest.Length <= Limits.CodeSays ? rest : rest.Substring(0, Limits.CodeSays) + "...")
            };
        }

        private static async Task<ExecuteCSharpResponse> Run(ICodeRunner runner, byte[] assembly, IToolContext context)
        {
            var logs = new List<CodeLog>();
            IUndo undo = context.Get<IUndo>();
            // Whether code changes the open prefab, and whether it may, only the code knows.
            OpenPrefab.WhyNotChanged(context);
            int step = undo.Begin("AI: code");
            using IDisposable listening = runner.Listen((type, message) =>
            {
                lock (logs)
                {
                    if (logs.Count < Limits.CodeLogs) logs.Add(new CodeLog(type, message.Length <= Limits.CodeSays ? message : message.Substring(0, Limits.CodeSays) + "..."));
                }
            });
            try
            {
                Task<JToken> run = runner.Run(assembly, context.Cancellation);
                while (!run.IsCompleted) await context.MainThread.Frames(1, context.Cancellation);
                JToken result = await run;
                return new ExecuteCSharpResponse { Success = true, Message = "The code ran to its end", Result = result, Logs = Copy(logs) };
            }
            catch (Exception e) when (e is not OperationCanceledException)
            {
                return new ExecuteCSharpResponse { Message = $"The code threw {e.GetType().Name}: {e.Message}. What it did before stays done", Logs = Copy(logs) };
            }
            finally
            {
                undo.End(step);
            }
        }

        private static IReadOnlyList<CodeLog> Copy(List<CodeLog> logs)
        {
            lock (logs) return logs.ToList();
        }
    }
}
