#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;

namespace Holdfast
{
    /// <summary>An error of the compiler in code that a client sent.</summary>
    /// <param name="Line">The line, from 1.</param>
    /// <param name="Column">The column, from 1.</param>
    /// <param name="Code">The error's code, such as CS1002.</param>
    /// <param name="Message">What is wrong.</param>
    internal sealed record CodeError(int Line, int Column, string Code, string Message);

    /// <summary>Makes a whole source of the statements that a client sends, and reads what the compiler says about it.</summary>
    internal static class CodeSource
    {
        /// <summary>Name of the class in the compiled assembly.</summary>
        public const string TypeName = "HoldfastCode";

        /// <summary>Name of its method.</summary>
        public const string MethodName = "Run";

        private const string Usings =
            "using System; using System.Collections.Generic; using System.IO; using System.Linq; using System.Threading; using System.Threading.Tasks; " +
            "using UnityEngine; using UnityEditor;";

        // Names that are both in a namespace of .NET above and in UnityEngine.
        private static readonly string[] Unitys = { "Object", "Random", "ThreadPriority" };

        private static readonly Regex Alias = new(@"^\s*using\s+(\w+)\s*=");

        private static readonly Regex Using = new(@"^\s*using\s+(static\s+)?[\w.]+(\s*=\s*[\w.<>, ]+)?\s*;\s*$");

        private static readonly Regex Diagnostic = new(@"\((\d+),(\d+)\): error (CS\d+): (.*)$", RegexOptions.Multiline);

        /// <summary>
        /// The statements in a method, with the usings that they begin with before it. The compiler counts lines as the client
        /// does.
        /// </summary>
        public static string Of(string statements)
        {
            string[] lines = statements.Replace("\r\n", "\n").Split('\n');
            var head = new StringBuilder(Usings);
            var own = new HashSet<string>();
            for (int i = 0; i < lines.Length && (lines[i].Trim().Length == 0 || Using.IsMatch(lines[i])); i++)
            {
                head.Append(' ').Append(lines[i].Trim());
                if (Alias.Match(lines[i]) is { Success: true } alias) own.Add(alias.Groups[1].Value);
                lines[i] = "";
            }
            // A name may have one alias, so the client's own goes first.
            foreach (string name in Unitys.Where(u => !own.Contains(u))) head.Append($" using {name} = UnityEngine.{name};");
            return $"{head}\npublic static class {TypeName}\n{{\npublic static async Task<object> {MethodName}(CancellationToken cancellation)\n{{\n" +
                $"#line 1 \"code\"\n{string.Join("\n", lines)}\n#line hidden\nreturn null;\n}}\n}}\n";
        }

        /// <summary>The arguments of the compiler, one in each line of a response file.</summary>
        public static string Arguments(string source, string assembly, IEnumerable<string> references) => string.Join("\n",
            new[]
            {
                "-nologo", "-target:library", "-nostdlib+", "-langversion:9", "-debug-", "-optimize-", "-utf8output",
                // Unreachable code, no await, unused variables, versions of assemblies.
                "-nowarn:CS0162,CS1998,CS0168,CS0219,CS1701,CS1702", $"-out:\"{assembly}\""
            }.Concat(references.Select(r => $"-r:\"{r}\"")).Append($"\"{source}\""));

        /// <summary>Reads the errors from what the compiler wrote.</summary>
        public static IReadOnlyList<CodeError> Errors(string output) => Diagnostic.Matches(output.Replace("\r", "")).Cast<Match>()
            .Select(m => new CodeError(int.Parse(m.Groups[1].Value), int.Parse(m.Groups[2].Value), m.Groups[3].Value, m.Groups[4].Value))
            .Take(Limits.CodeErrors).ToList();
    }
}
