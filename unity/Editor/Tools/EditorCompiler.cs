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
        // Unity's preference "Script Changes While Playing": its second choice is "Recompile After Finished Playing".
        private const string DuringPlay = "ScriptCompilationDuringPlay";
        private const int AfterPlaying = 1;

        // Subscribed for as long as the domain lives, and no longer.
        private readonly Subscription subscription;

        public EditorCompiler()
        {
            Action<object> started = _ => IsRunning = true;
            Action<object> finished = _ => IsRunning = false;
            CompilationPipeline.compilationStarted += started;
            CompilationPipeline.compilationFinished += finished;
            subscription = new Subscription(() =>
            {
                CompilationPipeline.compilationStarted -= started;
                CompilationPipeline.compilationFinished -= finished;
            });
            AssemblyReloadEvents.beforeAssemblyReload += End;
            CodeUnload.Unloading += End;
        }

        public bool IsCompiling => EditorApplication.isCompiling;

        public bool IsRunning { get; private set; }

        public bool WaitsForPlayMode => EditorPrefs.GetInt(DuringPlay, 0) == AfterPlaying;

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

        private void End()
        {
            AssemblyReloadEvents.beforeAssemblyReload -= End;
            CodeUnload.Unloading -= End;
            subscription.Dispose();
        }
    }
}
