using System;
using System.Collections.Generic;
using System.Linq;
using UnityEngine;

namespace UnityEditor
{
    /// <summary>The properties that the kinds of objects have at first: of a project's settings and of importers some of Unity's, of all others the same.</summary>
    internal static class PropertyKinds
    {
        public static List<PropertyTree.Node> Of(UnityEngine.Object one)
        {
            var made = new Maker();
            switch (one)
            {
                case TagManager:
                    made.List(0, "tags", "string", SerializedPropertyType.String, "");
                    made.List(0, "layers", "string", SerializedPropertyType.String, "", 32);
                    break;
                case TimeManager:
                    made.Add(0, "Fixed Timestep", "float", SerializedPropertyType.Float, 0.02f);
                    made.Add(0, "m_TimeScale", "float", SerializedPropertyType.Float, 1f);
                    break;
                case EditorBuildSettings:
                    made.Add(0, "m_Scenes", "Scene", SerializedPropertyType.Generic, null, depth => new Maker().Scene(depth));
                    break;
                case TextureImporter:
                    made.Add(0, "m_TextureType", "int", SerializedPropertyType.Integer, 0);
                    made.Add(0, "m_MaxTextureSize", "int", SerializedPropertyType.Integer, 2048);
                    made.Add(0, "m_IsReadable", "bool", SerializedPropertyType.Boolean, false);
                    break;
                case PlayerSettings:
                    made.Add(0, "activeInputHandler", "int", SerializedPropertyType.Integer, 0);
                    break;
                case AssetImporter:
                    made.Add(0, "m_UserData", "string", SerializedPropertyType.String, "");
                    break;
                default:
                    if (!UiKinds.Fill(made, one)) Example(made, one is Transform);
                    break;
            }
            return made.Nodes;
        }

        private static void Example(Maker made, bool ofTransform)
        {
            made.Add(0, "m_Script", "PPtr<MonoScript>", SerializedPropertyType.ObjectReference);
            made.Add(0, "speed", "float", SerializedPropertyType.Float, 1.5f);
            made.Vector(0, "size", 0.004f, 123.4567f, -2f);
            made.Add(0, "exact", "double", SerializedPropertyType.Float, 0.1234567890123);
            made.Add(0, "huge", "ulong", SerializedPropertyType.Integer, ulong.MaxValue);
            made.Add(0, "side", "Enum", SerializedPropertyType.Enum, 1);
            made.Add(0, "sides", "Enum", SerializedPropertyType.Enum, -1);
            made.Add(0, "letter", "char", SerializedPropertyType.Character, 'x');
            made.Add(0, "hash", "Hash128", SerializedPropertyType.Hash128, "00000000000000000000000000000001");
            made.Add(0, "nothing", "Holdfast.HostTools.Effect", SerializedPropertyType.ManagedReference);
            made.List(0, "items", "int", SerializedPropertyType.Integer, 0, 1000, i => i);
            made.List(0, "effects", "Holdfast.HostTools.Effect", SerializedPropertyType.ManagedReference, null);
            made.Add(0, "stops", "Stop", SerializedPropertyType.Generic, null, depth => new Maker().Stop(depth));
            made.Add(0, "wave", "Wave", SerializedPropertyType.Generic);
            made.Add(1, "title", "string", SerializedPropertyType.String, "first");
            for (int i = 1; i < 50; i++) made.Add(i, "next", "Wave", SerializedPropertyType.Generic);
            made.Add(50, "end", "bool", SerializedPropertyType.Boolean, true);
            made.Add(0, "last", "bool", SerializedPropertyType.Boolean, true);
            made.Add(0, "title", "string", SerializedPropertyType.String, "none");
            foreach (var (name, type) in new[] { ("target", "GameObject"), ("picture", "Sprite"), ("body", "BoxCollider"), ("paint", "Material") })
            {
                made.Add(0, name, $"PPtr<${type}>", SerializedPropertyType.ObjectReference);
            }
            made.Add(0, "m_Surface", "PPtr<NativeSurface>", SerializedPropertyType.ObjectReference);
            if (ofTransform) made.Vector(0, "m_LocalScale", 1, 1, 1);
        }

        internal sealed class Maker
        {
            public List<PropertyTree.Node> Nodes { get; } = new();

            public void Add(int depth, string name, string type, SerializedPropertyType kind, object value = null, Func<int, List<PropertyTree.Node>> item = null) =>
                Nodes.Add(new PropertyTree.Node { Depth = depth, Name = name, Type = type, Kind = kind, Value = value, Item = item });

            public void Vector(int depth, string name, float x, float y, float z)
            {
                Add(depth, name, "Vector3", SerializedPropertyType.Vector3);
                foreach (var (part, value) in new[] { ("x", x), ("y", y), ("z", z) }) Add(depth + 1, part, "float", SerializedPropertyType.Float, value);
            }

            public void Pair(string name, float x, float y)
            {
                Add(0, name, "Vector2", SerializedPropertyType.Vector2);
                foreach (var (part, value) in new[] { ("x", x), ("y", y) }) Add(1, part, "float", SerializedPropertyType.Float, value);
            }

            public void Color(string name)
            {
                Add(0, name, "Color", SerializedPropertyType.Color);
                foreach (string part in new[] { "r", "g", "b", "a" }) Add(1, part, "float", SerializedPropertyType.Float, 1f);
            }

            public void Choice(int depth, string name, int value, params string[] names)
            {
                Add(depth, name, "Enum", SerializedPropertyType.Enum, value);
                Nodes[Nodes.Count - 1].Names = names;
            }

            public void List(int depth, string name, string type, SerializedPropertyType kind, object value, int count = 0, Func<int, object> each = null)
            {
                Add(depth, name, "vector", SerializedPropertyType.Generic, null, below => Alone(below, "data", type, kind, value));
                for (int i = 0; i < count; i++) Add(depth + 1, "data", type, kind, each == null ? value : each(i));
            }

            public List<PropertyTree.Node> Scene(int depth)
            {
                Add(depth, "data", "Scene", SerializedPropertyType.Generic);
                Add(depth + 1, "enabled", "bool", SerializedPropertyType.Boolean, false);
                Add(depth + 1, "path", "string", SerializedPropertyType.String, "");
                Add(depth + 1, "guid", "string", SerializedPropertyType.String, "");
                return Nodes;
            }

            public List<PropertyTree.Node> Stop(int depth)
            {
                Add(depth, "data", "Stop", SerializedPropertyType.Generic);
                Add(depth + 1, "label", "string", SerializedPropertyType.String, "");
                Add(depth + 1, "seconds", "float", SerializedPropertyType.Float, 1f);
                return Nodes;
            }

            private static List<PropertyTree.Node> Alone(int depth, string name, string type, SerializedPropertyType kind, object value)
            {
                var maker = new Maker();
                maker.Add(depth, name, type, kind, value);
                return maker.Nodes;
            }
        }
    }
}
