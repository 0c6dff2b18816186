#nullable enable
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using Newtonsoft.Json.Linq;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>
    /// Writes JSON into serialised properties: the form in which <see cref="PropertyValue"/> reads them. A structure takes an
    /// object of some or all of its parts, or a list of all. A list replaces the whole array. A property that refers to an
    /// object takes any name by which tools find objects.
    /// </summary>
    internal sealed class PropertyWriter
    {
        private static readonly MethodInfo? Check = typeof(SerializedProperty).GetMethod(
            "ValidateObjectReferenceValue", BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic, null, new[] { typeof(UnityEngine.Object) }, null);

        private readonly Func<string, FoundObject> find;
        private int left = Limits.PropertyValues;

        public PropertyWriter(Func<string, FoundObject> find) => this.find = find;

        /// <exception cref="ToolParameterException">The property does not take the value.</exception>
        public void Write(SerializedProperty property, JToken value)
        {
            if (left-- <= 0) throw new ToolParameterException($"More than {Limits.PropertyValues} values at once (Properties)");
            if (!property.editable) throw Refusal(property, "cannot be changed", value);
            switch (property.propertyType)
            {
                case SerializedPropertyType.Boolean:
                    property.boolValue = value.Type == JTokenType.Boolean ? (bool)value : throw Refusal(property, "takes true or false", value);
                    return;
                case SerializedPropertyType.Integer when property.type == "ulong":
                    property.ulongValue = Whole(property, value, ulong.MinValue, ulong.MaxValue, ulong.Parse);
                    return;
                case SerializedPropertyType.Integer when value.Type == JTokenType.String && EnumOf(property) is { } kinds:
                    property.intValue = Enum.IsDefined(kinds, (string)value!)
                        ? Convert.ToInt32(Enum.Parse(kinds, (string)value!), CultureInfo.InvariantCulture)
                        : throw Refusal(property, "takes one of " + string.Join(", ", Enum.GetNames(kinds)) + ", or a number", value);
                    return;
                case SerializedPropertyType.Integer:
                    (long least, long most) = Range(property.type);
                    property.longValue = Whole(property, value, least, most, long.Parse);
                    return;
                case SerializedPropertyType.LayerMask:
#if UNITY_6000_0_OR_NEWER
                case SerializedPropertyType.RenderingLayerMask:
#endif
                    property.intValue = Whole(property, value, int.MinValue, int.MaxValue, int.Parse);
                    return;
                case SerializedPropertyType.Float:
                    double number = value.Type is JTokenType.Integer or JTokenType.Float ? (double)value : throw Refusal(property, "takes a number", value);
                    bool isDouble = property.type == "double";
                    if (double.IsNaN(number) || double.IsInfinity(isDouble ? number : (float)number)) throw Refusal(property, "takes a number that is not too large", value);
                    if (isDouble) property.doubleValue = number;
                    else property.floatValue = (float)number;
                    return;
                case SerializedPropertyType.String:
                    property.stringValue = Text(property, value);
                    return;
                case SerializedPropertyType.Character:
                    string one = Text(property, value);
                    property.intValue = one.Length == 1 ? one[0] : throw Refusal(property, "takes one character", value);
                    return;
                case SerializedPropertyType.Enum:
                    WriteEnum(property, value);
                    return;
                case SerializedPropertyType.ObjectReference:
                    WriteReference(property, value);
                    return;
                case SerializedPropertyType.Generic when property.isArray:
                    if (ListEdit.Of(value, property.arraySize, what => Refusal(property, what, value)) is { } edit) EditItems(property, edit);
                    else WriteItems(property, value as JArray ?? throw Refusal(property, "takes a list, or {\"$append\": [...], \"$remove\": [...]}", value));
                    return;
                case SerializedPropertyType.ManagedReference:
                    WriteManaged(property, value);
                    return;
                default:
                    if (!property.hasChildren || property.propertyType == SerializedPropertyType.Hash128)
                    {
                        throw Refusal(property, $"has a kind of value that cannot be set ({property.type})", value);
                    }
                    WriteParts(property, value);
                    return;
            }
        }

        private static void WriteEnum(SerializedProperty property, JToken value)
        {
            string[] names = property.enumNames;
            int index = value.Type == JTokenType.String ? Array.IndexOf(names, (string)value!) : -1;
            if (index >= 0) property.enumValueIndex = index;
            // Flags together have no name.
            else if (value.Type == JTokenType.Integer) property.intValue = Whole(property, value, int.MinValue, int.MaxValue, int.Parse);
            else throw Refusal(property, "takes one of " + string.Join(", ", names) + ", or a number", value);
        }

        private void WriteReference(SerializedProperty property, JToken value)
        {
            if (value.Type == JTokenType.Null)
            {
                property.objectReferenceValue = null;
                return;
            }
            FoundObject found = find(Text(property, value));
            // Such as PPtr<$Rigidbody>.
            string wanted = property.type.Replace("PPtr<", "").TrimStart('$').TrimEnd('>');
            UnityEngine.Object whole = EditorObjects.Object(found);
            List<UnityEngine.Object> fit = IsA(whole, wanted) ? new List<UnityEngine.Object> { whole }
                : Parts(found).Where(o => IsA(o, wanted)).Take(Limits.SameObjects + 1).ToList();
            // Some of Unity's native types have another name in C#.
            if (fit.Count == 0) fit = Parts(found).Prepend(whole).Where(o => Takes(property, o)).Take(1).ToList();
            if (fit.Count > 1)
            {
                string several = string.Join(", ", fit.Take(Limits.SameObjects).Select(o => EditorObjects.Of(o).Reference));
                throw Refusal(property, $"takes one {wanted} of several there: {several}{(fit.Count > Limits.SameObjects ? ", ..." : "")}", value);
            }
            if (fit.Count == 1) property.objectReferenceValue = fit[0];
            if (fit.Count == 0 || property.objectReferenceValue == null) throw Refusal(property, $"takes a {wanted}, which the object neither is nor has", value);
        }

        private static bool IsA(UnityEngine.Object one, string type) => new EditorScenes.ComponentView(one).IsA(type);

        // What the inspector asks before it assigns an object. Unity's setter may take an object that does not fit.
        private static bool Takes(SerializedProperty property, UnityEngine.Object one) =>
            Check == null || (bool)Check.Invoke(property, new object[] { one })!;

        // A GameObject stands for its components, and an asset for its parts, such as the sprites of a texture.
        private static IEnumerable<UnityEngine.Object> Parts(FoundObject found)
        {
            IEnumerable<UnityEngine.Object> parts = EditorObjects.Object(found) is UnityEngine.GameObject game ? game.GetComponents<UnityEngine.Component>()
                : found.AssetPath.Length > 0 && !found.IsPart && !found.AssetPath.EndsWith(".unity", StringComparison.Ordinal) ? AssetDatabase.LoadAllAssetsAtPath(found.AssetPath)
                : Array.Empty<UnityEngine.Object>();
            return parts.Where(o => o != null);
        }

        private void WriteItems(SerializedProperty array, JArray items)
        {
            if (items.Count > Limits.PropertyValues) throw new ToolParameterException($"{array.propertyPath} gets more than {Limits.PropertyValues} items (Properties)");
            Resize(array, items.Count);
            for (int i = 0; i < items.Count; i++) Write(array.GetArrayElementAtIndex(i), items[i]);
        }

        private void EditItems(SerializedProperty array, ListEdit edit)
        {
            foreach (int place in edit.Removed)
            {
                int size = array.arraySize;
                array.DeleteArrayElementAtIndex(place);
                // A reference may only be emptied at first.
                if (array.arraySize == size) array.DeleteArrayElementAtIndex(place);
            }
            int first = array.arraySize;
            Resize(array, first + edit.Appended.Count);
            for (int i = 0; i < edit.Appended.Count; i++) Write(array.GetArrayElementAtIndex(first + i), edit.Appended[i]);
        }

        // Unity makes new items copies of the last one. Two items would then be one and the same managed object.
        private static void Resize(SerializedProperty array, int size)
        {
            int before = array.arraySize;
            array.arraySize = size;
            for (int i = before; i < size; i++)
            {
                SerializedProperty item = array.GetArrayElementAtIndex(i);
                if (item.propertyType == SerializedPropertyType.ManagedReference) item.managedReferenceValue = null;
            }
        }

        // A field with [SerializeReference]: null, or the type and what is to be set of it.
        private void WriteManaged(SerializedProperty property, JToken value)
        {
            if (value.Type == JTokenType.Null)
            {
                property.managedReferenceValue = null;
                return;
            }
            ToolParameterException Wrong(string what) => Refusal(property, what, value);
            JObject given = value as JObject ?? throw Wrong($"takes null, or {{\"{ManagedTypes.Key}\": \"...\"}} with its parts");
            string now = ManagedTypes.Of(property);
            if (given[ManagedTypes.Key] is { } named)
            {
                Type type = ManagedTypes.One(property, named.Type == JTokenType.String ? (string)named! : throw Wrong(ManagedTypes.Key + " is the name of a class"), Wrong);
                if (ManagedTypes.NameOf(type) != now) property.managedReferenceValue = ManagedTypes.Make(type);
            }
            else if (now.Length == 0)
            {
                throw Wrong($"is null; {ManagedTypes.Key} says what it shall be: {ManagedTypes.Some(property)}");
            }
            WriteParts(property, new JObject(given.Properties().Where(p => p.Name != ManagedTypes.Key)));
        }

        // Of importers many values are enums in scripts and numbers in files.
        private static Type? EnumOf(SerializedProperty property)
        {
            if (property.serializedObject.targetObject is not AssetImporter importer) return null;
            PropertyInfo[] all = importer.GetType().GetProperties();
            string? same = NearNames.Same(property.propertyPath, all.Select(p => p.Name));
            return all.FirstOrDefault(p => p.Name == same)?.PropertyType is { IsEnum: true } type ? type : null;
        }

        private void WriteParts(SerializedProperty whole, JToken value)
        {
            var parts = new List<SerializedProperty>();
            SerializedProperty part = whole.Copy();
            int level = whole.depth;
            for (bool found = part.Next(true); found && part.depth > level && parts.Count < Limits.PropertyValues; found = part.Next(false)) parts.Add(part.Copy());
            string names = string.Join(", ", parts.Select(p => p.name));
            if (value is JArray list)
            {
                if (list.Count != parts.Count) throw Refusal(whole, $"has {parts.Count} parts: {names}", value);
                for (int i = 0; i < list.Count; i++) Write(parts[i], list[i]);
                return;
            }
            foreach (JProperty given in (value as JObject ?? throw Refusal(whole, "takes an object or a list with " + names, value)).Properties())
            {
                Write(parts.Find(p => p.name == given.Name) ?? throw Refusal(whole, "has no part " + given.Name + ", but " + names, value), given.Value);
            }
        }

        private delegate T Parse<T>(string text, NumberStyles style, IFormatProvider culture);

        private static T Whole<T>(SerializedProperty property, JToken value, T least, T most, Parse<T> parse) where T : IComparable<T>
        {
            try
            {
                if (value.Type == JTokenType.Integer)
                {
                    T number = parse(Convert.ToString(((JValue)value).Value, CultureInfo.InvariantCulture) ?? "", NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
                    if (number.CompareTo(least) >= 0 && number.CompareTo(most) <= 0) return number;
                }
            }
            catch (OverflowException)
            {
                // The refusal says what fits.
            }
            throw Refusal(property, $"takes a whole number from {least} to {most}", value);
        }

        private static (long, long) Range(string type) => type switch
        {
            "sbyte" => (sbyte.MinValue, sbyte.MaxValue),
            "byte" => (byte.MinValue, byte.MaxValue),
            "short" => (short.MinValue, short.MaxValue),
            "ushort" => (ushort.MinValue, ushort.MaxValue),
            "uint" => (uint.MinValue, uint.MaxValue),
            "long" => (long.MinValue, long.MaxValue),
            _ => (int.MinValue, int.MaxValue)
        };

        private static string Text(SerializedProperty property, JToken value) =>
            value.Type == JTokenType.String ? (string)value! : throw Refusal(property, "takes a text", value);

        private static ToolParameterException Refusal(SerializedProperty property, string what, JToken value)
        {
            string given = Json.Write(value);
            return new ToolParameterException($"{property.propertyPath} {what}; given was {(given.Length <= 60 ? given : given.Substring(0, 60) + "...")} (Properties)");
        }
    }
}
