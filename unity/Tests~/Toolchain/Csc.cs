// A compiler front end over Roslyn's public API. It accepts ordinary csc command lines and response files.
// Several command lines, separated by a lone "+", run in one process and share its loaded references and compiled code.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using Microsoft.CodeAnalysis.Text;

public static class Csc
{
    private static readonly Dictionary<string, (DateTime Written, PortableExecutableReference Reference)> Cache = new();

    public static int Main(string[] argv)
    {
        var line = new List<string>();
        foreach (string word in argv.Append("+"))
        {
            if (word != "+") { line.Add(word); continue; }
            if (!Compile(line)) return 1;
            line.Clear();
        }
        return 0;
    }

    private static bool Compile(IReadOnlyCollection<string> words)
    {
        CSharpCommandLineArguments args =
            CSharpCommandLineParser.Default.Parse(words, Directory.GetCurrentDirectory(), null, null);
        if (Report(args.Errors)) return false;
        SyntaxTree[] trees = args.SourceFiles.Select(file => Read(file.Path, args)).ToArray();
        MetadataReference[] references = args.MetadataReferences.Select(r => Resolve(r, args)).ToArray();
        string output = Path.Combine(args.OutputDirectory, args.OutputFileName ?? "out.exe");
        string name = args.CompilationName ?? Path.GetFileNameWithoutExtension(output);
        CSharpCompilation compilation = CSharpCompilation.Create(name, trees, references, args.CompilationOptions);
        using var image = new MemoryStream();
        using var symbols = new MemoryStream();
        EmitOptions options = args.EmitOptions.WithDebugInformationFormat(DebugInformationFormat.PortablePdb)
            .WithPdbFilePath(Path.GetFileName(Path.ChangeExtension(output, ".pdb")));
        EmitResult result = compilation.Emit(
            image, args.EmitPdb ? symbols : null, manifestResources: args.ManifestResources, options: options);
        Report(result.Diagnostics);
        if (!result.Success) return false;
        Directory.CreateDirectory(args.OutputDirectory);
        File.WriteAllBytes(output, image.ToArray());
        if (args.EmitPdb) File.WriteAllBytes(Path.ChangeExtension(output, ".pdb"), symbols.ToArray());
        return true;
    }

    private static SyntaxTree Read(string path, CSharpCommandLineArguments args)
    {
        string full = Path.GetFullPath(path);
        using FileStream stream = File.OpenRead(full);
        SourceText text = SourceText.From(stream, System.Text.Encoding.UTF8, args.ChecksumAlgorithm, false, true);
        return CSharpSyntaxTree.ParseText(text, args.ParseOptions, full);
    }

    private static MetadataReference Resolve(CommandLineReference reference, CSharpCommandLineArguments args)
    {
        string path = args.ReferencePaths.Select(folder => Path.Combine(folder, reference.Reference))
            .Prepend(reference.Reference).FirstOrDefault(File.Exists) ??
            throw new FileNotFoundException("error CS0006: there is no assembly " + reference.Reference);
        path = Path.GetFullPath(path);
        DateTime written = File.GetLastWriteTimeUtc(path);
        if (Cache.TryGetValue(path, out var known) && known.Written == written)
        {
            return known.Reference.WithProperties(reference.Properties);
        }
        PortableExecutableReference fresh = MetadataReference.CreateFromFile(path, reference.Properties);
        Cache[path] = (written, fresh);
        return fresh;
    }

    private static bool Report(IEnumerable<Diagnostic> diagnostics)
    {
        bool failed = false;
        foreach (Diagnostic d in diagnostics.Where(d => d.Severity >= DiagnosticSeverity.Warning && !d.IsSuppressed))
        {
            Console.WriteLine(d.ToString());
            failed |= d.Severity == DiagnosticSeverity.Error;
        }
        return failed;
    }
}
