// First step of the bootstrap: compiles C# files with Roslyn, which is used through reflection only.
//
// Mono's own compiler knows C# 6 and no newer metadata. It can compile this file, but not one that names Roslyn's types. The
// result runs on .NET and compiles Csc.cs, an ordinary compiler front end.
// Arguments: ROSLYN_FOLDER FRAMEWORK_FOLDER OUTPUT SOURCE...
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;

public static class Boot
{
    public static int Main(string[] args)
    {
        string roslyn = args[0], framework = args[1], output = args[2];
        AppDomain.CurrentDomain.AssemblyResolve += delegate(object sender, ResolveEventArgs e)
        {
            string path = Path.Combine(roslyn, new AssemblyName(e.Name).Name + ".dll");
            return File.Exists(path) ? Assembly.LoadFrom(path) : null;
        };
        Assembly common = Assembly.LoadFrom(Path.Combine(roslyn, "Microsoft.CodeAnalysis.dll"));
        Assembly csharp = Assembly.LoadFrom(Path.Combine(roslyn, "Microsoft.CodeAnalysis.CSharp.dll"));
        Type tree = common.GetType("Microsoft.CodeAnalysis.SyntaxTree");
        Type reference = common.GetType("Microsoft.CodeAnalysis.MetadataReference");

        MethodInfo parse = csharp.GetType("Microsoft.CodeAnalysis.CSharp.CSharpSyntaxTree").GetMethods()
            .Where(m => m.Name == "ParseText" && m.GetParameters()[0].ParameterType == typeof(string))
            .OrderBy(m => m.GetParameters().Length).First();
        Array trees = ArrayOf(tree, args.Skip(3).Select(file => Call(parse, null, File.ReadAllText(file))));

        List<string> files = Directory.GetFiles(framework, "*.dll").Where(IsManaged).ToList();
        files.Add(Path.Combine(roslyn, "Microsoft.CodeAnalysis.dll"));
        files.Add(Path.Combine(roslyn, "Microsoft.CodeAnalysis.CSharp.dll"));
        MethodInfo fromFile = reference.GetMethods().First(m => m.Name == "CreateFromFile");
        Array references = ArrayOf(reference, files.Select(file => Call(fromFile, null, file)));

        ConstructorInfo newOptions = csharp.GetType("Microsoft.CodeAnalysis.CSharp.CSharpCompilationOptions")
            .GetConstructors().OrderByDescending(c => c.GetParameters().Length).First();
        object program = Enum.Parse(common.GetType("Microsoft.CodeAnalysis.OutputKind"), "ConsoleApplication");
        MethodInfo create = csharp.GetType("Microsoft.CodeAnalysis.CSharp.CSharpCompilation").GetMethods()
            .First(m => m.Name == "Create");
        object compilation = create.Invoke(null, new object[]
        {
            Path.GetFileNameWithoutExtension(output), trees, references, Call(newOptions, null, program)
        });

        MethodInfo emit = compilation.GetType().GetMethods().Where(m => m.Name == "Emit")
            .OrderByDescending(m => m.GetParameters().Length).First();
        MemoryStream image = new MemoryStream();
        object result = Call(emit, compilation, image);
        if ((bool)result.GetType().GetProperty("Success").GetValue(result, null))
        {
            File.WriteAllBytes(output, image.ToArray());
            return 0;
        }
        foreach (object diagnostic in (IEnumerable)result.GetType().GetProperty("Diagnostics").GetValue(result, null))
        {
            // Roslyn was built against an older System.Collections.Immutable, so this warning is expected.
            if (!diagnostic.ToString().Contains("warning CS1701")) Console.WriteLine(diagnostic);
        }
        return 1;
    }

    // Calls a method with the given arguments. The parameters after them get their defaults.
    private static object Call(MethodBase method, object target, params object[] given)
    {
        ParameterInfo[] parameters = method.GetParameters();
        object[] values = new object[parameters.Length];
        for (int i = 0; i < values.Length; i++)
        {
            ParameterInfo p = parameters[i];
            if (i < given.Length) values[i] = given[i];
            else if (p.HasDefaultValue && p.DefaultValue != null) values[i] = p.DefaultValue;
            else values[i] = p.ParameterType.IsValueType ? Activator.CreateInstance(p.ParameterType) : null;
        }
        ConstructorInfo constructor = method as ConstructorInfo;
        return constructor != null ? constructor.Invoke(values) : method.Invoke(target, values);
    }

    private static Array ArrayOf(Type element, IEnumerable<object> items)
    {
        object[] list = items.ToArray();
        Array array = Array.CreateInstance(element, list.Length);
        Array.Copy(list, array, list.Length);
        return array;
    }

    private static bool IsManaged(string file)
    {
        try { AssemblyName.GetAssemblyName(file); return true; }
        catch (BadImageFormatException) { return false; }
    }
}
