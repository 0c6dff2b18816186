// Stubs of the part of UnityEditor that the package uses. Signatures are Unity's, which FactTests checks. The behaviour is
// simulated.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using EditorHost;
using UnityEngine;

namespace UnityEditor
{
    [AttributeUsage(AttributeTargets.Class)]
    public class InitializeOnLoadAttribute : Attribute
    {
    }

    public sealed class EditorApplication
    {
        public delegate void CallbackFunction();

        public static CallbackFunction update;

        public static event Action quitting;

        public static string applicationContentsPath => Native.Current.GetSession("contents") ?? Native.Current.Text("contents");

        public static bool isCompiling => Native.Current.Flag("isCompiling");

        public static bool isUpdating => Native.Current.Flag("isUpdating");

        public static bool isPlayingOrWillChangePlaymode => Native.Current.Flag("willPlay");

        public static bool isPlaying
        {
            get => Native.Current.Flag("isPlaying");
            set => Native.Current.Request(value ? "play" : "stop");
        }

        public static bool isPaused
        {
            get => Native.Current.Flag("isPaused");
            set => Native.Current.Request(value ? "pause" : "unpause");
        }

        public static void Step() => Native.Current.Request("step");

        // Everything here is up to date at once.
        public static void QueuePlayerLoopUpdate()
        {
        }

        public static bool ExecuteMenuItem(string menuItemPath)
        {
            if (menuItemPath == "File/Save")
            {
                if (UnityEngine.SceneManagement.SceneManager.Open.Any(s => s.Path.Length == 0) || isPlaying) Dialogs.Show("Save Scene");
                return true;
            }
            MethodInfo method = Menus.Methods().FirstOrDefault(m => m.IsDefined(typeof(MenuItem)) && m.GetCustomAttribute<MenuItem>().menuItem == menuItemPath);
            method?.Invoke(null, null);
            return method != null;
        }

        internal static void SignalTick() => Native.Current.SignalTick();

        internal static void RaiseUpdate()
        {
            foreach (Delegate one in update?.GetInvocationList() ?? Array.Empty<Delegate>()) Engine.Guard(() => ((CallbackFunction)one)());
        }

        internal static void RaiseQuitting()
        {
            foreach (Delegate one in quitting?.GetInvocationList() ?? Array.Empty<Delegate>()) Engine.Guard(() => ((Action)one)());
        }
    }

    public static class AssemblyReloadEvents
    {
        public delegate void AssemblyReloadCallback();

        public static event AssemblyReloadCallback beforeAssemblyReload;

        public static event AssemblyReloadCallback afterAssemblyReload;

        internal static void RaiseBefore()
        {
            foreach (Delegate one in beforeAssemblyReload?.GetInvocationList() ?? Array.Empty<Delegate>())
            {
                Engine.Guard(() => ((AssemblyReloadCallback)one)());
            }
        }

        internal static void RaiseAfter()
        {
            foreach (Delegate one in afterAssemblyReload?.GetInvocationList() ?? Array.Empty<Delegate>())
            {
                Engine.Guard(() => ((AssemblyReloadCallback)one)());
            }
        }
    }

    public class SessionState
    {
        public static void SetString(string key, string value) => Set("s:" + key, value);

        public static string GetString(string key, string defaultValue) => Get("s:" + key) ?? defaultValue;

        public static void EraseString(string key) => Set("s:" + key, null);

        public static void SetInt(string key, int value) => Set("i:" + key, value.ToString());

        public static int GetInt(string key, int defaultValue) => Get("i:" + key) is { } text ? int.Parse(text) : defaultValue;

        public static void SetBool(string key, bool value) => Set("b:" + key, value.ToString());

        public static bool GetBool(string key, bool defaultValue) => Get("b:" + key) is { } text ? bool.Parse(text) : defaultValue;

        public static void EraseBool(string key) => Set("b:" + key, null);

        private static string Get(string key)
        {
            Engine.OnlyMainThread("SessionState");
            return Native.Current.GetSession(key);
        }

        private static void Set(string key, string value)
        {
            Engine.OnlyMainThread("SessionState");
            Native.Current.SetSession(key, value);
        }
    }

