// The part of the simulated editor that lives in the package's domain. The host calls it.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using UnityEditor;
using UnityEngine;

namespace EditorHost
{
    public static class Engine
    {
        private static int mainThread;
        private static Type[] types = Type.EmptyTypes;
        private static readonly MainThreadContext Context = new();

        internal static IEnumerable<Type> Types => types;

        /// <summary>
        /// Called when the scripts are loaded. Runs their [InitializeOnLoad] classes, then raises afterAssemblyReload.
        /// </summary>
        public static void Load(Assembly[] scripts)
        {
            mainThread = Environment.CurrentManagedThreadId;
            TMPro.TMP_Text.Essentials = () => Directory.GetFiles(Application.dataPath, "TMP Settings.asset", SearchOption.AllDirectories).Length > 0;
            TMPro.TMP_Text.Asked = () => Dialogs.Show("TMP Importer");
            (SceneStore.AssetName, SceneStore.AssetNamed) = (AssetFiles.NameOf, AssetFiles.Named);
            SynchronizationContext.SetSynchronizationContext(Context);
#if UNITY_6000_5_OR_NEWER
            UnityEngine.Assemblies.CurrentAssemblies.Loader = bytes => InContextOf(scripts[0], bytes);
#endif
            types = scripts.SelectMany(a => a.GetTypes()).ToArray();
            SceneStore.Prefab = path => AssetFiles.Load(path) as GameObject;
            SettingsFiles.UseTags();
            // Unity does not document whether it creates windows before it runs [InitializeOnLoad] code. The stubs create them
            // before, since that is the harder case for the package.
            Windows.Load();
            foreach (Type type in types.Where(t => t.IsDefined(typeof(InitializeOnLoadAttribute), false)))
            {
                Guard(() => RuntimeHelpers.RunClassConstructor(type.TypeHandle));
            }
            AssemblyReloadEvents.RaiseAfter();
        }

        /// <summary>Runs one turn of the editor's main loop.</summary>
        public static void Tick()
        {
            UnityEditor.Compilation.CompilationPipeline.Follow(Native.Current.Flag("compilerRuns"));
            Context.Run();
            EditorApplication.RaiseUpdate();
            UnityEditor.SceneManagement.PrefabStageUtility.Current?.Tick();
            Undo.FlushUndoRecordObjects();
            Windows.Tick();
        }

        public static void Quit() => EditorApplication.RaiseQuitting();

        /// <summary>Calls a static method of the scripts by name. The host uses it to carry out commands.</summary>
        /// <returns>False if the method does not exist.</returns>
        public static bool Invoke(string type, string method, string argument)
        {
            MethodInfo found = types.FirstOrDefault(t => t.FullName == type)?.GetMethod(method, BindingFlags.Static | BindingFlags.Public);
            if (found == null) return false;
            Guard(() => found.Invoke(null, found.GetParameters().Length == 0 ? null : new object[] { argument }));
            return true;
        }

        /// <summary>
        /// Takes the script of a component away, as happens if its file is deleted: of every BoxCollider in a file, or of the last
        /// component of an open scene's object.
        /// </summary>
        public static void LoseScript(string what)
        {
            if (what.StartsWith("Assets/"))
            {
                AssetFiles.LoseScripts(what);
                return;
            }
            GameObject one = UnityEngine.SceneManagement.SceneManager.Open.SelectMany(s => s.All()).First(o => o.name == what);
            Component last = one.Components[one.Components.Count - 1];
            one.Remove(last);
            one.Add(new MissingScript { Was = "Gone." + last.GetType().Name });
        }

        /// <summary>Operates the open windows as a person would.</summary>
        /// <returns>What is visible afterwards; after a failure, "!" and the reason.</returns>
        public static string Window(string order)
        {
            try
            {
                return Windows.Order(order);
            }
            catch (Exception e)
            {
                return "!" + (e is ArgumentException ? e.Message : e.ToString());
            }
        }

