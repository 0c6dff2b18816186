#nullable enable
using System.Collections.Generic;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>
    /// Converts a serialized property to values that JSON has. A vector, a colour and every other structure become an object of
    /// their parts, an array becomes a list. What lies too deep or is too much is left out, and <see cref="Cut"/> stands there.
    /// </summary>
    internal sealed class PropertyValue
    {
        /// <summary>Stands for values that were left out.</summary>
        public const string Cut = "...";

        private int left = Limits.PropertyValues;

        public object? Of(SerializedProperty property, int depth = 0)
        {
            if (left-- <= 0) return Cut;
            switch (property.propertyType)
            {
                case SerializedPropertyType.Boolean: return property.boolValue;
                case SerializedPropertyType.Integer:
                    return property.type == "ulong" ? property.ulongValue : (object)property.longValue;
                case SerializedPropertyType.LayerMask:
#if UNITY_6000_0_OR_NEWER
                case SerializedPropertyType.RenderingLayerMask:
#endif
                case SerializedPropertyType.ArraySize:
                case SerializedPropertyType.FixedBufferSize: return property.intValue;
                // As a double, 0.1f would be 0.10000000149011612.
                case SerializedPropertyType.Float:
                    return property.type == "double" ? property.doubleValue : (object)property.floatValue;
                case SerializedPropertyType.String: return property.stringValue;
                case SerializedPropertyType.Character: return ((char)property.intValue).ToString();
                // Several flags have no name together, so their number is returned.
                case SerializedPropertyType.Enum:
                    string[] names = property.enumNames;
                    int index = property.enumValueIndex;
                    return index >= 0 && index < names.Length ? names[index] : (object)property.intValue;
                case SerializedPropertyType.Hash128: return property.boxedValue?.ToString();
                case SerializedPropertyType.ObjectReference:
                    UnityEngine.Object? target = property.objectReferenceValue;
                    return target == null ? null : EditorObjects.Of(target).Reference;
                case SerializedPropertyType.ManagedReference when ManagedTypes.Of(property) is { Length: > 0 } type:
                    if (depth == Limits.PropertyDepth) return Cut;
                    Dictionary<string, object?> parts = Parts(property, depth + 1);
                    parts[ManagedTypes.Key] = type;
                    return parts;
                default:
                    bool isList = property.propertyType == SerializedPropertyType.Generic && property.isArray;
                    if (!property.hasChildren && !isList) return null;
                    if (depth == Limits.PropertyDepth) return Cut;
                    return isList ? Items(property, depth + 1) : Parts(property, depth + 1);
            }
        }

        private List<object?> Items(SerializedProperty array, int depth)
        {
            var items = new List<object?>();
            int count = array.arraySize;
            for (int i = 0; i < count && i < Limits.PropertyItems && left > 0; i++) items.Add(Of(array.GetArrayElementAtIndex(i), depth));
            if (items.Count < count) items.Add($"{Cut} {count} items");
            return items;
        }

        private Dictionary<string, object?> Parts(SerializedProperty whole, int depth)
        {
            var parts = new Dictionary<string, object?>();
            SerializedProperty part = whole.Copy();
            int level = whole.depth;
            for (bool found = part.Next(true); found && part.depth > level && left > 0; found = part.Next(false))
            {
                parts[part.name] = Of(part, depth);
            }
            return parts;
        }
    }
}