    public class EditorUtility
    {
        // It is in no scene that is saved, and is no change of one.
        public static GameObject CreateGameObjectWithHideFlags(string name, HideFlags flags, params Type[] components)
        {
            var made = new GameObject(name, (UnityEngine.SceneManagement.SceneModel)null) { hideFlags = flags };
            foreach (Type type in components) made.Add((Component)Activator.CreateInstance(type));
            Counted.Hidden++;
            return made;
        }

        public static bool scriptCompilationFailed =>
            Native.Current.Flag("compileErrors") || Native.Current.GetSession("EditorHost.CompilerError") != null;

        public static void SetDirty(UnityEngine.Object target) => target.Dirty = true;

        public static bool IsDirty(UnityEngine.Object target) => target.Dirty;

        public static void RequestScriptReload() => Native.Current.Request("reload");

#if UNITY_6000_3_OR_NEWER
        public static UnityEngine.Object EntityIdToObject(EntityId entityId) => WithNumber(entityId.Value);
#else
        public static UnityEngine.Object InstanceIDToObject(int instanceID) => WithNumber((ulong)instanceID);
#endif

        private static UnityEngine.Object WithNumber(ulong number) =>
            UnityEngine.SceneManagement.SceneManager.Open.Append(SceneManagement.PrefabStageUtility.Current?.Model).Where(s => s != null)
                .SelectMany(s => s.All()).SelectMany(o => o.Components.Prepend<UnityEngine.Object>(o)).Concat(AssetFiles.All).Concat(SettingsFiles.All)
                .FirstOrDefault(o => (ulong)o.Number == number);
    }

    public class AssetDatabase
    {
        public static void Refresh() => Native.Current.Request("refresh");

        public static T LoadAssetAtPath<T>(string assetPath) where T : UnityEngine.Object =>
            typeof(ScriptableObject).IsAssignableFrom(typeof(T)) && assetPath.StartsWith("Packages/") ? Activator.CreateInstance<T>() : null;

        public static string GetAssetPath(UnityEngine.Object assetObject) =>
            AssetFiles.PathOf(assetObject) ?? SettingsFiles.PathOf(assetObject) ?? (assetObject is GameObject or Component ? "" : "Assets/" + assetObject.name);

        public static UnityEngine.Object LoadMainAssetAtPath(string assetPath) => AssetFiles.Load(assetPath);

        public static bool IsValidFolder(string path) => System.IO.Directory.Exists(AssetFiles.Full(path));

        public static void CreateAsset(UnityEngine.Object asset, string path) => AssetFiles.Create(asset, path);

        public static string CreateFolder(string parentFolder, string newFolderName)
        {
            System.IO.Directory.CreateDirectory(AssetFiles.Full(parentFolder + "/" + newFolderName));
            return newFolderName;
        }

        public static string MoveAsset(string oldPath, string newPath)
        {
            AssetFiles.Move(oldPath, newPath);
            return "";
        }

        public static bool CopyAsset(string path, string newPath)
        {
            System.IO.File.Copy(AssetFiles.Full(path), AssetFiles.Full(newPath));
            return true;
        }

        public static void ImportAsset(string path) => ImportAsset(path, ImportAssetOptions.Default);

        // As in Unity, settings that were not written before are written now. A file stands for a script of the project that has the last word.
        public static void ImportAsset(string path, ImportAssetOptions options)
        {
            AssetFiles.Forget(path);
            if (AssetImporter.GetAtPath(path) is not { } importer) return;
            if (importer is TextureImporter && System.IO.File.Exists(AssetFiles.Full("Assets/.postprocessor")))
            {
                importer.Values = new Dictionary<string, object>(importer.Values) { ["m_MaxTextureSize"] = 512 };
                importer.Dirty = true;
            }
            SettingsFiles.Save(importer);
            Counted.Imports++;
        }

        public static bool WriteImportSettingsIfDirty(string path) => SettingsFiles.Save(AssetImporter.GetAtPath(path));

        public static GUID GUIDFromAssetPath(string path) => new(path);

