#nullable enable
using System;
using System.Linq;
using UnityEditor;
using UnityEditor.Compilation;

namespace Holdfast.Editor
{
    /// <summary>Implements the compiler port with CompilationPipeline.</summary>
    internal sealed class EditorCompiler : ICompiler
    {
        public bool IsCompiling => EditorApplication.isCompiling;

        public bool HasErrors => EditorUtility.scriptCompilationFailed;

        public void Refresh() => AssetDatabase.Refresh();

        public void Request(bool clean) => CompilationPipeline.RequestScriptCompilation(
            clean ? RequestScriptCompilationOptions.CleanBuildCache : RequestScriptCompilationOptions.None);

        public IDisposable Listen(ICompilationListener listener)
        {
            Action<object> started = _ => listener.Started();
            Action<object> finished = _ => listener.Finished();
            Action<string, CompilerMessage[]> assembly = (path, messages) => listener.AssemblyFinished(path, messages
                .Where(m => m.type != CompilerMessageType.Info)
                .Select(m => new CompilerNote(m.type == CompilerMessageType.Error, m.message, m.file, m.line, m.column)).ToList());
            CompilationPipeline.compilationStarted += started;
            CompilationPipeline.assemblyCompilationFinished += assembly;
            CompilationPipeline.compilationFinished += finished;
            return new Subscription(() =>
            {
                CompilationPipeline.compilationStarted -= started;
                CompilationPipeline.assemblyCompilationFinished -= assembly;
                CompilationPipeline.compilationFinished -= finished;
            });
        }
    }
}
