#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Says which components cannot be side by side. In the inspector Unity explains this in a dialog.</summary>
    internal static class ComponentRules
    {
        // Unity's own types of which a GameObject has one at most. That is not written at their C# types.
        private static readonly HashSet<string> Single = new()
        {
            "Animation", "Animator", "ArticulationBody", "AudioListener", "Camera", "Canvas", "CanvasGroup", "CanvasRenderer", "CharacterController",
            "Light", "LODGroup", "MeshFilter", "ParticleSystem", "Renderer", "Rigidbody", "Rigidbody2D", "Terrain", "Transform"
        };

        private static readonly string[] Solid = { "Rigidbody", "Collider", "Joint", "CharacterController", "ArticulationBody" };
        private static readonly string[] Flat = { "Rigidbody2D", "Collider2D", "Joint2D", "Effector2D" };

        /// <summary>Why a GameObject cannot get a component of this type; null if nothing is known against it.</summary>
        public static string? Obstacle(GameObject one, Type type)
        {
            Component[] there = one.GetComponents<Component>().Where(c => c != null).ToArray();
            foreach (Type each in Line(type).Where(t => IsSingle(t)))
            {
                if (Array.Find(there, each.IsInstanceOfType) is { } same) return $"{one.name} has a {same.GetType().Name} already, and may have only one";
            }
            return Mixed(one, type, there, Solid, Flat) ?? Mixed(one, type, there, Flat, Solid);
        }

        private static string? Mixed(GameObject one, Type type, Component[] there, string[] own, string[] other) =>
            Is(type, own) && Array.Find(there, c => Is(c.GetType(), other)) is { } foreign
                ? $"{one.name} has a {foreign.GetType().Name}; physics of 2D and of 3D cannot be on the same GameObject"
                : null;

        private static bool IsSingle(Type type) =>
            type.IsDefined(typeof(DisallowMultipleComponent), false) || (IsUnitys(type) && Single.Contains(type.Name));

        private static bool Is(Type type, string[] names) => Line(type).Any(t => IsUnitys(t) && Array.IndexOf(names, t.Name) >= 0);

        private static bool IsUnitys(Type type) => type.Namespace == "UnityEngine";

        private static IEnumerable<Type> Line(Type type)
        {
            for (Type? each = type; each != null; each = each.BaseType) yield return each;
        }
    }
}
