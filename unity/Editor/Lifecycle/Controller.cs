#nullable enable
using System;
using System.Linq;
using UnityEditor;
using UnityEngine;
#if UNITY_6000_5_OR_NEWER
using Unity.Scripting.LifecycleManagement;
#endif

namespace Holdfast.Editor
{
    /// <summary>
    /// Starts the bridge when the editor has loaded the scripts, ticks it, and stops it before they are unloaded. Every
    /// event that is subscribed to is unsubscribed from: in newer editors Unity's own assemblies outlive ours, and one
    /// forgotten delegate would keep every former domain in memory.
    /// </summary>
    [InitializeOnLoad]
    public static class Controller
    {
        /// <summary>Set to 1, it lets the bridge run in batch mode.</summary>
        public const string BatchModeVariable = "HOLDFAST_BATCH_MODE";

        private const string StoppedKey = "Holdfast.StoppedByUser";

        private static Bridge? bridge;
        private static TrafficLog? traffic;
        private static int generation;
        private static bool subscribed;

        static Controller()
        {
            if (!IsWanted()) return;
            Subscribe();
            if (!SessionState.GetBool(StoppedKey, false)) Begin();
        }

        /// <summary>The bridge, or null while there is none. Main thread.</summary>
        public static Bridge? Bridge => bridge;

        /// <summary>The log of the communication, also of a bridge that is stopped. Main thread.</summary>
        public static TrafficLog Traffic => traffic ??= TrafficLog.Load(new EditorSessionStore());

        /// <summary>Starts the bridge, also after later reloads. Main thread.</summary>
        public static void Start()
        {
            SessionState.EraseBool(StoppedKey);
            Subscribe();
            if (bridge == null) Begin();
        }

        /// <summary>Stops the bridge till <see cref="Start"/>, or till the editor is started anew. Main thread.</summary>
        public static void Stop()
        {
            SessionState.SetBool(StoppedKey, true);
            End(StopCause.UserStopped);
        }

        // Import workers and the processes of Multiplayer Play Mode load every script too; they are no editors.
        private static bool IsWanted()
        {
            if (AssetDatabase.IsAssetImportWorkerProcess()) return false;
            if (UnityEditor.MPE.ProcessService.level != UnityEditor.MPE.ProcessLevel.Main) return false;
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
        }

        private static void Unsubscribe()
        {
            subscribed = false;
            AssemblyReloadEvents.beforeAssemblyReload -= BeforeReload;
            EditorApplication.quitting -= Quitting;
            EditorApplication.update -= Tick;
        }

        private static void Begin()
        {
            var log = new UnityLog();
            // First of all: it has the time that the rest takes on this thread.
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
                    Rehearsal = rehearsal
                });
                bridge.Start();
            }
            catch (Exception e)
            {
                // The user's editor must not suffer from it.
                log.Error("Holdfast could not start: " + e);
                bridge = null;
            }
        }

        private static void AddPorts(ServiceTable ports)
        {
            foreach (Type type in TypeCache.GetTypesDerivedFrom<IPortProvider>().Where(t => !t.IsAbstract))
            {
                ((IPortProvider)Activator.CreateInstance(type)!).AddPorts(ports);
            }
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

#if UNITY_6000_5_OR_NEWER
        // Code is unloaded without an assembly reload too.
        [OnCodeUnloading]
        private static void CodeUnloading() => Leave(StopCause.DomainReload);
#endif

        private static void Leave(StopCause cause)
        {
            Unsubscribe();
            End(cause);
            traffic?.Save(new EditorSessionStore());
            traffic = null;
        }
    }
}
