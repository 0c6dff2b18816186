#nullable enable
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of objects with GlobalObjectId, AssetDatabase and Selection.</summary>
    internal sealed class EditorObjects : IObjects
    {
        public FoundObject? Find(string id)
        {
            Object? found = GlobalObjectId.TryParse(id, out GlobalObjectId global)
                ? GlobalObjectId.GlobalObjectIdentifierToObjectSlow(global)
                : AssetDatabase.LoadMainAssetAtPath(id);
            return found == null ? null : Of(found);
        }

        public FoundObject Of(ISceneNode node) => Of(((EditorScenes.ObjectNode)node).One);

        // Something that was deleted may still be selected.
        public IReadOnlyList<FoundObject> Selected(int most, out int count)
        {
            List<Object> there = Selection.objects.Where(o => o != null).ToList();
            count = there.Count;
            return there.Take(most).Select(Of).ToList();
        }

        public void Select(IReadOnlyList<FoundObject> objects) => Selection.objects = objects.Select(Object).ToArray();

        internal static FoundObject Of(Object one) => new(
            EditorScenes.GlobalIdOf(one), one.name, AssetDatabase.GetAssetPath(one) ?? "",
            one is GameObject node ? new EditorScenes.ObjectNode(node) : null, new EditorScenes.ComponentView(one));

        internal static Object Object(FoundObject found) => ((EditorScenes.ComponentView)found.View).One!;

        internal static GameObject GameObject(FoundObject found) => ((EditorScenes.ObjectNode)found.Node!).One;
    }
}
