#nullable enable
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of objects with GlobalObjectId, AssetDatabase and Selection.</summary>
    internal sealed class EditorObjects : IObjects
    {
        public FoundObject? Find(string id)
        {
            // The project's settings are known to Unity as objects of their files, and nothing says which is the main one.
            if (id.StartsWith("ProjectSettings/", System.StringComparison.Ordinal))
            {
                Object? settings = AssetDatabase.LoadAllAssetsAtPath(id).FirstOrDefault(o => o != null);
                return settings == null ? null : Of(settings) with { AssetPath = id, IsPart = false };
            }
            Object? found = GlobalObjectId.TryParse(id, out GlobalObjectId global)
                ? GlobalObjectId.GlobalObjectIdentifierToObjectSlow(global)
                : AssetDatabase.LoadMainAssetAtPath(id);
            return found == null ? null : Of(found);
        }

        public FoundObject? Importer(string path) => AssetImporter.GetAtPath(path) is { } importer && importer != null ? Of(importer) : null;

        public FoundObject? ById(string id) => ObjectOf(id) is { } found && found != null && IsSeen(found) ? Of(found) : null;

        // A scene's file cannot be loaded like this: Unity writes an error.
        public IReadOnlyList<FoundObject> Parts(string path) => path.EndsWith(".unity", System.StringComparison.OrdinalIgnoreCase)
            ? System.Array.Empty<FoundObject>()
            : AssetDatabase.LoadAllAssetsAtPath(path).Where(part => part != null).Select(Of).ToList();

        public FoundObject Of(ISceneNode node) => Of(((EditorScenes.ObjectNode)node).One);

        public FoundObject Of(ISceneComponent component) => Of(((EditorScenes.ComponentView)component).One!);

        private static Object? ObjectOf(string id)
        {
#if UNITY_6000_4_OR_NEWER
            return ulong.TryParse(id, NumberStyles.None, CultureInfo.InvariantCulture, out ulong number) ? EditorUtility.EntityIdToObject(EntityId.FromULong(number)) : null;
#elif UNITY_6000_3_OR_NEWER
            return int.TryParse(id, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number) ? EditorUtility.EntityIdToObject(number) : null;
#else
            return int.TryParse(id, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number) ? EditorUtility.InstanceIDToObject(number) : null;
#endif
        }

        // While a prefab is open, tools see nothing of the scenes. They never see the previews of Unity's windows.
        private static bool IsSeen(Object one)
        {
            GameObject? owner = one as GameObject ?? (one as Component)?.gameObject;
            if (owner == null || AssetDatabase.Contains(one)) return true;
            Transform root = owner.transform;
            while (root.parent != null) root = root.parent;
            PrefabStage? stage = PrefabStageUtility.GetCurrentPrefabStage();
            // A prefab that is open may lie below objects of Unity's own.
            return stage != null ? owner.transform.IsChildOf(stage.prefabContentsRoot.transform)
                : EditorScenes.Roots().Contains(root.gameObject);
        }

        // Something that was deleted may still be selected.
        public IReadOnlyList<FoundObject> Selected(int most, out int count)
        {
            List<Object> there = Selection.objects.Where(o => o != null).ToList();
            count = there.Count;
            return there.Take(most).Select(Of).ToList();
        }

        public void Select(IReadOnlyList<FoundObject> objects) => Selection.objects = objects.Select(Object).ToArray();

        internal static FoundObject Of(Object one)
        {
            if (one is AssetImporter importer)
            {
                string file = importer.assetPath;
                return new FoundObject(file.Substring(file.LastIndexOf('/') + 1), file, null, new EditorScenes.ComponentView(one)) { IsImporter = true };
            }
            bool isAsset = AssetDatabase.Contains(one);
            GameObject? owner = one as GameObject ?? (one as Component)?.gameObject;
            return new FoundObject(
                one.name, AssetDatabase.GetAssetPath(one) ?? "", one is GameObject node ? new EditorScenes.ObjectNode(node) : null, new EditorScenes.ComponentView(one))
            {
                IsPart = isAsset && !AssetDatabase.IsMainAsset(one),
                Owner = one is Component component ? new EditorScenes.ObjectNode(component.gameObject) : null,
                Inside = isAsset && owner != null ? Inside(owner.transform) : ""
            };
        }

        private static string Inside(Transform one)
        {
            string path = "";
            for (Transform at = one; at.parent != null; at = at.parent) path = at.name + (path.Length > 0 ? "/" + path : "");
            return path;
        }

        internal static Object Object(FoundObject found) => ((EditorScenes.ComponentView)found.View).One!;

        internal static GameObject GameObject(FoundObject found) => ((EditorScenes.ObjectNode)found.Node!).One;
    }
}