        /// <summary>Called when the scripts are about to be unloaded.</summary>
        public static void Unload()
        {
            UnityEditor.Compilation.CompilationPipeline.Follow(Native.Current.Flag("compilerRuns"));
#if UNITY_6000_5_OR_NEWER
            // The code may be unloaded without the event of a reload.
            if (!Native.Current.Flag("codeUnloadOnly")) AssemblyReloadEvents.RaiseBefore();
#else
            AssemblyReloadEvents.RaiseBefore();
#endif
#if UNITY_6000_5_OR_NEWER
            foreach (MethodInfo method in types.SelectMany(t => t.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
                         .Where(m => m.IsDefined(typeof(Unity.Scripting.LifecycleManagement.OnCodeUnloadingAttribute), false)))
            {
                Guard(() => method.Invoke(null, null));
            }
#endif
            Windows.Unload();
            SceneStore.Save();
            Singletons.CarryOver();
            types = Type.EmptyTypes;
#if UNITY_6000_5_OR_NEWER
            UnityEngine.Assemblies.CurrentAssemblies.Loader = null;
#endif
            Context.Clear();
        }

#if UNITY_6000_5_OR_NEWER
        // By reflection, since these stubs are compiled without contexts. Without a runtime that has them, there is one for all.
        private static Assembly InContextOf(Assembly script, byte[] bytes)
        {
            Type contexts = Type.GetType("System.Runtime.Loader.AssemblyLoadContext");
            if (contexts == null) return Assembly.Load(bytes);
            object own = contexts.GetMethod("GetLoadContext").Invoke(null, new object[] { script });
            using var stream = new MemoryStream(bytes);
            return (Assembly)contexts.GetMethod("LoadFromStream", new[] { typeof(Stream) }).Invoke(own, new object[] { stream });
        }
#endif

        public static void Guard(Action action)
        {
            try
            {
                action();
            }
            catch (Exception e)
            {
                Native.Current.Log("exception", e.ToString());
            }
        }

        internal static void OnlyMainThread(string what)
        {
            if (Environment.CurrentManagedThreadId == mainThread) return;
            throw new InvalidOperationException(what + " can only be used on the main thread");
        }

        // As in Unity, code that awaits on the main thread continues there in a later frame.
        private sealed class MainThreadContext : SynchronizationContext
        {
            private readonly Queue<(SendOrPostCallback, object)> posted = new();

            public override void Post(SendOrPostCallback callback, object state)
            {
                lock (posted) posted.Enqueue((callback, state));
            }

            public override void Send(SendOrPostCallback callback, object state) => throw new NotSupportedException();

            public override SynchronizationContext CreateCopy() => this;

            public void Clear()
            {
                lock (posted) posted.Clear();
            }

            public void Run()
            {
                int count;
                lock (posted) count = posted.Count;
                for (; count > 0; count--)
                {
                    (SendOrPostCallback Callback, object State) next;
                    lock (posted) next = posted.Dequeue();
                    Guard(() => next.Callback(next.State));
                }
            }
        }
    }

    /// <summary>Tells the program that controls the editor that Unity would open a dialog, for which no tool may be the reason.</summary>
    internal static class Dialogs
    {
        public static void Show(string title) => Native.Current.Tell("{\"event\":\"dialog\",\"title\":\"" + title + "\"}");
    }

    /// <summary>The entry point on Mono, where the package's domain is not the host's.</summary>
    public sealed class DomainEntry : MarshalByRefObject
    {
        public override object InitializeLifetimeService() => null;

        public void Load(string[] scripts) => Engine.Load(scripts.Select(Assembly.LoadFrom).ToArray());

        public void Tick() => Engine.Tick();

        public void Unload() => Engine.Unload();

        public void Quit() => Engine.Quit();

        public bool Invoke(string type, string method, string argument) => Engine.Invoke(type, method, argument);

        public string Window(string order) => Engine.Window(order);
    }

    /// <summary>
    /// Preserves the serialised fields of singletons across a reload. Some singletons are also saved to a file.
    /// </summary>
    internal static class Singletons
    {
        private static readonly List<object> Alive = new();

        public static object Create(Type type)
        {
            object created = Activator.CreateInstance(type);
            string file = FileOf(type);
            string saved = Native.Current.GetSession("o:" + type.FullName) ?? (file != null && File.Exists(file) ? File.ReadAllText(file) : "");
            foreach (string line in saved.Split('\n').Where(l => l.Contains('=')))
            {
                string[] parts = line.Split(new[] { '=' }, 2);
                FieldInfo field = Fields(type).FirstOrDefault(f => f.Name == parts[0]);
                if (field != null) field.SetValue(created, Read(field.FieldType, parts[1]));
            }
            Alive.Add(created);
            return created;
        }

        public static void CarryOver()
        {
            foreach (object one in Alive) Native.Current.SetSession("o:" + one.GetType().FullName, Write(one));
            Alive.Clear();
        }

        public static void SaveToFile(object one)
        {
            string file = FileOf(one.GetType());
            Directory.CreateDirectory(Path.GetDirectoryName(file));
            File.WriteAllText(file, Write(one));
        }

        private static string FileOf(Type type)
        {
            var about = type.GetCustomAttribute<FilePathAttribute>();
            string folder = Path.GetDirectoryName(Application.dataPath);
            if (about is { Folder: FilePathAttribute.Location.PreferencesFolder }) folder = Path.Combine(folder, "Preferences");
            return about == null ? null : Path.Combine(folder, about.Path);
        }

        private static IEnumerable<FieldInfo> Fields(Type type) =>
            type.GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public)
                .Where(f => f.IsDefined(typeof(SerializeField), false));

        private static string Write(object one) => string.Join("\n", Fields(one.GetType()).Select(f => f.Name + "=" + Text(f.GetValue(one))));

        private static string Text(object value) => value is IEnumerable<string> list
            ? string.Join(",", list.Select(item => Uri.EscapeDataString(item)))
            : value.ToString();

        private static object Read(Type type, string text)
        {
            if (type == typeof(int)) return int.Parse(text);
            if (type == typeof(bool)) return bool.Parse(text);
            if (type == typeof(string)) return text;
            return text.Length == 0 ? new List<string>() : text.Split(',').Select(Uri.UnescapeDataString).ToList();
        }
    }
}
