#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Finds the type that a caller names, with or without namespace.</summary>
    internal static class TypeNames
    {
        /// <summary>Returns the full name of the one type.</summary>
        /// <param name="name">The name that was given.</param>
        /// <param name="find">Returns the full names of the types with this name.</param>
        /// <param name="kind">What the types are, such as component, for the refusal.</param>
        /// <param name="parameter">The parameter's name, for the refusal.</param>
        /// <exception cref="ToolParameterException">There is no such type, or several.</exception>
        public static string One(string name, Func<string, IReadOnlyList<string>> find, string kind, string parameter)
        {
            if (name.Length == 0) throw new ToolParameterException(parameter + " is missing");
            IReadOnlyList<string> types = find(name);
            if (types.Count == 1) return types[0];
            throw new ToolParameterException(types.Count == 0
                ? $"There is no {kind} type {name} ({parameter}). The class of a script is there once the script has been compiled"
                : $"Several {kind} types have the name {name} ({parameter}): {string.Join(", ", types.Take(Limits.SameObjects))}");
        }
    }
}
