using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using EditorHost;
using UnityEngine;
using Object = UnityEngine.Object;

namespace UnityEditor
{
    internal class TagManager : Object
    {
    }

    internal class TimeManager : Object
    {
    }

    internal class PlayerSettings : Object
    {
    }

    public class EditorBuildSettings : Object
    {
        internal EditorBuildSettings()
        {
        }

        /// <summary>As in Unity, the setter makes no step of undo.</summary>
        public static EditorBuildSettingsScene[] scenes
        {
            get
            {
                using var one = new SerializedObject(SettingsFiles.Load(SettingsFiles.BuildSettings));
                SerializedProperty list = one.FindProperty("m_Scenes");
                return Enumerable.Range(0, list.arraySize).Select(i => new EditorBuildSettingsScene(
                    one.FindProperty($"m_Scenes.Array.data[{i}].path").stringValue, one.FindProperty($"m_Scenes.Array.data[{i}].enabled").boolValue)).ToArray();
            }
            set
            {
                using var one = new SerializedObject(SettingsFiles.Load(SettingsFiles.BuildSettings));
                one.FindProperty("m_Scenes").arraySize = value.Length;
                for (int i = 0; i < value.Length; i++)
                {
                    one.FindProperty($"m_Scenes.Array.data[{i}].path").stringValue = value[i].path;
                    one.FindProperty($"m_Scenes.Array.data[{i}].enabled").boolValue = value[i].enabled;
                    one.FindProperty($"m_Scenes.Array.data[{i}].guid").stringValue = "id of " + value[i].path;
                }
                one.ApplyModifiedPropertiesWithoutUndo();
            }
        }
    }

    public class EditorBuildSettingsScene
    {
        public EditorBuildSettingsScene(string path, bool enabled) => (this.path, this.enabled) = (path, enabled);

        public bool enabled { get; set; }

        public string path { get; set; }
    }

    public class AssetImporter : Object
    {
        internal string Path { get; set; }

        public string assetPath => Path;

        public static AssetImporter GetAtPath(string path) => File.Exists(AssetFiles.Full(path)) ? SettingsFiles.ImporterOf(path) : null;

        public void SaveAndReimport() => AssetDatabase.ImportAsset(assetPath);
    }

    internal enum TextureImporterType
    {
        Default = 0,
        Sprite = 8
    }

    internal class TextureImporter : AssetImporter
    {
        public TextureImporterType textureType { get; set; }
    }

    /// <summary>
    /// What is in the files of the project's settings and in the .meta files of assets. It is loaded once, changed in memory, and written when it is
    /// saved. Unlike in the rest of the simulated project, what is in memory outlives a reload, as in Unity.
    /// </summary>
    internal static class SettingsFiles
    {
        public const string BuildSettings = "ProjectSettings/EditorBuildSettings.asset";

        private const string Tags = "ProjectSettings/TagManager.asset";

        private static readonly Dictionary<string, Object> Loaded = new();

        public static IEnumerable<Object> All => Loaded.Values;

        /// <summary>An object of the project's settings; null if there is no such file.</summary>
        public static Object Load(string path) => path switch
        {
            Tags => One(path, () => new TagManager()),
            BuildSettings => One(path, () => new EditorBuildSettings()),
            "ProjectSettings/ProjectSettings.asset" => One(path, () => new PlayerSettings()),
            "ProjectSettings/TimeManager.asset" => One(path, () => new TimeManager()),
            _ => null
        };

        public static AssetImporter ImporterOf(string path)
        {
            var importer = (AssetImporter)One(path + ".meta", () => path.EndsWith(".png") ? new TextureImporter() : new AssetImporter());
            importer.Path = path;
            return importer;
        }

        public static string PathOf(Object one) =>
            one is AssetImporter importer ? importer.Path : Loaded.Where(l => l.Value == one).Select(l => l.Key).FirstOrDefault();

        private static Object One(string path, Func<Object> make)
        {
            if (Loaded.TryGetValue(path, out Object known)) return known;
            Object made = make();
            made.name = Path.GetFileNameWithoutExtension(path);
            string kept = Native.Current.GetSession("settings:" + path);
            made.Dirty = kept != null;
            if (kept == null && File.Exists(AssetFiles.Full(path))) kept = File.ReadAllText(AssetFiles.Full(path));
            if (kept != null) made.Values = Read(kept);
            return Loaded[path] = made;
        }

        /// <summary>Says that an object has new values in memory.</summary>
        public static void Changed(Object one)
        {
            one.Dirty = true;
            string path = Loaded.Where(l => l.Value == one).Select(l => l.Key).FirstOrDefault();
            if (path == null) return;
            Native.Current.SetSession("settings:" + path, Write(one.Values));
            if (path == Tags) UseTags();
        }

        /// <summary>Writes an object to its file if it has new values.</summary>
        public static bool Save(Object one)
        {
            string path = Loaded.Where(l => l.Value == one).Select(l => l.Key).FirstOrDefault();
            if (path == null || !one.Dirty || Native.Current.Flag("settingsAreNotSaved")) return false;
            Directory.CreateDirectory(Path.GetDirectoryName(AssetFiles.Full(path)));
            File.WriteAllText(AssetFiles.Full(path), Write(one.Values));
            Native.Current.SetSession("settings:" + path, null);
            one.Dirty = false;
            return true;
        }

        /// <summary>Sets back what was loaded to this text of its file, as Unity does when it imports.</summary>
        public static void Reload(string path, string text)
        {
            File.WriteAllText(AssetFiles.Full(path), text);
            if (Loaded.TryGetValue(path, out Object one)) one.Values = Read(text);
        }

        public static string TextOf(string path) => File.Exists(AssetFiles.Full(path)) ? File.ReadAllText(AssetFiles.Full(path)) : "";

        /// <summary>The tags and layers of the project are those of its settings.</summary>
        public static void UseTags()
        {
            using var one = new SerializedObject(Load(Tags));
            string[] Texts(string name) => Enumerable.Range(0, one.FindProperty(name).arraySize).Select(i => one.FindProperty($"{name}.Array.data[{i}]").stringValue).ToArray();
            GameObject.Tags = new[] { "Untagged", "MainCamera" }.Concat(Texts("tags")).ToArray();
            LayerMask.Names = new[] { "Default", "UI" }.Concat(Texts("layers").Where((name, i) => i > 7 && name != "")).ToArray();
        }

        private static string Write(Dictionary<string, object> values) => string.Concat(values.Select(v =>
            $"{v.Key}\t{v.Value?.GetType().FullName}\t{Convert.ToString(v.Value, CultureInfo.InvariantCulture)}\n"));

        private static Dictionary<string, object> Read(string text) => text.Split('\n').Select(l => l.Split('\t')).Where(l => l.Length == 3)
            .ToDictionary(l => l[0], l => l[1] == "" ? null : Convert.ChangeType(l[2], Type.GetType(l[1]), CultureInfo.InvariantCulture));
    }
}