        public static bool MoveAssetToTrash(string path)
        {
            System.IO.Directory.CreateDirectory(AssetFiles.Full("Trash"));
            AssetFiles.Move(path, "Trash/" + System.IO.Path.GetFileName(path));
            return true;
        }

        public static void SaveAssetIfDirty(UnityEngine.Object obj)
        {
            if (!SettingsFiles.Save(obj) && !SettingsFiles.All.Contains(obj)) obj.Dirty = false;
        }

        public static UnityEngine.Object[] LoadAllAssetsAtPath(string assetPath) =>
            assetPath.EndsWith(".unity") ? throw new ArgumentException("Do not use ReadObjectThreaded on scene objects!")
            : SettingsFiles.Load(assetPath) is { } settings ? new[] { settings }
            : AssetFiles.LoadAll(assetPath);

        public static bool Contains(UnityEngine.Object obj) => GetAssetPath(obj).Length > 0;

        public static bool IsMainAsset(UnityEngine.Object obj) => Contains(obj) && !AssetFiles.IsPart(obj);

        public static string[] GetLabels(UnityEngine.Object obj) => new[] { "Hero" };

        public static string[] GetLabels(GUID guid) => guid.Text.Contains("/") ? AssetFiles.Labels(guid.Text) : new[] { "Hero" };

        public static string[] GetDependencies(string pathName, bool recursive) =>
            recursive ? throw new NotSupportedException() : AssetFiles.Dependencies(pathName);

        public static string GUIDToAssetPath(string guid) => guid.Contains("/") ? guid : "Assets/" + guid + ".png";

        // The ids of files are their paths.
        public static string[] FindAssets(string filter, string[] searchInFolders) =>
            searchInFolders.SelectMany(AssetFiles.Below).Where(f => filter.Split(' ').All(w => Matches(f, w))).ToArray();

        private static bool Matches(string path, string word) => word.StartsWith("l:") ? Array.IndexOf(AssetFiles.Labels(path), word.Substring(2)) >= 0
            : !word.StartsWith("t:")
            ? System.IO.Path.GetFileName(path).IndexOf(word, StringComparison.OrdinalIgnoreCase) >= 0
            : word == "t:Scene" ? path.EndsWith(".unity") : AssetFiles.TypeOf(path)?.Name == (word == "t:Prefab" ? "GameObject" : word.Substring(2));

        public static string AssetPathToGUID(string path) => System.IO.Path.GetFileNameWithoutExtension(path);

        public static Type GetMainAssetTypeAtPath(string assetPath) => AssetFiles.TypeOf(assetPath);

        public static bool IsAssetImportWorkerProcess() => Native.Current.Flag("importWorker");
    }

    /// <summary>The ids are those of the session.</summary>
    public struct GlobalObjectId
    {
        private const string Prefix = "GlobalObjectId_V1-2-00000000000000000000000000000000-";

        private string number;

        public int identifierType => 2;

        public override string ToString() => Prefix + number + "-0";

        public static GlobalObjectId GetGlobalObjectIdSlow(UnityEngine.Object obj)
        {
            Counted.GlobalIds++;
            return new GlobalObjectId { number = Number(obj) };
        }

        public static bool TryParse(string stringValue, out GlobalObjectId id)
        {
            bool known = stringValue.StartsWith(Prefix);
            id = known ? new GlobalObjectId { number = stringValue.Substring(Prefix.Length).Split('-')[0] } : default;
            return known;
        }

        public static UnityEngine.Object GlobalObjectIdentifierToObjectSlow(GlobalObjectId id) =>
            UnityEngine.SceneManagement.SceneManager.Open.SelectMany(s => s.Roots).SelectMany(All).Concat(AssetFiles.All).FirstOrDefault(o => Number(o) == id.number);

        private static string Number(UnityEngine.Object one) =>
#if UNITY_6000_4_OR_NEWER
            EntityId.ToULong(one.GetEntityId()).ToString();
#else
            one.GetInstanceID().ToString();
#endif

        private static IEnumerable<UnityEngine.Object> All(GameObject one)
        {
            yield return one;
            foreach (Component component in one.GetComponents<Component>()) yield return component;
            for (int i = 0; i < one.transform.childCount; i++)
            {
                foreach (UnityEngine.Object below in All(one.transform.GetChild(i).gameObject)) yield return below;
            }
        }
    }

