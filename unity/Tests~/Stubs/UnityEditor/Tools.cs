// Stubs of the API that the adapters of the tools use. Signatures are Unity's. The console, the menu, the search and the compiler
// are simulated; their state is in the host, which outlives the domain.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using EditorHost;
using UnityEngine;

namespace UnityEditor
{
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    public sealed class MenuItem : Attribute
    {
        public string menuItem;
        public bool validate;
        public int priority;

        public MenuItem(string itemName) => menuItem = itemName;

        public MenuItem(string itemName, bool isValidateFunction) : this(itemName) => validate = isValidateFunction;
    }

    internal struct ScriptingMenuItem
    {
        public string path { get; set; }

        public bool isSeparator { get; set; }

        public int priority { get; set; }
    }

    public sealed class Menu
    {
        public static bool GetEnabled(string menuPath) => menuPath != "Edit/Undo";

        public static void SetChecked(string menuPath, bool isChecked) =>
            Native.Current.SetSession("checked:" + menuPath, isChecked.ToString());

        internal static ScriptingMenuItem[] GetMenuItems(string menuPath, bool includeSeparators, bool localized) => new[]
        {
            new ScriptingMenuItem { path = "Edit/Undo", priority = 1 }, new ScriptingMenuItem { path = "File/Exit", priority = 2 }
        };

        internal static bool MenuItemExists(string menuPath) =>
            menuPath == "File/Save" || GetMenuItems("", false, false).Any(i => i.path == menuPath) ||
            Menus.Methods().Any(m => m.GetCustomAttributes<MenuItem>().Any(i => i.menuItem == menuPath));
    }

    public enum ApiCompatibilityLevel
    {
        NET_4_6 = 3,
        NET_Unity_4_8 = NET_4_6
    }

    internal static class Menus
    {
        public static IEnumerable<MethodInfo> Methods() =>
            Engine.Types.SelectMany(t => t.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic));
    }

    public sealed class EditorPrefs
    {
        public static int GetInt(string key, int defaultValue) =>
            int.TryParse(Native.Current.GetSession("pref:" + key), out int value) ? value : defaultValue;
    }

    internal sealed class LogEntry
    {
        public string message = "";
        public string file = "";
        public int line;
        public int mode;
        public int callstackTextStartUTF16;
    }

    internal sealed class LogEntries
    {
        private static string[] reading;

        public static int consoleFlags => int.Parse(Native.Current.GetSession("consoleFlags") ?? "896");

        public static void SetConsoleFlag(int bit, bool value) =>
            Native.Current.SetSession("consoleFlags", (value ? consoleFlags | bit : consoleFlags & ~bit).ToString());

        public static string GetFilteringText() => Native.Current.GetSession("consoleFilter") ?? "";

        public static void SetFilteringText(string filteringText) => Native.Current.SetSession("consoleFilter", filteringText);

        public static int StartGettingEntries()
        {
            reading = All().Where(l => (consoleFlags & Button(l)) != 0 && l.Contains(GetFilteringText())).ToArray();
            return reading.Length;
        }

        public static void EndGettingEntries() => reading = null;

        public static bool GetEntryInternal(int row, LogEntry outputEntry)
        {
            outputEntry.message = Uri.UnescapeDataString(reading[row].Substring(2));
            outputEntry.file = "Assets/Player.cs";
            outputEntry.line = 7;
            outputEntry.callstackTextStartUTF16 = outputEntry.message.Length;
            outputEntry.mode = reading[row][0] == 'e' ? 1 << 8 : reading[row][0] == 'w' ? 1 << 9 : 1 << 10;
            return true;
        }

        public static void GetCountsByType(ref int errorCount, ref int warningCount, ref int logCount)
        {
            errorCount = All().Count(l => l[0] == 'e');
            warningCount = All().Count(l => l[0] == 'w');
            logCount = All().Count(l => l[0] == 'l');
        }

        public static void Clear() => Native.Current.SetSession("console", null);

        private static int Button(string line) => line[0] == 'e' ? 1 << 9 : line[0] == 'w' ? 1 << 8 : 1 << 7;

        private static string[] All() =>
            (Native.Current.GetSession("console") ?? "").Split(new[] { '\n' }, StringSplitOptions.RemoveEmptyEntries);
    }
}

namespace UnityEditor.Compilation
{
    [Flags]
    public enum RequestScriptCompilationOptions
    {
        None = 0,
        CleanBuildCache = 1
    }

    public enum CompilerMessageType
    {
        Error,
        Warning,
        Info
    }

