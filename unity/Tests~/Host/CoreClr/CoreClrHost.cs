using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace EditorHost
{
    /// <summary>
    /// Loads the package into a collectible assembly load context and the stubs outside of it, as Unity 7 is known to do. If the
    /// package leaves a delegate in an event of the stubs, the delegate keeps the whole context in memory, so tests notice it.
    /// </summary>
    internal sealed class CoreClrHost : IDomain
    {
        private readonly Options options;
        private readonly List<WeakReference> former = new();
        private Scripts scripts;

        private CoreClrHost(Options options, NativeSide native)
        {
            this.options = options;
            Native.Current = native;
        }

        public static int Main(string[] args) => new SimulatedEditor(args, (options, native) => new CoreClrHost(options, native)).Run();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Load()
        {
            scripts = new Scripts();
            Engine.Load(scripts.LoadAll(options.Scripts));
        }

        public void Tick() => Engine.Tick();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Unload()
        {
            Engine.Unload();
            former.Add(new WeakReference(scripts));
            scripts.Unload();
            scripts = null;
        }

        public void Quit() => Engine.Quit();

        public bool Invoke(string type, string method, string argument) => Engine.Invoke(type, method, argument);

        public string Window(string order) => Engine.Window(order);

        public int Leaked()
        {
            for (int i = 0; i < 20 && former.Any(w => w.IsAlive); i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                Thread.Sleep(5);
            }
            return former.Count(w => w.IsAlive);
        }

        private sealed class Scripts : AssemblyLoadContext
        {
            private string folder;

            public Scripts() : base("Scripts", isCollectible: true)
            {
            }

            public Assembly[] LoadAll(string from)
            {
                folder = from;
                return Directory.GetFiles(from, "Holdfast.*.dll").OrderBy(f => f, StringComparer.Ordinal)
                    .Select(f => Load(new AssemblyName(Path.GetFileNameWithoutExtension(f)))).ToArray();
            }

            // Newtonsoft is an assembly of the project too, so it is loaded again with the scripts.
            protected override Assembly Load(AssemblyName name)
            {
                bool ours = name.Name.StartsWith("Holdfast.", StringComparison.Ordinal) || name.Name == "Newtonsoft.Json";
                string path = Path.Combine(folder, name.Name + ".dll");
                if (!ours || !File.Exists(path)) return null;
                // Assemblies that are loaded already are looked up, not stored in a field. A field would keep this context in
                // memory for ever, since the context object lives until its code is unloaded.
                if (Assemblies.FirstOrDefault(a => a.GetName().Name == name.Name) is { } known) return known;
                using var stream = new MemoryStream(File.ReadAllBytes(path));
                return LoadFromStream(stream);
            }
        }
    }
}
