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

        public FoundObject Create(string name, string primitive, FoundObject? parent, bool isFlat = false)
        {
            Transform? above = parent != null ? EditorObjects.GameObject(parent).transform
                : fileRoot != null ? fileRoot
                : PrefabStageUtility.GetCurrentPrefabStage() is { } stage ? stage.prefabContentsRoot.transform
                : null;
            GameObject made = primitive.Length > 0 ? GameObject.CreatePrimitive((PrimitiveType)Enum.Parse(typeof(PrimitiveType), primitive))
                : isFlat || above is RectTransform ? new GameObject(name, typeof(RectTransform))
                : new GameObject(name);
            made.name = name;
            if (above != null) made.layer = above.gameObject.layer;
            if (fileRoot == null) Place(made);
            if (above != null && made.transform.parent != above) steps.SetParent(made.transform, above, false);
            if (above != null && made.transform.parent != above) throw new ChangeRefusedException($"Unity puts nothing below {above.name}");
            return EditorObjects.Of(made);
        }

        public ISceneNode? ParentOf(ISceneNode one) =>
            ((EditorScenes.ObjectNode)one).One.transform.parent is { } above ? new EditorScenes.ObjectNode(above.gameObject) : null;

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

        public bool Change(FoundObject found, ObjectChange change)
        {
            GameObject one = EditorObjects.GameObject(found);
            Transform place = one.transform;
            int layer = change.Layer is { } named ? LayerMask.NameToLayer(named) : one.layer;
            bool isOther = (change.Name ?? one.name, change.Active ?? one.activeSelf, change.Tag ?? one.tag, layer) != (one.name, one.activeSelf, one.tag, one.layer);
            if (isOther)
            {
                steps.Record(one);
                if (change.Name is { } name) one.name = name;
                if (change.Active is { } active) one.SetActive(active);
                if (change.Tag is { } tag) one.tag = tag;
                one.layer = layer;
            }
            bool isMoved = Move(place, change);
            // The difference to the prefab is what a file has of an instance. Unity would note it at the end of the frame only, and the scene
            // may be saved before.
            if ((isOther || isMoved) && PrefabUtility.IsPartOfPrefabInstance(one))
            {
                PrefabUtility.RecordPrefabInstancePropertyModifications(one);
                PrefabUtility.RecordPrefabInstancePropertyModifications(place);
            }
            int order = place.GetSiblingIndex();
            if (change.Index is { } index && index != order) steps.SetOrder(place, index);
            return isOther || isMoved || place.GetSiblingIndex() != order;
        }

        // What it is turned by may be told in several numbers, so it is compared afterwards.
        private bool Move(Transform place, ObjectChange change)
        {
            (Vector3, Vector3, Vector3) State() => (place.localPosition, place.localEulerAngles, place.localScale);
            (Vector3 Position, Vector3 Rotation) now = change.InWorld ? (place.position, place.eulerAngles) : (place.localPosition, place.localEulerAngles);
            if (Same(change.Position, now.Position) && Same(change.Rotation, now.Rotation) && Same(change.Scale, place.localScale)) return false;
            var before = State();
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
            return !before.Equals(State());
        }

        private static bool Same(double[]? wanted, Vector3 now) => wanted == null || Vector(wanted).Equals(now);

        public MoveResult Reparent(FoundObject one, FoundObject? parent)
        {
            Transform moved = EditorObjects.GameObject(one).transform;
            Transform? above = parent == null ? null : EditorObjects.GameObject(parent).transform;
            if (moved.parent == above) return MoveResult.WasThere;
            steps.SetParent(moved, above, true);
            return moved.parent == above ? MoveResult.Moved : MoveResult.Refused;
        }

        public MoveResult MoveToScene(FoundObject one, string scenePath)
        {
            GameObject moved = EditorObjects.GameObject(one);
            Scene scene = SceneManager.GetSceneByPath(scenePath);
            MoveResult result = Reparent(one, null);
            if (result == MoveResult.Refused || moved.scene == scene) return result;
            Undo.MoveGameObjectToScene(moved, scene, UndoSteps.Name);
            return moved.scene == scene ? MoveResult.Moved : MoveResult.Refused;
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
            var materials = new MaterialWriter(changed, find);
            List<Action> changes = ofShader.Properties().Select(value => materials.Change(value.Name, value.Value)).OfType<Action>().ToList();
            if (changes.Count == 0 && !serialized.hasModifiedProperties) return false;
            steps.RecordWhole(one);
            steps.Apply(serialized);
            foreach (Action change in changes) change();
            MaterialWriter.Validate(changed);
            EditorUtility.SetDirty(one);
            return true;
        }

        private static IEnumerable<Type> Types(string name) => TypeCache.GetTypesDerivedFrom<Component>()
            .Where(t => !t.IsAbstract && !t.ContainsGenericParameters && (t.Name == name || t.FullName == name));

        private static Vector3 Vector(double[] v) => new((float)v[0], (float)v[1], (float)v[2]);
    }
}
