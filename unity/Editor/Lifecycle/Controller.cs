#nullable enable
using System;
using System.Diagnostics;
using System.Linq;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>
    /// Starts the bridge after the editor has loaded the scripts, ticks it in every frame, and stops it before the scripts are
    /// unloaded. Every subscription to an event is removed: in newer editors Unity's own assemblies outlive ours, so one
    /// forgotten delegate would keep every former domain in memory.
    /// </summary>
    [InitializeOnLoad]
    internal static class Controller
    {
        /// <summary>If this environment variable is 1, the bridge runs in batch mode too.</summary>
        public const string BatchModeVariable = "HOLDFAST_BATCH_MODE";

        private const string StoppedKey = "Holdfast.StoppedByUser";

        private static Bridge? bridge;
        private static TrafficLog? traffic;
        private static int generation;
        private static bool subscribed;

        static Controller()
        {
            Stopwatch watch = Stopwatch.StartNew();
            if (!IsWanted()) return;
            Subscribe();
            if (!SessionState.GetBool(StoppedKey, false)) Begin(watch);
        }

        /// <summary>The running bridge, or null. Main thread.</summary>
        public static Bridge? Bridge => bridge;

        /// <summary>The log of requests; it stays readable while the bridge is stopped. Main thread.</summary>
        public static TrafficLog Traffic => traffic ??= TrafficLog.Load(new EditorSessionStore());

        /// <summary>Starts the bridge now; it also starts again after each later reload. Main thread.</summary>
        public static void Start()
        {
            SessionState.EraseBool(StoppedKey);
            Subscribe();
            if (bridge == null) Begin(Stopwatch.StartNew());
        }

        /// <summary>Stops the bridge until <see cref="Start"/> is called or the editor is restarted. Main thread.</summary>
        public static void Stop()
        {
            SessionState.SetBool(StoppedKey, true);
            End(StopCause.UserStopped);
        }

        // Import workers and the extra processes of Multiplayer Play Mode load every script too, but they are not editors. So the
        // bridge does not run in them.
        private static bool IsWanted()
        {
            if (AssetDatabase.IsAssetImportWorkerProcess()) return false;
            if (UnityEditor.MPE.ProcessService.level != UnityEditor.MPE.ProcessLevel.Main) return false;
            if (CommandLine.IsVirtualPlayer(Environment.GetCommandLineArgs())) return false;
            return !Application.isBatchMode || Environment.GetEnvironmentVariable(BatchModeVariable) == "1" ||
                HoldfastSettings.instance.RunInBatchMode;
        }

        private static void Subscribe()
        {
            if (subscribed) return;
            subscribed = true;
            AssemblyReloadEvents.beforeAssemblyReload += BeforeReload;
            EditorApplication.quitting += Quitting;
            EditorApplication.update += Tick;
            CodeUnload.Unloading += BeforeReload;
        }

        private static void Unsubscribe()
        {
            subscribed = false;
            AssemblyReloadEvents.beforeAssemblyReload -= BeforeReload;
            EditorApplication.quitting -= Quitting;
            EditorApplication.update -= Tick;
            CodeUnload.Unloading -= BeforeReload;
        }

        private static void Begin(Stopwatch watch)
        {
            var log = new UnityLog();
            // The rehearsal is started first: it runs on its own thread while this thread does the rest.
            Rehearsal? rehearsal = Rehearsal.IsWorthIt ? new Rehearsal(log) : null;
            try
            {
                var session = new EditorSessionStore();
                if (generation == 0) generation = Holdfast.Bridge.CountDomain(session);
                HoldfastSettings settings = HoldfastSettings.instance;
                bridge = new Bridge(new BridgeOptions
                {
                    Editor = EditorFacts.Read(),
                    State = new EditorStateReader(),
                    Session = session,
                    Pulse = new EditorPulse(HoldfastPreferences.instance),
                    Log = log,
                    Security = settings.Security,
                    Tools = new TypeCacheTools(),
                    Traffic = Traffic,
                    AddServices = AddPorts,
                    PreferredPort = settings.Port,
                    Generation = generation,
                    Rehearsal = rehearsal,
                    Watch = watch
                });
                bridge.Start();
            }
            catch (Exception e)
            {
                // A failure of the bridge must not disturb the user's editor.
                log.Error("Holdfast could not start: " + e);
                bridge = null;
            }
        }

        private static void AddPorts(ServiceTable ports)
        {
            foreach (Type type in TypeCache.GetTypesDerivedFrom<IPortProvider>().Where(t => !t.IsAbstract))
            {
                try
                {
                    ((IPortProvider)Activator.CreateInstance(type)!).AddPorts(ports);
                }
                catch (Exception e)
                {
                    // One broken part must not stop the bridge. The tools that need its ports refuse their calls.
                    ports.Broke(type, e);
                }
            }
            foreach (var broken in ports.Broken) TellOnce(broken.Key, broken.Value);
        }

        // The scripts are loaded again and again; the console gets one error for each broken part and session.
        private static void TellOnce(Type part, Exception e)
        {
            string key = "Holdfast.Broken." + part.FullName;
            if (SessionState.GetBool(key, false)) return;
            SessionState.SetBool(key, true);
            new UnityLog().Error($"{part.FullName} could not be used, so the tools that need it are refused: {e.Message}");
        }

        private static void End(StopCause cause)
        {
            Bridge? ending = bridge;
            bridge = null;
            ending?.Stop(cause);
        }

        private static void Tick() => bridge?.Tick();

        private static void BeforeReload() => Leave(StopCause.DomainReload);

        private static void Quitting() => Leave(StopCause.EditorQuit);

        private static void Leave(StopCause cause)
        {
            Unsubscribe();
            End(cause);
            traffic?.Save(new EditorSessionStore());
            traffic = null;
        }
    }
}
