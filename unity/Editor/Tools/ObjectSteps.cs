#nullable enable
using System;
using System.Reflection;
using UnityEditor;
using UnityEngine;
using Object = UnityEngine.Object;

namespace Holdfast.Editor
{
    /// <summary>How objects are changed, as Unity's class Undo has it. Unity looks up what has changed of a recorded object later.</summary>
    internal interface IObjectSteps
    {
        void Created(GameObject made);

        void Record(Object one);

        void RecordWhole(Object one);

        void SetParent(Transform moved, Transform? above, bool worldPositionStays);

        void SetOrder(Transform moved, int index);

        Component? Add(GameObject owner, Type type);

        void Destroy(Object one);

        bool Apply(SerializedObject changed);
    }

    /// <summary>Changes what is in scenes, so that the user can undo it.</summary>
    internal sealed class UndoSteps : IObjectSteps
    {
        // Unity shows the name of the tool's step, so this never appears.
        public const string Name = "holdfast";

        // Exists from 2022.3.5f1 on. It is the only call by which the order of objects without a parent can be undone.
        private static readonly MethodInfo? Order = typeof(Undo).GetMethod(
            "SetSiblingIndex", BindingFlags.Static | BindingFlags.Public, null, new[] { typeof(Transform), typeof(int), typeof(string) }, null);

        public void Created(GameObject made) => Undo.RegisterCreatedObjectUndo(made, Name);

        public void Record(Object one) => Undo.RecordObject(one, Name);

        public void RecordWhole(Object one) => Undo.RegisterCompleteObjectUndo(one, Name);

        public void SetParent(Transform moved, Transform? above, bool worldPositionStays) => Undo.SetTransformParent(moved, above, worldPositionStays, Name);

        public void SetOrder(Transform moved, int index)
        {
            if (Order != null)
            {
                Order.Invoke(null, new object[] { moved, index, Name });
                return;
            }
            if (moved.parent != null) Undo.RegisterChildrenOrderUndo(moved.parent, Name);
            moved.SetSiblingIndex(index);
        }

        public Component? Add(GameObject owner, Type type) => Undo.AddComponent(owner, type);

        public void Destroy(Object one) => Undo.DestroyObjectImmediate(one);

        public bool Apply(SerializedObject changed) => changed.ApplyModifiedProperties();
    }

    /// <summary>Changes the loaded objects of a prefab's file. They are gone when it is saved, so undo must not know of them.</summary>
    internal sealed class PlainSteps : IObjectSteps
    {
        public void Created(GameObject made)
        {
        }

        public void Record(Object one)
        {
        }

        public void RecordWhole(Object one)
        {
        }

        public void SetParent(Transform moved, Transform? above, bool worldPositionStays) => moved.SetParent(above, worldPositionStays);

        public void SetOrder(Transform moved, int index) => moved.SetSiblingIndex(index);

        public Component? Add(GameObject owner, Type type) => owner.AddComponent(type);

        public void Destroy(Object one) => Object.DestroyImmediate(one);

        public bool Apply(SerializedObject changed) => changed.ApplyModifiedPropertiesWithoutUndo();
    }
}
