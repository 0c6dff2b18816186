#nullable enable
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Runs C# code that is not part of the project. Main thread.</summary>
    internal interface ICodeRunner
    {
        /// <summary>The compiler that the editor brings along; null if it is not where Unity puts it.</summary>
        CodeCompiler? Compiler { get; }

        /// <summary>Runs the compiler, with <see cref="Limits.CodeCompile"/> as time limit.</summary>
        IProgramRunner Programs { get; }

        /// <summary>Runs the method of a compiled <see cref="CodeSource"/>. Its assembly stays loaded until the next reload.</summary>
        /// <param name="assembly">The assembly's bytes.</param>
        /// <param name="cancellation">The code gets it, as <c>cancellation</c>.</param>
        /// <returns>What the code returned, as far as it can be written as JSON of at most <see cref="Limits.ResultText"/>.</returns>
        Task<JToken> Run(byte[] assembly, CancellationToken cancellation);

        /// <summary>Reports what is logged until the result is disposed. The action is called on any thread.</summary>
        IDisposable Listen(Action<string, string> logged);
    }

    /// <summary>The editor's compiler.</summary>
    /// <param name="Dotnet">The program that runs it.</param>
    /// <param name="Csc">The compiler's assembly.</param>
    /// <param name="References">The assemblies that scripts of the editor are compiled with.</param>
    internal sealed record CodeCompiler(string Dotnet, string Csc, IReadOnlyList<string> References);
}
