#nullable enable
using System;
using System.Collections.Generic;
using System.Text.RegularExpressions;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>Finds a serialised property by its path, or by the name that scripts use for it.</summary>
    internal static class PropertyFinder
    {
        // As scripts write it. Unity's own form is items.Array.data[3].
        private static readonly Regex Item = new(@"(?<!\.Array\.data)\[(\d+)\]", RegexOptions.CultureInvariant);

        /// <exception cref="ToolParameterException">There is none.</exception>
        public static SerializedProperty Find(SerializedObject one, string name, string type)
        {
            string path = Item.Replace(name, ".Array.data[$1]");
            if (one.FindProperty(path) is { } exact) return exact;
            int dot = path.IndexOf('.');
            string first = dot < 0 ? path : path.Substring(0, dot);
            List<string> names = Names(one);
            if (NearNames.Same(first, names) is { } same && one.FindProperty(same + path.Substring(first.Length)) is { } found) return found;
            if (Short(one, path) is { } list) throw new ToolParameterException($"{list.propertyPath} has {list.arraySize} items, counted from 0; {{\"$append\": [...]}} adds some ({name}, Properties)");
            IReadOnlyList<string> near = NearNames.Of(first, names);
            throw new ToolParameterException($"{type} has no property {name}" + (near.Count > 0 ? $", but {string.Join(", ", near)}" : "") +
                "; inspect shows the names, with IncludeHidden all of them (Properties)");
        }

        // The list on the way that has fewer items.
        private static SerializedProperty? Short(SerializedObject one, string path)
        {
            for (int at = path.IndexOf(".Array.data[", StringComparison.Ordinal); at >= 0; at = path.IndexOf(".Array.data[", at + 1, StringComparison.Ordinal))
            {
                SerializedProperty? list = one.FindProperty(path.Substring(0, at));
                if (list is { isArray: true } && one.FindProperty(path.Substring(0, path.IndexOf(']', at) + 1)) == null) return list;
            }
            return null;
        }

        private static List<string> Names(SerializedObject one)
        {
            var names = new List<string>();
            SerializedProperty property = one.GetIterator();
            for (bool more = property.Next(true); more; more = property.Next(false)) names.Add(property.name);
            return names;
        }
    }
}
