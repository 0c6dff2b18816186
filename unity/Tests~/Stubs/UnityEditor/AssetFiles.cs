using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using EditorHost;
using UnityEngine;
using Object = UnityEngine.Object;

namespace UnityEditor
{
    /// <summary>
    /// The assets of the simulated project: its files. What one is says its ending, and of a material or a ScriptableObject its
    /// first line. What is loaded stays in memory until the domain unloads.
    /// </summary>
    internal static class AssetFiles
    {
        // A part is under the path of its file, '#' and its number.
        private static readonly Dictionary<string, Object> Loaded = new();

        private static readonly System.Text.Encoding Bytes = System.Text.Encoding.GetEncoding("ISO-8859-1");

        // What is loaded again has the ids of the session that it had. A copy of a file has the same ids in it.
        private static readonly Dictionary<(string File, long Id), int> Numbers = new();

        // The file that Unity itself has, with its main object in none.
        private const string BuiltIn = "Resources/unity_builtin_extra";

        public static IEnumerable<Object> All => Loaded.Values.SelectMany(One);

        public static bool IsPart(Object one) => All.Contains(one) && (!Loaded.ContainsValue(one) || Loaded.Any(l => l.Value == one && l.Key.Contains('#')));

        // A picture has a sprite for each line of its file; two sprites may have the same name.
        public static Object[] LoadAll(string path)
        {
            if (path == BuiltIn)
            {
                return new[] { "UISprite", "Background" }.Select((name, i) => Part(path, i + 1, () => new Sprite { name = name }))
                    .Prepend(Part(path, 0, () => new Material(Shader.Find("Standard")) { name = "Default-Material" })).ToArray();
            }
            if (Load(path) is not { } main) return Array.Empty<Object>();
            IEnumerable<string> names = path.EndsWith(".png") ? File.ReadAllLines(Full(path)) : Array.Empty<string>();
            return One(main).Select(o => o is MissingScript ? null : o).Concat(names.Select((name, i) => Part(path, i, () => new Sprite { name = name }))).ToArray();
        }

        private static Object Part(string path, int number, Func<Object> make) =>
            Loaded.TryGetValue($"{path}#{number}", out Object known) ? known : Loaded[$"{path}#{number}"] = make();

        private static IEnumerable<Object> One(Object one) => one is GameObject game ? game.All().SelectMany(g => g.Components.Prepend<Object>(g)) : new[] { one };

        public static string Full(string path) => Native.Current.Text("project") + "/" + path;

        public static void Forget(string path) => Loaded.Remove(path);

        public static void ForgetPrefabs()
        {
            foreach (string path in Loaded.Keys.Where(k => k.EndsWith(".prefab")).ToList()) Loaded.Remove(path);
        }

        public static string PathOf(Object one) =>
            Loaded.Where(l => One(l.Value).Any(o => o.Number == one?.Number)).Select(l => l.Key.Split('#')[0]).FirstOrDefault();

        public static string NameOf(Object one) => PathOf(one) is { } path ? path + "|" + Array.FindIndex(LoadAll(path), o => o?.Number == one.Number) : null;

        public static Object Named(string name)
        {
            string[] parts = name.Split('|');
            return LoadAll(parts[0]).ElementAtOrDefault(int.Parse(parts[1]));
        }

        /// <summary>The files to which a saved scene or prefab refers, and its own.</summary>
        public static string[] Dependencies(string path)
        {
            var files = new List<string> { path };
            if ((path.EndsWith(".unity") || path.EndsWith(".prefab")) && File.Exists(Full(path)))
            {
                foreach (GameObject one in SceneStore.Roots(File.ReadAllText(Full(path))).SelectMany(r => r.All()))
                {
                    if (one.Prefab != null) files.Add(one.Prefab);
                    files.AddRange(one.Components.SelectMany(c => c.Values.Values).OfType<Object>().Select(PathOf).Where(p => p != null));
                }
            }
            return files.Distinct().ToArray();
        }

