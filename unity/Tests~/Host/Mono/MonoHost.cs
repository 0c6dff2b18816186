using System;
using System.IO;
using System.Linq;

namespace EditorHost
{
    /// <summary>Loads the stubs and the package into an AppDomain, which a reload unloads, as Unity up to 6.x does.</summary>
    internal sealed class MonoHost : IDomain
    {
        private readonly Options options;
        private readonly NativeSide native;
        private AppDomain domain;
        private DomainEntry entry;

        private MonoHost(Options options, NativeSide native)
        {
            this.options = options;
            this.native = native;
        }

        public static int Main(string[] args) => new SimulatedEditor(args, (options, native) => new MonoHost(options, native)).Run();

        public void Load()
        {
            // Shadow copies are not needed, since the assemblies do not change while the host runs.
            var setup = new AppDomainSetup { ApplicationBase = AppDomain.CurrentDomain.BaseDirectory };
            domain = AppDomain.CreateDomain("Scripts", null, setup);
            domain.SetData("EditorHost.Native", native);
            entry = (DomainEntry)domain.CreateInstanceAndUnwrap(typeof(DomainEntry).Assembly.FullName, typeof(DomainEntry).FullName);
            entry.Load(Directory.GetFiles(options.Scripts, "Holdfast.*.dll").OrderBy(f => f, StringComparer.Ordinal).ToArray());
        }

        public void Tick() => entry.Tick();

        public void Unload()
        {
            entry.Unload();
            AppDomain.Unload(domain);
            entry = null;
        }

        public void Quit() => entry.Quit();

        public bool Invoke(string type, string method, string argument) => entry.Invoke(type, method, argument);

        public string Window(string order) => entry.Window(order);

        // Always 0: unloading an AppDomain either removes it from memory or throws.
        public int Leaked() => 0;
    }
}
