#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>
    /// Writes the scenes of the build. An entry has the id of its scene besides its path, and Unity goes by the id; so the list is written by
    /// Unity's own API, which looks up the ids.
    /// </summary>
    internal static class BuildScenes
    {
        public const string Property = "m_Scenes";

        // The list that all build profiles share. Before there were profiles, there was one list.
        private static readonly PropertyInfo List = typeof(EditorBuildSettings).GetProperty("globalScenes") ?? typeof(EditorBuildSettings).GetProperty("scenes")!;

        /// <summary>Whether a path of a property leads to what the list of scenes has besides the switches of its entries.</summary>
        public static bool Owns(string path) => path == Property || (path.StartsWith(Property, StringComparison.Ordinal) && !path.EndsWith(".enabled", StringComparison.Ordinal));

        /// <summary>Returns what the list would be; null if it is so already.</summary>
        /// <exception cref="ToolParameterException">It is no list of scenes.</exception>
        public static EditorBuildSettingsScene[]? Wanted(string path, JToken value)
        {
            if (path != Property) throw Refusal("is set as a whole; in an entry only enabled is set by itself");
            List<EditorBuildSettingsScene> now = ((EditorBuildSettingsScene[])List.GetValue(null)!).ToList();
            List<EditorBuildSettingsScene> wanted;
            if (ListEdit.Of(value, now.Count, Refusal) is { } edit)
            {
                wanted = now.ToList();
                foreach (int place in edit.Removed) wanted.RemoveAt(place);
                wanted.AddRange(edit.Appended.Select(One));
            }
            else
            {
                wanted = (value as JArray ?? throw Refusal("takes a list of paths, or of {\"path\", \"enabled\"}")).Select(One).ToList();
            }
            if (wanted.GroupBy(s => s.path).FirstOrDefault(g => g.Count() > 1) is { } twice) throw Refusal($"would have {twice.Key} twice");
            return wanted.Select(s => (s.path, s.enabled)).SequenceEqual(now.Select(s => (s.path, s.enabled))) ? null : wanted.ToArray();
        }

        public static void Write(EditorBuildSettingsScene[] scenes) => List.SetValue(null, scenes);

        // What inspect shows of an entry can be written back.
        private static EditorBuildSettingsScene One(JToken given)
        {
            string? path = (given is JObject entry ? entry["path"] : given) is JValue { Type: JTokenType.String } text ? (string)text! : null;
            JToken enabled = (given as JObject)?["enabled"] ?? true;
            if (path == null || enabled.Type != JTokenType.Boolean) throw Refusal("takes paths, or {\"path\", \"enabled\"}");
            if (AssetDatabase.GetMainAssetTypeAtPath(path) != typeof(SceneAsset)) throw Refusal($"takes scenes, and {path} is none");
            return new EditorBuildSettingsScene(path, (bool)enabled);
        }

        private static ToolParameterException Refusal(string what) => new($"{Property} {what} (Properties)");
    }
}
