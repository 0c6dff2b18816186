#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port that changes objects, with Undo.</summary>
    internal sealed class EditorObjectEditor : IObjectEditor
    {
        // Unity shows the name of the tool's step, so these never appear.
        private const string Step = "holdfast";

        // Exists from 2022.3.5f1 on. It is the only call by which the order of objects without a parent can be undone.
        private static readonly MethodInfo? SetOrder = typeof(Undo).GetMethod(
            "SetSiblingIndex", BindingFlags.Static | BindingFlags.Public, null, new[] { typeof(Transform), typeof(int), typeof(string) }, null);

        public FoundObject Create(string name, string primitive, FoundObject? parent)
        {
            Transform? above = parent != null ? EditorObjects.GameObject(parent).transform
                : PrefabStageUtility.GetCurrentPrefabStage() is { } stage ? stage.prefabContentsRoot.transform
                : null;
            GameObject made = primitive.Length > 0 ? GameObject.CreatePrimitive((PrimitiveType)Enum.Parse(typeof(PrimitiveType), primitive))
                : above is RectTransform ? new GameObject(name, typeof(RectTransform))
                : new GameObject(name);
            made.name = name;
            if (above != null) made.layer = above.gameObject.layer;
            Place(made);
            if (above != null && made.transform.parent != above) Undo.SetTransformParent(made.transform, above, false, Step);
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
            Undo.RegisterCreatedObjectUndo(made, Step);
        }

        // Unity's own way, since the copy of a prefab's instance must be an instance too, with what was changed of it.
        public FoundObject Duplicate(FoundObject one)
        {
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

        public void Delete(FoundObject one) => Undo.DestroyObjectImmediate(EditorObjects.GameObject(one));

        public void Change(FoundObject found, ObjectChange change)
        {
            GameObject one = EditorObjects.GameObject(found);
            Undo.RecordObject(one, Step);
            if (change.Name is { } name) one.name = name;
            if (change.Active is { } active) one.SetActive(active);
            if (change.Tag is { } tag) one.tag = tag;
            if (change.Layer is { } layer) one.layer = LayerMask.NameToLayer(layer);
            Transform place = one.transform;
            Undo.RecordObject(place, Step);
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
            if (change.Index is { } index) Order(place, index);
        }

        private static void Order(Transform place, int index)
        {
            if (SetOrder != null)
            {
                SetOrder.Invoke(null, new object[] { place, index, Step });
                return;
            }
            if (place.parent != null) Undo.RegisterChildrenOrderUndo(place.parent, Step);
            place.SetSiblingIndex(index);
        }

        public bool Reparent(FoundObject one, FoundObject? parent)
        {
            Transform moved = EditorObjects.GameObject(one).transform;
            Transform? above = parent == null ? null : EditorObjects.GameObject(parent).transform;
            if (moved.parent == above) return true;
            Undo.SetTransformParent(moved, above, true, Step);
            return moved.parent == above;
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
            Component? made = Undo.AddComponent(owner, type);
            return made == null ? null : new EditorScenes.ComponentView(made);
        }

        public bool RemoveComponent(FoundObject one, ISceneComponent component)
        {
            var removed = (Component)((EditorScenes.ComponentView)component).One!;
            Undo.DestroyObjectImmediate(removed);
            return !EditorObjects.GameObject(one).GetComponents<Component>().Contains(removed);
        }

        public void Set(ISceneComponent target, JObject values, Func<string, FoundObject> find)
        {
            UnityEngine.Object one = ((EditorScenes.ComponentView)target).One!;
            using var serialized = new SerializedObject(one);
            var writer = new PropertyWriter(find);
            var ofShader = new JObject();
            foreach (JProperty value in values.Properties())
            {
                if (one is Material material && material.HasProperty(value.Name))
                {
                    ofShader[value.Name] = value.Value;
                    continue;
                }
                writer.Write(PropertyFinder.Find(serialized, value.Name, target.TypeName), value.Value);
            }
            if (one is not Material changed)
            {
                serialized.ApplyModifiedProperties();
                return;
            }
            // The whole object, so that a value which is refused leaves nothing changed.
            Undo.RegisterCompleteObjectUndo(one, Step);
            if (values.Count > ofShader.Count) serialized.ApplyModifiedProperties();
            foreach (JProperty value in ofShader.Properties()) new MaterialWriter(changed, find).Write(value.Name, value.Value);
            MaterialWriter.Validate(changed);
            EditorUtility.SetDirty(one);
        }

        private static IEnumerable<Type> Types(string name) => TypeCache.GetTypesDerivedFrom<Component>()
            .Where(t => !t.IsAbstract && !t.ContainsGenericParameters && (t.Name == name || t.FullName == name));

        private static Vector3 Vector(double[] v) => new((float)v[0], (float)v[1], (float)v[2]);
    }
}
