#nullable enable
using System.Collections.Generic;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>Finds a serialised property by its path, or by the name that scripts use for it.</summary>
    internal static class PropertyFinder
    {
        /// <exception cref="ToolParameterException">There is none.</exception>
        public static SerializedProperty Find(SerializedObject one, string path, string type)
        {
            if (one.FindProperty(path) is { } exact) return exact;
            int dot = path.IndexOf('.');
            string first = dot < 0 ? path : path.Substring(0, dot);
            List<string> names = Names(one);
            if (NearNames.Same(first, names) is { } same && one.FindProperty(same + path.Substring(first.Length)) is { } found) return found;
            IReadOnlyList<string> near = NearNames.Of(first, names);
            throw new ToolParameterException($"{type} has no property {path}" + (near.Count > 0 ? $", but {string.Join(", ", near)}" : "") +
                "; inspect shows the names, with IncludeHidden all of them (Properties)");
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
