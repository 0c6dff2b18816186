#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.SceneManagement;

namespace Holdfast.Editor
{
    /// <summary>Implements the port that changes objects: those of the open scenes or of the open prefab, or those of a prefab's file.</summary>
    internal sealed class EditorObjectEditor : IObjectEditor
    {
        private readonly IObjectSteps steps;
        private readonly Transform? fileRoot;

        /// <summary>Creates an editor.</summary>
        /// <param name="steps">How it changes them.</param>
        /// <param name="fileRoot">The root of a prefab's file; null for scenes and the open prefab.</param>
        public EditorObjectEditor(IObjectSteps steps, Transform? fileRoot = null) => (this.steps, this.fileRoot) = (steps, fileRoot);

        public FoundObject Create(string name, string primitive, FoundObject? parent)
        {
            Transform? above = parent != null ? EditorObjects.GameObject(parent).transform
                : fileRoot != null ? fileRoot
                : PrefabStageUtility.GetCurrentPrefabStage() is { } stage ? stage.prefabContentsRoot.transform
                : null;
            GameObject made = primitive.Length > 0 ? GameObject.CreatePrimitive((PrimitiveType)Enum.Parse(typeof(PrimitiveType), primitive))
                : above is RectTransform ? new GameObject(name, typeof(RectTransform))
                : new GameObject(name);
            made.name = name;
            if (above != null) made.layer = above.gameObject.layer;
            if (fileRoot == null) Place(made);
            if (above != null && made.transform.parent != above) steps.SetParent(made.transform, above, false);
            if (above != null && made.transform.parent != above) throw new ChangeRefusedException($"Unity puts nothing below {above.name}");
            return EditorObjects.Of(made);
        }

        /// <summary>Puts a new object into the open prefab, if one is open, and makes its creation a step of undo.</summary>
        internal static void Place(GameObject made)
        {
            if (PrefabStageUtility.GetCurrentPrefabStage() is { } stage)
            {
                StageUtility.PlaceGameObjectInCurrentStage(made);
                made.transform.SetParent(stage.prefabContentsRoot.transform, false);
            }
            new UndoSteps().Created(made);
        }

        // Unity's own way, since the copy of a prefab's instance must be an instance too, with what was changed of it.
        public FoundObject Duplicate(FoundObject one)
        {
            if (fileRoot != null) return Copy(EditorObjects.GameObject(one));
#if UNITY_6000_0_OR_NEWER
            return EditorObjects.Of(GameObjectUtility.DuplicateGameObject(EditorObjects.GameObject(one)));
#else
            UnityEngine.Object[] selected = Selection.objects;
            try
            {
                Selection.objects = new UnityEngine.Object[] { EditorObjects.GameObject(one) };
                Unsupported.DuplicateGameObjectsUsingPasteboard();
                return EditorObjects.Of(Selection.objects[0]);
            }
            finally
            {
                Selection.objects = selected;
            }
#endif
        }

        // Unity's own way needs a selection or a scene that is open.
        private static FoundObject Copy(GameObject one)
        {
            if (one.GetComponentsInChildren<Transform>(true).Any(PrefabUtility.IsPartOfPrefabInstance))
            {
                throw new ChangeRefusedException($"{one.name} has an instance of a prefab, whose copy would be none; put another instance there, with prefabs, or open the prefab");
            }
            GameObject copy = UnityEngine.Object.Instantiate(one, one.transform.parent);
            copy.name = one.name;
            return EditorObjects.Of(copy);
        }

        public void Delete(FoundObject one)
        {
            GameObject deleted = EditorObjects.GameObject(one);
            string name = deleted.name;
            Transform? above = deleted.transform.parent;
            int before = above == null ? 0 : above.childCount;
            steps.Destroy(deleted);
            if (above != null && above.childCount == before) throw new ChangeRefusedException($"Unity does not delete {name} here; get-logs may tell why");
        }

        public void Change(FoundObject found, ObjectChange change)
        {
            GameObject one = EditorObjects.GameObject(found);
            steps.Record(one);
            if (change.Name is { } name) one.name = name;
            if (change.Active is { } active) one.SetActive(active);
            if (change.Tag is { } tag) one.tag = tag;
            if (change.Layer is { } layer) one.layer = LayerMask.NameToLayer(layer);
            Transform place = one.transform;
            steps.Record(place);
            if (change.Position is { } position)
            {
                if (change.InWorld) place.position = Vector(position);
                else place.localPosition = Vector(position);
            }
            if (change.Rotation is { } rotation)
            {
                if (change.InWorld) place.eulerAngles = Vector(rotation);
                else place.localEulerAngles = Vector(rotation);
            }
            if (change.Scale is { } scale) place.localScale = Vector(scale);
            // The difference to the prefab is what a file has of an instance. Unity would note it at the end of the frame only, and the scene
            // may be saved before.
            if (PrefabUtility.IsPartOfPrefabInstance(one))
            {
                PrefabUtility.RecordPrefabInstancePropertyModifications(one);
                PrefabUtility.RecordPrefabInstancePropertyModifications(place);
            }
            if (change.Index is { } index) steps.SetOrder(place, index);
        }