        // As in Unity, labels are in the file's .meta.
        public static string[] Labels(string path) => !File.Exists(Full(path) + ".meta") ? Array.Empty<string>()
            : File.ReadAllLines(Full(path) + ".meta").SkipWhile(l => l != "labels:").Where(l => l.StartsWith("- ")).Select(l => l.Substring(2)).ToArray();

        public static void LoseScripts(string path)
        {
            string text = Bytes.GetString(Convert.FromBase64String(File.ReadAllText(Full(path))));
            text = text.Replace("UnityEngine.BoxCollider", "Removed.Scripts.Collide");
            File.WriteAllText(Full(path), Convert.ToBase64String(Bytes.GetBytes(text)));
            Forget(path);
        }

        public static Type TypeOf(string path) => Directory.Exists(Full(path)) ? typeof(DefaultAsset)
            : path.EndsWith(".png") ? typeof(Texture2D)
            : !File.Exists(Full(path)) ? null
            : Path.GetExtension(path) switch
            {
                ".prefab" => typeof(GameObject),
                ".mat" => typeof(Material),
                ".unity" => typeof(SceneAsset),
                ".asset" => Scriptable(path) ?? typeof(Texture2D),
                _ => typeof(Texture2D)
            };

        public static Object Load(string path)
        {
            if (!File.Exists(Full(path)) && !Directory.Exists(Full(path))) return null;
            if (Loaded.TryGetValue(path, out Object known)) return known;
            Type type = TypeOf(path);
            Object made = type == typeof(GameObject) ? SceneStore.Roots(File.ReadAllText(Full(path)))[0]
                : type == typeof(Texture2D) ? new Texture2D(1, 1)
                : type == typeof(Material) ? new Material(Shader.Find(File.ReadAllText(Full(path))))
                : (Object)Activator.CreateInstance(type, true);
            made.name = Path.GetFileNameWithoutExtension(path);
            if (made is GameObject prefab)
            {
                prefab.AssetFile = path;
                foreach (Object part in prefab.Parts()) part.Number = Numbers.TryGetValue((path, part.Id), out int number) ? number : Numbers[(path, part.Id)] = part.Number;
            }
            return Loaded[path] = made;
        }

        public static void Create(Object one, string path)
        {
            // A test makes such a folder, in the place of one that nothing can be written to.
            if (File.Exists(Path.GetDirectoryName(Full(path)) + "/.locked")) throw new UnityException($"Creating asset at path {path} failed.");
            File.WriteAllText(Full(path), one is Material material ? material.shader.name : one.GetType().FullName);
            one.name = Path.GetFileNameWithoutExtension(path);
            Loaded[path] = one;
        }

        public static IEnumerable<string> Below(string folder)
        {
            string root = Native.Current.Text("project");
            return Directory.GetFileSystemEntries(root + "/" + folder, "*", SearchOption.AllDirectories)
                .Select(f => f.Substring(root.Length + 1).Replace('\\', '/')).Where(f => !f.EndsWith(".meta"));
        }

        public static void Move(string from, string to)
        {
            if (Directory.Exists(Full(from))) Directory.Move(Full(from), Full(to));
            else File.Move(Full(from), Full(to));
            if (!Loaded.TryGetValue(from, out Object one)) return;
            Loaded.Remove(from);
            Loaded[to] = one;
        }

        private static Type Scriptable(string path)
        {
            string name = File.ReadAllText(Full(path));
            return AppDomain.CurrentDomain.GetAssemblies().Select(a => a.GetType(name)).FirstOrDefault(t => t != null && typeof(ScriptableObject).IsAssignableFrom(t));
        }
    }

    public class DefaultAsset : Object
    {
    }

    public class SceneAsset : Object
    {
    }

    [Flags]
    public enum ImportAssetOptions
    {
        Default = 0,
        ForceUpdate = 1
    }
}
