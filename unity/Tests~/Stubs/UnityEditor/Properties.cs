// Stubs of Unity's serialized properties. Every component has the same ones.
using System;
using System.Collections.Generic;
using System.Linq;

namespace UnityEditor
{
    public enum SerializedPropertyType
    {
        Generic = -1,
        Integer = 0,
        Boolean = 1,
        Float = 2,
        String = 3,
        Color = 4,
        ObjectReference = 5,
        LayerMask = 6,
        Enum = 7,
        Vector2 = 8,
        Vector3 = 9,
        Vector4 = 10,
        ArraySize = 12,
        Character = 13,
        Quaternion = 17,
        ExposedReference = 18,
        FixedBufferSize = 19,
        ManagedReference = 24,
        Hash128 = 25,
#if UNITY_6000_0_OR_NEWER
        RenderingLayerMask = 26
#endif
    }

    public sealed class SerializedProperty
    {
        private readonly List<Node> nodes;
        private int at;

        private SerializedProperty(List<Node> nodes, int at)
        {
            this.nodes = nodes;
            this.at = at;
        }

        public string name => Here.Name;

        public string propertyPath => Here.Path;

        public bool editable => Here.Name != "m_Script";

        public string type => Here.Type;

        public SerializedPropertyType propertyType => Here.Kind;

        public bool isArray => Here.Name == "items";

        public bool hasChildren => at + 1 < nodes.Count && nodes[at + 1].Depth > depth;

        public int depth => at < 0 ? -1 : Here.Depth;

        public int arraySize
        {
            get => nodes.Skip(at + 1).TakeWhile(n => n.Depth > depth).Count(n => n.Depth == depth + 1);
            set
            {
                int size = arraySize;
                if (value < size) nodes.RemoveRange(at + 1 + value, size - value);
                for (; size < value; size++)
                {
                    nodes.Insert(at + 1 + size, new Node
                    {
                        Depth = depth + 1, Name = "data", Type = "int", Kind = SerializedPropertyType.Integer, Value = 0, Path = $"{Here.Path}.Array.data[{size}]"
                    });
                }
                Here.Value = value;
            }
        }

        public bool boolValue
        {
            get => (bool)Here.Value;
            set => Here.Value = value;
        }

        public int intValue
        {
            get => Convert.ToInt32(Here.Value);
            set => Here.Value = Here.Kind == SerializedPropertyType.Character ? (char)value : value;
        }

        public long longValue
        {
            get => Convert.ToInt64(Here.Value);
            set => Here.Value = value;
        }

        public ulong ulongValue
        {
            get => (ulong)Here.Value;
            set => Here.Value = value;
        }

        public float floatValue
        {
            get => (float)Here.Value;
            set => Here.Value = value;
        }

        public double doubleValue
        {
            get => Convert.ToDouble(Here.Value);
            set => Here.Value = value;
        }

        public string stringValue
        {
            get => (string)Here.Value;
            set => Here.Value = value;
        }

        public string[] enumNames => new[] { "None", "Left", "Right" };

        public int enumValueIndex
        {
            get => (int)Here.Value;
            set => Here.Value = value;
        }

        public object boxedValue => Here.Value;

        public UnityEngine.Object objectReferenceValue
        {
            get => (UnityEngine.Object)Here.Value;
            // Whether Unity takes an object of another type here, its source does not say. Its own window asks the method below first.
            set => Here.Value = value;
        }

        // The names of native types are not always those of C#: a GameObject's is, a surface's is not here.
        internal bool ValidateObjectReferenceValue(UnityEngine.Object obj) =>
            Here.Type == "PPtr<$GameObject>" ? obj is UnityEngine.GameObject : Here.Type == "PPtr<NativeSurface>" && obj is UnityEngine.Texture;

        private Node Here => nodes[at];

        public SerializedProperty Copy() => new(nodes, at);

        public SerializedProperty GetArrayElementAtIndex(int index) =>
            new(nodes, Enumerable.Range(at + 1, nodes.Count - at - 1).Where(i => nodes[i].Depth == depth + 1).ElementAt(index));

        public bool Next(bool enterChildren)
        {
            int level = depth;
            do at++;
            while (!enterChildren && at < nodes.Count && nodes[at].Depth > level);
            return at < nodes.Count;
        }

        public bool NextVisible(bool enterVisibleChildren) => Next(enterVisibleChildren);

        /// <summary>Everything that differs from the values at the beginning, by path.</summary>
        internal Dictionary<string, object> Changes() =>
            nodes.Where(n => !Equals(n.Value, n.First)).ToDictionary(n => n.Path, n => n.Value);