        public bool Reparent(FoundObject one, FoundObject? parent)
        {
            Transform moved = EditorObjects.GameObject(one).transform;
            Transform? above = parent == null ? null : EditorObjects.GameObject(parent).transform;
            if (moved.parent == above) return true;
            steps.SetParent(moved, above, true);
            return moved.parent == above;
        }

        public bool MoveToScene(FoundObject one, string scenePath)
        {
            GameObject moved = EditorObjects.GameObject(one);
            Scene scene = SceneManager.GetSceneByPath(scenePath);
            if (!Reparent(one, null)) return false;
            if (moved.scene != scene) Undo.MoveGameObjectToScene(moved, scene, UndoSteps.Name);
            return moved.scene == scene;
        }

        public bool Contains(FoundObject one, FoundObject other) =>
            EditorObjects.GameObject(other).transform.IsChildOf(EditorObjects.GameObject(one).transform);

        public IReadOnlyList<string> ComponentTypes(string name) => Types(name).Select(t => t.FullName ?? t.Name).ToList();

        public ISceneComponent? AddComponent(FoundObject one, string fullTypeName)
        {
            GameObject owner = EditorObjects.GameObject(one);
            Type type = Types(fullTypeName).First(t => t.FullName == fullTypeName);
            // Unity may ask the user about these.
            if (ComponentRules.Obstacle(owner, type) is { } obstacle) throw new ChangeRefusedException(obstacle);
            Component? made = steps.Add(owner, type);
            return made == null ? null : new EditorScenes.ComponentView(made);
        }

        public bool RemoveComponent(FoundObject one, ISceneComponent component)
        {
            var removed = (Component)((EditorScenes.ComponentView)component).One!;
            steps.Destroy(removed);
            return !EditorObjects.GameObject(one).GetComponents<Component>().Contains(removed);
        }

        public bool Set(ISceneComponent target, JObject values, Func<string, FoundObject> find)
        {
            UnityEngine.Object one = ((EditorScenes.ComponentView)target).One!;
            using var serialized = new SerializedObject(one);
            var writer = new PropertyWriter(find);
            var ofShader = new JObject();
            EditorBuildSettingsScene[]? scenes = null;
            foreach (JProperty value in values.Properties())
            {
                if (one is Material material && material.HasProperty(value.Name))
                {
                    ofShader[value.Name] = value.Value;
                    continue;
                }
                SerializedProperty property = PropertyFinder.Find(serialized, value.Name, target.TypeName);
                if (one is EditorBuildSettings && BuildScenes.Owns(property.propertyPath)) scenes = BuildScenes.Wanted(property.propertyPath, value.Value);
                else writer.Write(property, value.Value);
            }
            if (one is AssetImporter importer)
            {
                if (!serialized.hasModifiedProperties) return false;
                Undo.RegisterImporterUndo(importer.assetPath, UndoSteps.Name);
                return serialized.ApplyModifiedPropertiesWithoutUndo();
            }
            if (one is not Material changed)
            {
                bool applied = steps.Apply(serialized);
                if (scenes == null) return applied;
                steps.RecordWhole(one);
                BuildScenes.Write(scenes);
                return true;
            }
            // The whole object, so that a value which is refused leaves nothing changed.
            steps.RecordWhole(one);
            if (values.Count > ofShader.Count) steps.Apply(serialized);
            foreach (JProperty value in ofShader.Properties()) new MaterialWriter(changed, find).Write(value.Name, value.Value);
            MaterialWriter.Validate(changed);
            EditorUtility.SetDirty(one);
            return true;
        }

        private static IEnumerable<Type> Types(string name) => TypeCache.GetTypesDerivedFrom<Component>()
            .Where(t => !t.IsAbstract && !t.ContainsGenericParameters && (t.Name == name || t.FullName == name));

        private static Vector3 Vector(double[] v) => new((float)v[0], (float)v[1], (float)v[2]);
    }
}