    public struct CompilerMessage
    {
        public string message;
        public string file;
        public int line;
        public int column;
        public CompilerMessageType type;
    }

    public class Assembly
    {
        public string outputPath { get; internal set; }
    }

    public enum AssembliesType
    {
        Editor
    }

    public static class CompilationPipeline
    {
        [Flags]
        public enum PrecompiledAssemblySources
        {
            All = ~0
        }

        public static Assembly[] GetAssemblies(AssembliesType assembliesType) =>
            System.IO.Directory.GetFiles(Native.Current.Text("scripts"), "Holdfast*.dll").Select(f => new Assembly { outputPath = f }).ToArray();

        public static string[] GetPrecompiledAssemblyPaths(PrecompiledAssemblySources precompiledAssemblySources) =>
            new[] { "Unity*.dll", "Newtonsoft*.dll" }.SelectMany(f => System.IO.Directory.GetFiles(Native.Current.Text("scripts"), f)).ToArray();

        public static string[] GetSystemAssemblyDirectories(ApiCompatibilityLevel apiCompatibilityLevel)
        {
            string api = Native.Current.Text("contents") + "/UnityReferenceAssemblies/unity-4.8-api";
            return new[] { api, api + "/Facades" };
        }

        private static bool compiling;

        public static event Action<object> compilationStarted;

        public static event Action<object> compilationFinished;

        public static event Action<string, CompilerMessage[]> assemblyCompilationFinished;

        public static void RequestScriptCompilation(RequestScriptCompilationOptions options) => Native.Current.Request("compile");

        /// <summary>Raises the events of compilations that have begun or ended in the host since the last call.</summary>
        internal static void Follow(bool now)
        {
            if (now == compiling) return;
            compiling = now;
            if (now)
            {
                Engine.Guard(() => compilationStarted?.Invoke(null));
                return;
            }
            bool failed = EditorUtility.scriptCompilationFailed;
            string[] error = Native.Current.GetSession("EditorHost.CompilerError")?.Split('\n') ?? new[]
            {
                "Assets/Player.cs", "7", failed ? "CS1002: ; expected" : "CS0168: never used"
            };
            var message = new CompilerMessage
            {
                message = error[2], file = error[0], line = int.Parse(error[1]), column = 3,
                type = failed ? CompilerMessageType.Error : CompilerMessageType.Warning
            };
            Engine.Guard(() => assemblyCompilationFinished?.Invoke("Library/ScriptAssemblies/Assembly-CSharp.dll", new[] { message }));
            Engine.Guard(() => compilationFinished?.Invoke(null));
        }
    }
}

namespace UnityEditor.SceneManagement
{
    public enum OpenSceneMode
    {
        Single,
        Additive,
        AdditiveWithoutLoading
    }

    public enum NewSceneMode
    {
        Single,
        Additive
    }

    public enum NewSceneSetup
    {
        EmptyScene,
        DefaultGameObjects
    }

    /// <summary>Scenes are empty files. As in Unity, opening or creating a single scene discards the others.</summary>
    public sealed class EditorSceneManager : UnityEngine.SceneManagement.SceneManager
    {
        public static bool SaveOpenScenes() => Open.All(s => SaveScene(new UnityEngine.SceneManagement.Scene { Model = s }, s.Path));

        public static UnityEngine.SceneManagement.Scene OpenScene(string scenePath, OpenSceneMode mode)
        {
            string text = System.IO.File.ReadAllText(AssetFiles.Full(scenePath));
            // Such as the marks of a merge.
            if (text.StartsWith("<<<<<<<")) throw new ArgumentException($"Scene file '{scenePath}' cannot be opened.\n");
            UnityEngine.SceneManagement.Scene scene = Add(scenePath, mode != OpenSceneMode.Single);
            foreach (GameObject root in SceneStore.Roots(text)) root.Into(scene.Model);
            return scene;
        }

        // Unity's own command for it asks the user before it calls this.
        internal static bool ReloadScene(UnityEngine.SceneManagement.Scene scene)
        {
            scene.Model.Roots.Clear();
            foreach (GameObject root in SceneStore.Roots(System.IO.File.ReadAllText(AssetFiles.Full(scene.path)))) root.Into(scene.Model);
            scene.Model.Dirty = false;
            return true;
        }

        public static UnityEngine.SceneManagement.Scene NewScene(NewSceneSetup setup, NewSceneMode mode)
        {
            UnityEngine.SceneManagement.Scene scene = Add("", mode != NewSceneMode.Single);
            if (setup == NewSceneSetup.DefaultGameObjects) _ = new GameObject("Main Camera", scene.Model) { tag = "MainCamera" }.Add(new Camera());
            scene.Model.Dirty = true;
            return scene;
        }

