#nullable enable
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of objects with GlobalObjectId and AssetDatabase.</summary>
    internal sealed class EditorObjects : IObjects
    {
        public FoundObject? Find(string id)
        {
            Object? found = GlobalObjectId.TryParse(id, out GlobalObjectId global)
                ? GlobalObjectId.GlobalObjectIdentifierToObjectSlow(global)
                : AssetDatabase.LoadMainAssetAtPath(id);
            if (found == null) return null;
            ISceneNode? node = found is GameObject one ? new EditorScenes.ObjectNode(one) : null;
            return new FoundObject(EditorScenes.GlobalIdOf(found), found.name, AssetDatabase.GetAssetPath(found) ?? "", node,
                new EditorScenes.ComponentView(found));
        }
    }
}
