#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEngine;
using Object = UnityEngine.Object;

namespace Holdfast.Editor
{
    /// <summary>The objects of a prefab's file, loaded as Unity's own commands load them when they change a file.</summary>
    internal sealed class PrefabContents : IPrefabContents
    {
        // By this Unity's own commands make a change of a prefab's file a step of undo.
        private static readonly MethodInfo? FileChange = typeof(Undo).GetMethod(
            "RegisterFileChangeUndo", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic, null, new[] { typeof(GUID), typeof(byte[]), typeof(byte[]) }, null);

        private readonly Transform root;

        private PrefabContents(GameObject root)
        {
            this.root = root.transform;
            Editor = new EditorObjectEditor(new PlainSteps(), this.root);
        }

        public IObjectEditor Editor { get; }

        public static PrefabEdit Edit(string path, Func<IPrefabContents, FoundObject?> change)
        {
            string file = Path.Combine(EditorFacts.ProjectPath, path);
            byte[] before = File.ReadAllBytes(file);
            List<int>? place = null;
            int component = -1;
            GameObject loaded = PrefabUtility.LoadPrefabContents(path);
            try
            {
                if (change(new PrefabContents(loaded)) is { } one)
                {
                    GameObject owner = OwnerOf(one);
                    place = Place(owner.transform, loaded.transform);
                    component = Array.IndexOf(owner.GetComponents<Component>(), EditorObjects.Object(one) as Component);
                }
                PrefabUtility.SaveAsPrefabAsset(loaded, path, out bool saved);
                if (!saved) throw new ChangeRefusedException($"Unity could not save {path}; get-logs may tell why");
            }
            finally
            {
                PrefabUtility.UnloadPrefabContents(loaded);
            }
            byte[] after = File.ReadAllBytes(file);
            bool changed = !before.SequenceEqual(after);
            if (changed) FileChange?.Invoke(null, new object[] { AssetDatabase.GUIDFromAssetPath(path), before, after });
            return new PrefabEdit(place == null ? null : InFile(path, place, component), changed, FileChange != null);
        }

        public FoundObject Of(FoundObject inFile)
        {
            GameObject owner = OwnerOf(inFile);
            Transform here = At(root, Place(owner.transform, null));
            if (EditorObjects.Object(inFile) is not Component component) return EditorObjects.Of(here.gameObject);
            Component[] all = here.GetComponents<Component>();
            int index = Array.IndexOf(owner.GetComponents<Component>(), component);
            if (here.name != owner.name || index >= all.Length || all[index] == null || all[index].GetType() != component.GetType()) throw Other(owner);
            return EditorObjects.Of(all[index]);
        }

        public string PathBelowRoot(FoundObject here)
        {
            string path = "";
            for (Transform at = OwnerOf(here).transform; at != root && at.parent != null; at = at.parent) path = "/" + at.name + path;
            return path;
        }

        public string SourceOf(FoundObject here) => PrefabUtility.GetPrefabAssetPathOfNearestInstanceRoot(OwnerOf(here)) ?? "";

        public FoundObject? Instantiate(FoundObject prefab, FoundObject parent) =>
            PrefabUtility.InstantiatePrefab(EditorObjects.Object(prefab), EditorObjects.GameObject(parent).transform) is GameObject made && made != null
                ? EditorObjects.Of(made)
                : null;

        private static FoundObject? InFile(string path, List<int> place, int component)
        {
            if (AssetDatabase.LoadMainAssetAtPath(path) is not GameObject main || main == null) return null;
            Transform one = At(main.transform, place);
            Component[] all = one.GetComponents<Component>();
            return EditorObjects.Of(component >= 0 && component < all.Length ? all[component] : (Object)one.gameObject);
        }

        private static GameObject OwnerOf(FoundObject one) => EditorObjects.Object(one) is Component component ? component.gameObject : EditorObjects.GameObject(one);

        // The numbers of the children on the way from the root.
        private static List<int> Place(Transform one, Transform? root)
        {
            var place = new List<int>();
            for (Transform at = one; at != root && at.parent != null; at = at.parent) place.Insert(0, at.GetSiblingIndex());
            return place;
        }

        private static Transform At(Transform root, List<int> place)
        {
            Transform at = root;
            foreach (int index in place) at = index < at.childCount ? at.GetChild(index) : throw Other(at.gameObject);
            return at;
        }

        private static ChangeRefusedException Other(GameObject one) => new(
            $"What Unity loads of the prefab is other than what it knows of {one.name}; import the file again, with edit-asset");
    }
}
