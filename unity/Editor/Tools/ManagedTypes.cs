#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.Serialization;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>The types that a field with [SerializeReference] can have.</summary>
    internal static class ManagedTypes
    {
        private const int Most = 8;

        /// <summary>What says the type, in the value of such a field.</summary>
        public const string Key = "$type";

        /// <summary>The type of the object that is there, with its namespace; empty if there is none.</summary>
        // Unity writes the assembly, a blank, and the name.
        public static string Of(SerializedProperty property) => Plain(property.managedReferenceFullTypename ?? "");

        /// <summary>The names of some types that fit.</summary>
        public static string Some(SerializedProperty property)
        {
            List<string> names = Fitting(property).Select(NameOf).OrderBy(n => n, StringComparer.Ordinal).Take(Most + 1).ToList();
            return names.Count == 0 ? "no class of this project" : string.Join(", ", names.Take(Most)) + (names.Count > Most ? ", ..." : "");
        }

        /// <summary>The one type with this name, with or without namespace, that fits.</summary>
        /// <exception cref="ToolParameterException">There is none, or there are several.</exception>
        public static Type One(SerializedProperty property, string name, Func<string, ToolParameterException> refusal)
        {
            List<Type> named = Fitting(property).Where(t => t.Name == name || NameOf(t) == name).ToList();
            return named.Count == 1 ? named[0]
                : named.Count == 0 ? throw refusal($"takes no {name}, but {Some(property)}")
                : throw refusal($"has several types {name}: {string.Join(", ", named.Take(Most).Select(NameOf))}");
        }

        /// <summary>Makes an object as its constructor does, or without one, as Unity does when it loads an object.</summary>
        public static object Make(Type type) => type.IsValueType || type.GetConstructor(Type.EmptyTypes) != null
            ? Activator.CreateInstance(type)
            : FormatterServices.GetUninitializedObject(type);

        public static string NameOf(Type type) => Plain((type.FullName ?? type.Name).Replace('+', '/'));

        private static string Plain(string name) => name.Substring(name.IndexOf(' ') + 1).Replace('/', '.');

        private static IEnumerable<Type> Fitting(SerializedProperty property)
        {
            string[] field = property.managedReferenceFieldTypename.Split(new[] { ' ' }, 2);
            if (field.Length < 2 || Type.GetType($"{field[1].Replace('/', '+')}, {field[0]}") is not { } wanted) return Type.EmptyTypes;
            return TypeCache.GetTypesDerivedFrom(wanted).Append(wanted).Where(t =>
                t.IsSerializable && !t.IsAbstract && !t.IsInterface && !t.ContainsGenericParameters && !typeof(UnityEngine.Object).IsAssignableFrom(t));
        }
    }
}