        public static bool SaveScene(UnityEngine.SceneManagement.Scene scene, string dstScenePath)
        {
            scene.Model.Path = dstScenePath;
            scene.Model.Dirty = false;
            System.IO.File.WriteAllText(AssetFiles.Full(dstScenePath), SceneStore.Text(scene.Model.Roots));
            return true;
        }

        public static bool CloseScene(UnityEngine.SceneManagement.Scene scene, bool removeScene)
        {
            Remove(scene.Model);
            return true;
        }
    }
}

namespace UnityEditor.Search
{
    [Flags]
    public enum SearchFlags
    {
        None = 0,
        Synchronous = 1 << 1,
        WantsMore = 1 << 10,
        Packages = 1 << 15
    }

    [Flags]
    public enum ShowDetailsOptions
    {
        None = 0,
        Preview = 1 << 0,
        Inspector = 1 << 1,
        Actions = 1 << 2,
        Description = 1 << 3,
        ListView = 1 << 4,
        DefaultGroup = 1 << 5,
#if UNITY_6000_0_OR_NEWER
        InspectorWithoutHeader = 1 << 6,
#endif
        Default = Preview | Actions | Description
    }

    public class SearchAction
    {
        public SearchAction(string providerId, string name, Texture2D icon = null, string tooltip = null) => id = name;

        public string id { get; }
    }

    public class SearchProvider
    {
        public string filterId;
        public int priority;
        public bool active;
        public bool isExplicitProvider;
        public bool showDetails;
        public ShowDetailsOptions showDetailsOptions = ShowDetailsOptions.Default;

        public SearchProvider(string id) => this.id = id;

        public string id { get; }

        public string name => id;

        public string type { get; set; }

        public List<SearchAction> actions { get; } = new();
    }

    public class SearchItem
    {
        public string id;
        public int score;
        public Texture2D thumbnail;
        public SearchProvider provider;

        public SearchItem(string id) => this.id = id;

        public string GetLabel(SearchContext context, bool stripHTML) => id;

        public string GetDescription(SearchContext context, bool stripHTML) => "";

        // As in Unity, this would load an asset.
        public UnityEngine.Object ToObject() =>
            id.StartsWith("GlobalObjectId") ? throw new InvalidOperationException("the asset was loaded: " + id) : Asset;

        internal UnityEngine.Object Asset { get; set; }
    }

    public class SearchContext : IDisposable
    {
        internal string Query { get; set; } = "";

        public void Dispose()
        {
        }
    }

    public interface ISearchList : IList<SearchItem>, IDisposable
    {
        bool pending { get; }

        IEnumerable<SearchItem> GetRange(int skipCount, int count);
    }

    public static class SearchService
    {
        public static List<SearchProvider> Providers { get; } = new() { new SearchProvider("asset") { active = true, filterId = "p:" } };

        static SearchService()
        {
            Providers[0].showDetails = true;
            Providers[0].type = "asset";
            Providers[0].actions.Add(new SearchAction("asset", "select"));
        }

        public static SearchContext CreateContext(IEnumerable<string> providerIds, string searchText, SearchFlags flags) =>
            new() { Query = searchText };

        public static SearchContext CreateContext(string searchText, SearchFlags flags) => new() { Query = searchText };

        public static ISearchList Request(SearchContext context, SearchFlags options) => new Found(context.Query);

        private sealed class Found : List<SearchItem>, ISearchList
        {
            private readonly bool many;
            private int polls;

            public Found(string query)
            {
                many = query == "many";
                if (many) More();
                else Add(new SearchItem("found:" + query)
                {
                    provider = Providers[0], score = 3, thumbnail = new Texture2D(1, 1) { name = "d_Prefab Icon" },
                    Asset = new ScriptableObject { name = "Player.asset" }
                });
            }

            // As in Unity, the search takes several frames, and better results that come later are put before the others.
            public bool pending
            {
                get
                {
                    if (!many || polls == 4) return false;
                    polls++;
                    More();
                    return true;
                }
            }

            private void More() => InsertRange(0, Enumerable.Range(0, 1000).Select(i => new SearchItem(
                $"GlobalObjectId_V1-1-{(4 - polls) * 1000 + i:x32}-2800000-0") { provider = Providers[0] }).ToList());

            IEnumerable<SearchItem> ISearchList.GetRange(int skipCount, int count) => GetRange(skipCount, count);

            public void Dispose()
            {
            }
        }
    }
}
