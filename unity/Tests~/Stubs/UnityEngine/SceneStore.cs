using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using EditorHost;
using UnityEngine.SceneManagement;

namespace UnityEngine
{
    /// <summary>Writes objects as a file has them, and keeps the open scenes in the native side while the scripts are reloaded.</summary>
    internal static class SceneStore
    {
        private const string Key = "EditorHost.Scenes";

        /// <summary>The file of an asset, and which part of it one is; null of what is no asset.</summary>
        internal static Func<Object, string> AssetName { get; set; }

        /// <summary>The asset that has this name.</summary>
        internal static Func<string, Object> AssetNamed { get; set; }

        /// <summary>Loads the asset of a prefab; null if its file is gone.</summary>
        internal static Func<string, GameObject> Prefab { get; set; } = _ => null;

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
                foreach (GameObject root in scene.Roots) new Writer(writer, true).One(root);
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
            foreach (GameObject root in roots) new Writer(writer, false).One(root);
            foreach (var (one, state) in now) one.State = state;
            return Convert.ToBase64String(stream.ToArray());
        }

        /// <summary>Reads what <see cref="Text"/> made. The objects get numbers of their own, and are in no scene.</summary>
        public static List<GameObject> Roots(string text)
        {
            using var reader = new Reader(text);
            return reader.Roots();
        }

        private sealed class Writer
        {
            private readonly BinaryWriter writer;
            private readonly bool numbers;

            public Writer(BinaryWriter writer, bool numbers) => (this.writer, this.numbers) = (writer, numbers);

            public void One(GameObject one)
            {
                Ids(one);
                writer.Write(one.name);
                writer.Write(one.tag);
                writer.Write(one.layer);
                writer.Write(one.activeSelf);
                writer.Write(one.hideFlags.HasFlag(HideFlags.HideAndDontSave));
                foreach (Vector3 v in new[] { one.transform.localPosition, one.transform.localEulerAngles, one.transform.localScale })
                {
                    foreach (float part in new[] { v.x, v.y, v.z }) writer.Write(part);
                }
                writer.Write(one.Components.Count);
                foreach (Component component in one.Components)
                {
                    writer.Write(component is MissingScript lost ? lost.Was : component.GetType().FullName);
                    Ids(component);
                    writer.Write(component.Values.Count);
                    foreach (KeyValuePair<string, object> value in component.Values.OrderBy(v => v.Key, StringComparer.Ordinal))
                    {
                        writer.Write(value.Key);
                        string asset = value.Value is Object target ? AssetName(target) : null;
                        writer.Write(asset != null ? "asset" : value.Value is Object to ? "@" + to.Id : value.Value?.GetType().FullName ?? "");
                        writer.Write(asset ?? (value.Value is null or Object ? "" : Convert.ToString(value.Value, CultureInfo.InvariantCulture)));
                    }
                }
                writer.Write(one.transform.childCount);
                foreach (Transform below in one.transform.Below) One(below.Owner);
                writer.Write(one.Prefab ?? "");
                // What the prefab was like, so that what is other than there can be told later.
                GameObject source = one.Instance ? (GameObject)one.Source : null;
                writer.Write(source != null);
                if (source != null) One(source);
            }

            private void Ids(Object one)
            {
                writer.Write(numbers ? one.Number : 0);
                writer.Write(one.Id);
                writer.Write(one.Source?.Id ?? 0);
            }
        }

        private sealed class Reader : IDisposable
        {
            private readonly BinaryReader reader;
            private readonly Dictionary<long, Object> read = new();
            private readonly List<(Component From, string Name, long To)> references = new();
            private readonly Dictionary<Object, long> sources = new();
            private readonly List<(GameObject Root, GameObject Was)> instances = new();

            public Reader(string kept) => reader = new BinaryReader(new MemoryStream(Convert.FromBase64String(kept)));

            public void Dispose() => reader.Dispose();