        internal SerializedProperty Find(string path)
        {
            int found = nodes.FindIndex(n => n.Path == path);
            return found < 0 ? null : new SerializedProperty(nodes, found);
        }

        /// <summary>The switch of a component that has one, by whatever type.</summary>
        internal static SerializedProperty Enabled(UnityEngine.Object of)
        {
            object value = of.GetType().GetProperty("enabled")?.GetValue(of);
            if (value == null) return null;
            var node = new Node { Name = "m_Enabled", Type = "bool", Kind = SerializedPropertyType.Boolean, Value = value };
            return new SerializedProperty(new List<Node> { node }, 0);
        }

        /// <summary>The properties of an object: the same of every object, with the values that were set.</summary>
        internal static SerializedProperty Of(UnityEngine.Object one)
        {
            SerializedProperty all = Example(one is UnityEngine.Transform);
            if (one.Values.TryGetValue("items", out object size)) all.Find("items").arraySize = (int)size;
            foreach (KeyValuePair<string, object> set in one.Values)
            {
                if (all.Find(set.Key) is { } property) property.Here.Value = set.Value;
            }
            return all;
        }

        private static SerializedProperty Example(bool ofTransform)
        {
            var made = new List<Node>();
            void Add(int depth, string name, string type, SerializedPropertyType kind, object value = null) =>
                made.Add(new Node { Depth = depth, Name = name, Type = type, Kind = kind, Value = value });
            Add(0, "m_Script", "PPtr<MonoScript>", SerializedPropertyType.ObjectReference);
            Add(0, "speed", "float", SerializedPropertyType.Float, 1.5f);
            Add(0, "size", "Vector3", SerializedPropertyType.Vector3);
            Add(1, "x", "float", SerializedPropertyType.Float, 0.004f);
            Add(1, "y", "float", SerializedPropertyType.Float, 123.4567f);
            Add(1, "z", "float", SerializedPropertyType.Float, -2f);
            Add(0, "exact", "double", SerializedPropertyType.Float, 0.1234567890123);
            Add(0, "huge", "ulong", SerializedPropertyType.Integer, ulong.MaxValue);
            Add(0, "side", "Enum", SerializedPropertyType.Enum, 1);
            Add(0, "sides", "Enum", SerializedPropertyType.Enum, -1);
            Add(0, "letter", "char", SerializedPropertyType.Character, 'x');
            Add(0, "hash", "Hash128", SerializedPropertyType.Hash128, "00000000000000000000000000000001");
            Add(0, "nothing", "managedReference<>", SerializedPropertyType.ManagedReference);
            Add(0, "items", "vector", SerializedPropertyType.Generic);
            for (int i = 0; i < 1000; i++) Add(1, "data", "int", SerializedPropertyType.Integer, i);
            Add(0, "wave", "Wave", SerializedPropertyType.Generic);
            Add(1, "title", "string", SerializedPropertyType.String, "first");
            for (int i = 1; i < 50; i++) Add(i, "next", "managedReference<Wave>", SerializedPropertyType.ManagedReference);
            Add(50, "end", "bool", SerializedPropertyType.Boolean, true);
            Add(0, "last", "bool", SerializedPropertyType.Boolean, true);
            Add(0, "title", "string", SerializedPropertyType.String, "none");
            foreach (var (name, type) in new[] { ("target", "GameObject"), ("picture", "Sprite"), ("body", "BoxCollider"), ("paint", "Material") })
            {
                Add(0, name, $"PPtr<${type}>", SerializedPropertyType.ObjectReference);
            }
            Add(0, "m_Surface", "PPtr<NativeSurface>", SerializedPropertyType.ObjectReference);
            if (ofTransform)
            {
                Add(0, "m_LocalScale", "Vector3", SerializedPropertyType.Vector3);
                foreach (string part in new[] { "x", "y", "z" }) Add(1, part, "float", SerializedPropertyType.Float, 1f);
            }
            var path = new List<string>();
            int item = 0;
            foreach (Node node in made)
            {
                path.RemoveRange(node.Depth, path.Count - node.Depth);
                path.Add(node.Name == "data" ? $"Array.data[{item++}]" : node.Name);
                node.Path = string.Join(".", path);
                node.First = node.Value;
            }
            return new SerializedProperty(made, -1);
        }

        private sealed class Node
        {
            public int Depth;
            public string Name;
            public string Type;
            public SerializedPropertyType Kind;
            public object Value;
            public object First;
            public string Path;
        }
    }
}
