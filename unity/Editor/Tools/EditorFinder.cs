#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.SceneManagement;
using Object = UnityEngine.Object;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of the tools that find.</summary>
    internal sealed class EditorFinder : IFinder
    {
        // The references by which Unity itself holds a scene together.
        private static readonly HashSet<string> Inner = new()
        {
            "m_GameObject", "m_Father", "m_Children", "m_CorrespondingSourceObject", "m_PrefabInstance", "m_PrefabAsset", "m_RootGameObject"
        };

        public bool IsThere(ISceneNode node) => ((EditorScenes.ObjectNode)node).One != null;

        public bool IsComponentType(string name) => name is "Component" or "UnityEngine.Component" ||
            TypeCache.GetTypesDerivedFrom<Component>().Any(t => t.Name == name || t.FullName == name);

        public IReadOnlyList<string> HiddenScenes()
        {
            bool prefab = PrefabStageUtility.GetCurrentPrefabStage() != null;
            return Enumerable.Range(0, SceneManager.sceneCount).Select(SceneManager.GetSceneAt).Where(s => prefab || !s.isLoaded)
                .Select(s => s.path.Length > 0 ? s.path : s.name).ToList();
        }

        public IReadOnlyList<ReferenceInfo> References(ISceneNode from, FoundObject to, ref bool isCut)
        {
            GameObject one = ((EditorScenes.ObjectNode)from).One;
            var target = new Target(to);
            var found = new List<ReferenceInfo>();
            if (target.IsPrefabOf(one)) found.Add(new ReferenceInfo(EditorObjects.Of(one).Reference, "(prefab)"));
            foreach (Component component in one.GetComponents<Component>())
            {
                if (component == null) continue;
                foreach (string property in Properties(component, target, ref isCut))
                {
                    found.Add(new ReferenceInfo(EditorObjects.Of(component).Reference, property));
                }
            }
            return found;
        }

        private static List<string> Properties(Component component, Target target, ref bool isCut)
        {
            var found = new List<string>();
            using var serialized = new SerializedObject(component);
            SerializedProperty property = serialized.GetIterator();
            int read = 0;
            for (bool into = true; property.Next(into);)
            {
                // Structures may refer to each other in a circle.
                if (++read > Limits.SearchedProperties)
                {
                    isCut = true;
                    break;
                }
                bool inner = property.depth == 0 && Inner.Contains(property.name);
                into = !inner && MayHaveReferences(property);
                if (!inner && property.propertyType == SerializedPropertyType.ObjectReference && target.Is(property.objectReferenceValue)) found.Add(property.propertyPath);
            }
            return found;
        }

        // A long list of numbers is not gone through.
        private static bool MayHaveReferences(SerializedProperty property) =>
            property.propertyType is SerializedPropertyType.Generic or SerializedPropertyType.ManagedReference or SerializedPropertyType.ExposedReference &&
            (!property.isArray || property.arraySize == 0 || property.GetArrayElementAtIndex(0).propertyType is SerializedPropertyType.Generic or
                SerializedPropertyType.ManagedReference or SerializedPropertyType.ExposedReference or SerializedPropertyType.ObjectReference);

        public IReadOnlyList<string> DependenciesOf(string path) => AssetDatabase.GetDependencies(path, false);

        public IReadOnlyList<string> LabelsOf(string path) => AssetDatabase.GetLabels(AssetDatabase.GUIDFromAssetPath(path));

        public IReadOnlyList<string> MissingScripts(string path)
        {
            if (!path.EndsWith(".prefab", StringComparison.OrdinalIgnoreCase))
            {
                // An object without its script is null in the list.
                return AssetDatabase.LoadAllAssetsAtPath(path).Any(part => part == null) ? new[] { path } : Array.Empty<string>();
            }
            if (AssetDatabase.LoadMainAssetAtPath(path) is not GameObject root) return Array.Empty<string>();
            var view = new SceneView(root.name, path, SceneKind.Prefab, true, new ISceneNode[] { new EditorScenes.ObjectNode(root) });
            return SceneWalk.All(new[] { view }, true).Take(Limits.SceneNodes).Where(spot => spot.Node.Components.Any(c => c.IsMissing)).Select(spot => spot.Path).ToList();
        }

        /// <summary>What is referred to.</summary>
        private readonly struct Target
        {
            private readonly Object one;
            private readonly string file;

            public Target(FoundObject found) => (one, file) = (EditorObjects.Object(found), found.IsPart ? "" : found.AssetPath);

            public bool Is(Object? value) => value != null && (value == one || (value is Component part && part.gameObject == one) ||
                (file.Length > 0 && AssetDatabase.GetAssetPath(value) == file));

            public bool IsPrefabOf(GameObject instance) => file.Length > 0 && one is GameObject && PrefabUtility.IsAnyPrefabInstanceRoot(instance) &&
                PrefabUtility.GetPrefabAssetPathOfNearestInstanceRoot(instance) == file;
        }
    }
}
