#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.SceneManagement;

namespace Holdfast.Editor
{
    /// <summary>The open scenes, or the prefab that is being edited.</summary>
    internal sealed class EditorScenes : IScenes
    {
        public IReadOnlyList<SceneView> Open()
        {
            PrefabStage? stage = PrefabStageUtility.GetCurrentPrefabStage();
            if (stage != null)
            {
                GameObject root = stage.prefabContentsRoot;
                return new[] { new SceneView(root.name, stage.assetPath, SceneKind.Prefab, true, new[] { new ObjectNode(root) }) };
            }
            var open = new List<SceneView>();
            Scene active = SceneManager.GetActiveScene();
            for (int i = 0; i < SceneManager.sceneCount; i++)
            {
                Scene scene = SceneManager.GetSceneAt(i);
                if (scene.isLoaded) open.Add(View(scene, SceneKind.Scene, scene.path == active.path && scene.name == active.name));
            }
            if (Application.isPlaying && Lasting() is { } lasting) open.Add(View(lasting, SceneKind.DontDestroyOnLoad, false));
            return open;
        }

        /// <summary>The objects without a parent of all open scenes.</summary>
        internal static IEnumerable<GameObject> Roots() => new EditorScenes().Open().SelectMany(s => s.Roots).Select(r => ((ObjectNode)r).One);

        public bool HasDirtyPrefab => PrefabStageUtility.GetCurrentPrefabStage() is { } stage && stage.scene.isDirty;

        private static SceneView View(Scene scene, SceneKind kind, bool active) =>
            new(scene.name, scene.path, kind, active, scene.GetRootGameObjects().Select(o => new ObjectNode(o)).ToArray());

        // Returns the scene of the objects that outlive a change of scene. No API returns it, so it is read from a temporary
        // object that is moved there. The object has no flags, since nothing says where Unity puts one that is hidden.
        private static Scene? Lasting()
        {
            var probe = new GameObject("Holdfast");
            try
            {
                UnityEngine.Object.DontDestroyOnLoad(probe);
                return probe.scene.IsValid() ? probe.scene : null;
            }
            finally
            {
                UnityEngine.Object.DestroyImmediate(probe);
            }
        }

        internal static string IdOf(UnityEngine.Object one)
        {
#if UNITY_6000_4_OR_NEWER
            return EntityId.ToULong(one.GetEntityId()).ToString();
#else
            return one.GetInstanceID().ToString();
#endif
        }

        // An object of a scene that was never saved has an id of zeros.
        internal static string GlobalIdOf(UnityEngine.Object one)
        {
            GlobalObjectId id = GlobalObjectId.GetGlobalObjectIdSlow(one);
            return id.identifierType == 0 ? "" : id.ToString();
        }

        internal sealed class ObjectNode : ISceneNode
        {
            private readonly GameObject one;

            public ObjectNode(GameObject one) => this.one = one;

            public GameObject One => one;

            public string Id => IdOf(one);

            public string Name => one.name;

            // Unity puts the prefab that is open below objects of its own in some cases.
            public string Path
            {
                get
                {
                    if (!one.scene.IsValid()) return "";
                    GameObject? top = PrefabStageUtility.GetCurrentPrefabStage()?.prefabContentsRoot;
                    string path = one.name;
                    for (Transform at = one.transform; at.parent != null && at.gameObject != top; at = at.parent) path = at.parent.name + "/" + path;
                    return path;
                }
            }

            public string Tag => one.tag;

            public int Layer => one.layer;

            public string LayerName => LayerMask.LayerToName(one.layer);

            public bool ActiveSelf => one.activeSelf;

            public bool ActiveInHierarchy => one.activeInHierarchy;

            public IEnumerable<ISceneNode> Children
            {
                get
                {
                    Transform transform = one.transform;
                    for (int i = 0; i < transform.childCount; i++) yield return new ObjectNode(transform.GetChild(i).gameObject);
                }
            }

            public IEnumerable<ISceneComponent> Components => one.GetComponents<Component>().Select(c => new ComponentView(c));
        }

        /// <summary>A component, or another object that has serialised properties.</summary>
        internal sealed class ComponentView : ISceneComponent
        {
            private readonly UnityEngine.Object? component;

            public ComponentView(UnityEngine.Object? component) => this.component = component;

            public UnityEngine.Object? One => component;

            public bool IsMissing => component == null;

            public string Id => component == null ? "" : IdOf(component);

            public string GlobalId => component == null ? "" : GlobalIdOf(component);

            public string TypeName => component!.GetType().Name;

            public string FullTypeName => component!.GetType().FullName ?? TypeName;

            public bool? Enabled => component switch
            {
                Behaviour behaviour => behaviour.enabled,
                Renderer renderer => renderer.enabled,
                _ => SerializedSwitch()
            };

            // Components such as colliders have the switch too. Their types are in modules that a project may switch off.
            private bool? SerializedSwitch()
            {
                using var serialized = new SerializedObject(component!);
                SerializedProperty? enabled = serialized.FindProperty("m_Enabled");
                return enabled?.boolValue;
            }

            public bool IsA(string typeName)
            {
                for (Type? type = component!.GetType(); type != null; type = type.BaseType)
                {
                    if (type.Name == typeName || type.FullName == typeName) return true;
                }
                return false;
            }

            // If `inherited` is true, hidden properties are returned too: Unity's own data, which the inspector does not show.
            public IEnumerable<SceneProperty> Properties(bool inherited)
            {
                using var serialized = new SerializedObject(component!);
                SerializedProperty property = serialized.GetIterator();
                bool into = true;
                while (inherited ? property.Next(into) : property.NextVisible(into))
                {
                    into = false;
                    if (property.name == "m_Script") continue;
                    yield return new SceneProperty(property.name, property.type, new PropertyValue().Of(property));
                }
            }
        }
    }
}
