using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using EditorHost;
using UnityEngine.SceneManagement;

namespace UnityEngine
{
    /// <summary>Keeps the open scenes in the native side while the scripts are reloaded.</summary>
    internal static class SceneStore
    {
        private const string Key = "EditorHost.Scenes";

        /// <summary>The file of an asset, and which part of it one is; null of what is no asset.</summary>
        public static Func<Object, string> AssetName { get; set; }

        /// <summary>The asset that has this name.</summary>
        public static Func<string, Object> AssetNamed { get; set; }

        public static void Save()
        {
            var stream = new MemoryStream();
            using var writer = new BinaryWriter(stream);
            writer.Write(Object.Last);
            writer.Write(SceneManager.Open.IndexOf(SceneManager.Active));
            writer.Write(SceneManager.Open.Count);
            foreach (SceneModel scene in SceneManager.Open)
            {
                writer.Write(scene.Path);
                writer.Write(scene.Dirty);
                writer.Write(scene.Roots.Count);
                foreach (GameObject root in scene.Roots) Write(writer, root);
            }
            Native.Current.SetSession(Key, Convert.ToBase64String(stream.ToArray()));
        }

        /// <summary>Returns null if nothing was kept.</summary>
        public static List<SceneModel> Load()
        {
            if (Native.Current.GetSession(Key) is not { } kept) return null;
            using var reader = new Reader(kept);
            return reader.Scenes();
        }

        /// <summary>The objects as the text of a file.</summary>
        public static string Text(IReadOnlyList<GameObject> roots)
        {
            var stream = new MemoryStream();
            using var writer = new BinaryWriter(stream);
            writer.Write(roots.Count);
            // Of a prefab's instance a file has the recorded overrides only.
            var now = new List<(Object One, object State)>();
            foreach (GameObject one in roots.SelectMany(r => r.All()))
            {
                foreach (Object part in new Object[] { one, one.transform })
                {
                    if (part.Override == null) continue;
                    now.Add((part, part.State));
                    part.State = part.Override;
                }
            }
            foreach (GameObject root in roots) Write(writer, root);
            foreach (var (one, state) in now) one.State = state;
            return Convert.ToBase64String(stream.ToArray());
        }

        /// <summary>Reads what <see cref="Text"/> made. The objects get numbers of their own, and are in no scene.</summary>
        public static List<GameObject> Roots(string text)
        {
            using var reader = new Reader(text);
            return reader.Roots();
        }

        private static void Write(BinaryWriter writer, GameObject one)
        {
            writer.Write(one.Number);
            writer.Write(one.name);
            writer.Write(one.tag);
            writer.Write(one.layer);
            writer.Write(one.activeSelf);
            writer.Write(one.hideFlags.HasFlag(HideFlags.HideAndDontSave));
            writer.Write(one.Prefab ?? "");
            foreach (Vector3 v in new[] { one.transform.localPosition, one.transform.localEulerAngles, one.transform.localScale })
            {
                foreach (float part in new[] { v.x, v.y, v.z }) writer.Write(part);
            }
            writer.Write(one.Components.Count);
            foreach (Component component in one.Components)
            {
                writer.Write(component is MissingScript lost ? lost.Was : component.GetType().FullName);
                writer.Write(component.Number);
                writer.Write(component.Values.Count);
                foreach (KeyValuePair<string, object> value in component.Values)
                {
                    writer.Write(value.Key);
                    string asset = value.Value is Object target ? AssetName(target) : null;
                    writer.Write(asset != null ? "asset" : value.Value is Object to ? "@" + to.Number : value.Value?.GetType().FullName ?? "");
                    writer.Write(asset ?? (value.Value is null or Object ? "" : Convert.ToString(value.Value, System.Globalization.CultureInfo.InvariantCulture)));
                }
            }
            writer.Write(one.transform.childCount);
            foreach (Transform below in one.transform.Below) Write(writer, below.Owner);
        }

        private sealed class Reader : IDisposable
        {
            private readonly BinaryReader reader;
            private readonly Dictionary<int, Object> read = new();
            private readonly List<(Component From, string Name, int To)> references = new();

            public Reader(string kept) => reader = new BinaryReader(new MemoryStream(Convert.FromBase64String(kept)));

            public void Dispose() => reader.Dispose();

            public List<SceneModel> Scenes()
            {
                int last = reader.ReadInt32(), active = reader.ReadInt32();
                var scenes = new List<SceneModel>();
                for (int count = reader.ReadInt32(); count > 0; count--)
                {
                    var scene = new SceneModel { Path = reader.ReadString(), Dirty = reader.ReadBoolean() };
                    for (int roots = reader.ReadInt32(); roots > 0; roots--) One().Into(scene);
                    scenes.Add(scene);
                }
                Link();
                Object.Last = last;
                SceneManager.Activate(scenes[active]);
                return scenes;
            }

            public List<GameObject> Roots()
            {
                var roots = new List<GameObject>();
                if (reader.PeekChar() == -1) return roots;
                for (int count = reader.ReadInt32(); count > 0; count--) roots.Add(One());
                Link();
                foreach (Object one in read.Values) one.Number = ++Object.Last;
                return roots;
            }

            private void Link()
            {
                foreach (var (from, name, to) in references) from.Values[name] = read.TryGetValue(to, out Object found) ? found : null;
            }

            private GameObject One()
            {
                var one = new GameObject("", (SceneModel)null) { Number = reader.ReadInt32(), name = reader.ReadString(), tag = reader.ReadString(), layer = reader.ReadInt32() };
                read[one.Number] = one;
                one.SetActive(reader.ReadBoolean());
                if (reader.ReadBoolean()) one.hideFlags = HideFlags.HideAndDontSave;
                one.Prefab = reader.ReadString() is { Length: > 0 } prefab ? prefab : null;
                one.transform.State = (Three(), Three(), Three());
                int components = reader.ReadInt32();
                for (int i = 0; i < components; i++) Next(one, i == 0);
                for (int below = reader.ReadInt32(); below > 0; below--) One().Under(one);
                return one;
            }

            private Vector3 Three() => new(reader.ReadSingle(), reader.ReadSingle(), reader.ReadSingle());

            private void Next(GameObject owner, bool transform)
            {
                string name = reader.ReadString();
                Type type = AppDomain.CurrentDomain.GetAssemblies().Select(a => a.GetType(name)).FirstOrDefault(t => t != null);
                Component component = transform ? owner.transform : type == null ? new MissingScript { Was = name } : (Component)Activator.CreateInstance(type, true);
                component.Number = reader.ReadInt32();
                read[component.Number] = component;
                if (!transform) owner.Add(component);
                for (int values = reader.ReadInt32(); values > 0; values--)
                {
                    string key = reader.ReadString(), kind = reader.ReadString(), text = reader.ReadString();
                    if (kind == "asset") component.Values[key] = AssetNamed(text);
                    else if (kind.StartsWith("@")) references.Add((component, key, int.Parse(kind.Substring(1))));
                    else component.Values[key] = kind == "" ? null : Convert.ChangeType(text, Type.GetType(kind), System.Globalization.CultureInfo.InvariantCulture);
                }
            }
        }
    }
}