            public List<SceneModel> Scenes()
            {
                // What is made or loaded while this is read gets a number that nothing kept has.
                Object.Last = Math.Max(Object.Last, reader.ReadInt32());
                int active = reader.ReadInt32();
                var scenes = new List<SceneModel>();
                for (int count = reader.ReadInt32(); count > 0; count--)
                {
                    var scene = new SceneModel { Path = reader.ReadString(), Dirty = reader.ReadBoolean() };
                    for (int roots = reader.ReadInt32(); roots > 0; roots--) One().Into(scene);
                    scenes.Add(scene);
                }
                Link();
                SceneManager.Activate(scenes[active]);
                return scenes;
            }

            public List<GameObject> Roots()
            {
                var roots = new List<GameObject>();
                if (reader.PeekChar() == -1) return roots;
                for (int count = reader.ReadInt32(); count > 0; count--) roots.Add(One());
                Link();
                return roots;
            }

            private void Link()
            {
                foreach (var (from, name, to) in references) from.Values[name] = read.TryGetValue(to, out Object found) ? found : null;
                foreach (var (root, was) in instances)
                {
                    Dictionary<long, Object> all = was.Parts().ToDictionary(p => p.Id);
                    foreach (Object part in root.Parts().Where(p => sources.ContainsKey(p))) part.Source = all.TryGetValue(sources[part], out Object source) ? source : null;
                    if (Prefab(root.Prefab) is { } now) PrefabInstances.Follow(root, now);
                    foreach (GameObject one in root.All()) (one.Override, one.transform.Override) = (one.State, one.transform.State);
                }
            }

            private GameObject One()
            {
                var one = new GameObject("", (SceneModel)null);
                Ids(one);
                (one.name, one.tag, one.layer) = (reader.ReadString(), reader.ReadString(), reader.ReadInt32());
                one.SetActive(reader.ReadBoolean());
                if (reader.ReadBoolean()) one.hideFlags = HideFlags.HideAndDontSave;
                one.transform.State = (Three(), Three(), Three());
                int components = reader.ReadInt32();
                for (int i = 0; i < components; i++) Next(one, i == 0);
                for (int below = reader.ReadInt32(); below > 0; below--) One().Under(one);
                string prefab = reader.ReadString();
                one.Prefab = prefab == "" ? null : prefab;
                if (reader.ReadBoolean())
                {
                    // The prefab has objects with these ids too.
                    var outer = new Dictionary<long, Object>(read);
                    GameObject was = One();
                    read.Clear();
                    foreach (KeyValuePair<long, Object> each in outer) read[each.Key] = each.Value;
                    instances.RemoveAll(i => was.All().Contains(i.Root));
                    was.AssetFile = prefab;
                    instances.Add((one, was));
                }
                return one;
            }

            private void Ids(Object one)
            {
                int number = reader.ReadInt32();
                if (number != 0) one.Number = number;
                one.Id = reader.ReadInt64();
                long source = reader.ReadInt64();
                if (source != 0) sources[one] = source;
                read[one.Id] = one;
            }

            private Vector3 Three() => new(reader.ReadSingle(), reader.ReadSingle(), reader.ReadSingle());

            private void Next(GameObject owner, bool transform)
            {
                string name = reader.ReadString();
                Type type = AppDomain.CurrentDomain.GetAssemblies().Select(a => a.GetType(name)).FirstOrDefault(t => t != null);
                if (transform && type == typeof(RectTransform)) owner.Replace(new RectTransform { State = owner.transform.State });
                Component component = transform ? owner.transform : type == null ? new MissingScript { Was = name } : (Component)Activator.CreateInstance(type, true);
                Ids(component);
                if (!transform) owner.Add(component);
                for (int values = reader.ReadInt32(); values > 0; values--)
                {
                    string key = reader.ReadString(), kind = reader.ReadString(), text = reader.ReadString();
                    if (kind == "asset") component.Values[key] = AssetNamed(text);
                    else if (kind.StartsWith("@")) references.Add((component, key, long.Parse(kind.Substring(1))));
                    else component.Values[key] = kind == "" ? null : Convert.ChangeType(text, Type.GetType(kind), CultureInfo.InvariantCulture);
                }
            }
        }
    }
}