    public static class TypeCache
    {
        public static TypeCollection GetTypesWithAttribute<T>() where T : Attribute =>
            // A flag stands for a cache without the assemblies that do not refer to Unity. Whether Unity's is one, no source says.
            new(Engine.Types.Where(t => t.IsDefined(typeof(T), true) && !(t.Assembly.GetName().Name == "Holdfast.Core" && Native.Current.Flag("typeCacheOfUnity"))));

        public static TypeCollection GetTypesDerivedFrom<T>() => GetTypesDerivedFrom(typeof(T));

        public static TypeCollection GetTypesDerivedFrom(Type parentType) =>
            new(Engine.Types.Concat(parentType.Assembly.GetTypes()).Distinct().Where(t => t != parentType && parentType.IsAssignableFrom(t) && UiKinds.IsThere(t)));

        public static MethodCollection GetMethodsWithAttribute<T>() where T : Attribute =>
            new(Menus.Methods().Where(m => m.IsDefined(typeof(T), false)));

        public struct MethodCollection : IEnumerable<MethodInfo>
        {
            private readonly MethodInfo[] methods;

            internal MethodCollection(IEnumerable<MethodInfo> methods) => this.methods = methods.ToArray();

            public int Count => methods.Length;

            IEnumerator<MethodInfo> IEnumerable<MethodInfo>.GetEnumerator() => ((IEnumerable<MethodInfo>)methods).GetEnumerator();

            IEnumerator IEnumerable.GetEnumerator() => methods.GetEnumerator();
        }

        public struct TypeCollection : IEnumerable<Type>
        {
            private readonly Type[] types;

            internal TypeCollection(IEnumerable<Type> types) => this.types = types.ToArray();

            public int Count => types.Length;

            IEnumerator<Type> IEnumerable<Type>.GetEnumerator() => ((IEnumerable<Type>)types).GetEnumerator();

            IEnumerator IEnumerable.GetEnumerator() => types.GetEnumerator();
        }
    }

    [AttributeUsage(AttributeTargets.Class)]
    public class FilePathAttribute : Attribute
    {
        public enum Location
        {
            PreferencesFolder,
            ProjectFolder
        }

        public FilePathAttribute(string relativePath, Location location)
        {
            Path = relativePath;
            Folder = location;
        }

        internal string Path { get; }

        internal Location Folder { get; }
    }

    public class ScriptableSingleton<T> : ScriptableObject where T : ScriptableObject
    {
        private static T s_Instance;

        public static T instance
        {
            get
            {
                Engine.OnlyMainThread("ScriptableSingleton");
                return s_Instance ??= (T)Singletons.Create(typeof(T));
            }
        }

        protected virtual void Save(bool saveAsText) => Singletons.SaveToFile(this);
    }
}

namespace UnityEditor.MPE
{
    [Flags]
    public enum ProcessLevel
    {
        Main = 1,
        Secondary = 2
    }

    public class ProcessService
    {
        public static ProcessLevel level => Native.Current.Flag("secondary") ? ProcessLevel.Secondary : ProcessLevel.Main;
    }
}

namespace UnityEditorInternal
{
    public class InternalEditorUtility
    {
        public static string[] tags => GameObject.Tags;

        public static string[] layers => LayerMask.Names;

        public static bool isApplicationActive => Native.Current.Flag("isFocused");
    }
}

#if UNITY_6000_5_OR_NEWER
namespace Unity.Scripting.LifecycleManagement
{
    public abstract class LifecycleAttributeBase : Attribute
    {
    }

    [AttributeUsage(AttributeTargets.Method, AllowMultiple = false)]
    public sealed class OnCodeUnloadingAttribute : LifecycleAttributeBase
    {
    }
}
#endif

// Newer editors have moved this type to UnityEngine.
#if UNITY_6000_4_OR_NEWER
namespace UnityEngine
#else
namespace UnityEditor
#endif
{
    // The ids of files are their paths.
    public struct GUID
    {
        internal string Text { get; }

        public GUID(string hexRepresentation) => Text = hexRepresentation;
    }
}
