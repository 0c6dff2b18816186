// Stubs of Unity's serialized properties. Signatures are Unity's; PropertyTree has the values.
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
        private readonly PropertyTree tree;
        private int at;

        internal SerializedProperty(PropertyTree tree, int at)
        {
            this.tree = tree;
            this.at = at;
        }

        public SerializedObject serializedObject => tree.Owner;

        public string name => Here.Name;

        public string propertyPath => tree.PathOf(at);

        public bool editable => Here.Name != "m_Script";

        public string type => Here.Kind == SerializedPropertyType.ManagedReference ? $"managedReference<{tree.TypeAt(at)?.Name}>" : Here.Type;

        public SerializedPropertyType propertyType => Here.Kind;

        public bool isArray => Here.Item != null;

        public bool hasChildren => tree.End(at) > at + 1;

        public int depth => at < 0 ? -1 : Here.Depth;

        public int arraySize
        {
            get => tree.Items(at).Count;
            set => tree.Resize(at, value);
        }

        public bool boolValue
        {
            get => (bool)Here.Value;
            set => tree.Set(at, value);
        }

        public int intValue
        {
            get => Convert.ToInt32(Here.Value);
            set => tree.Set(at, Here.Kind == SerializedPropertyType.Character ? (char)value : value);
        }

        public long longValue
        {
            get => Convert.ToInt64(Here.Value);
            set => tree.Set(at, Here.Value is int ? (object)(int)value : value);
        }

        public ulong ulongValue
        {
            get => (ulong)Here.Value;
            set => tree.Set(at, value);
        }

        public float floatValue
        {
            get => (float)Here.Value;
            set => tree.Set(at, value);
        }

        public double doubleValue
        {
            get => Convert.ToDouble(Here.Value);
            set => tree.Set(at, value);
        }

        public string stringValue
        {
            get => (string)Here.Value;
            set => tree.Set(at, value);
        }

        public string[] enumNames => Here.Names;

        public int enumValueIndex
        {
            get => (int)Here.Value;
            set => tree.Set(at, value);
        }

        public object boxedValue => Here.Value;

        public UnityEngine.Object objectReferenceValue
        {
            get => (UnityEngine.Object)Here.Value;
            // Whether Unity takes an object of another type here, its source does not say. Its own window asks the method below first.
            set => tree.Set(at, value);
        }

        public object managedReferenceValue
        {
            get => Here.Kind == SerializedPropertyType.ManagedReference ? tree.Instance(at) : throw NoReference();
            // What Unity refuses, and with which exceptions, its source says.
            set
            {
                if (Here.Kind != SerializedPropertyType.ManagedReference) throw NoReference();
                if (value is UnityEngine.Object) throw new InvalidOperationException("Cannot assign an object deriving from UnityEngine.Object to a managed reference.");
                Type wanted = PropertyTree.TypeNamed(Here.Type);
                if (value != null && !wanted.IsInstanceOfType(value)) throw new InvalidOperationException("types are not compatible");
                tree.SetReference(at, value);
            }
        }

        public string managedReferenceFullTypename =>
            Here.Kind != SerializedPropertyType.ManagedReference ? throw NoReference()
            : tree.TypeAt(at) is { } type ? $"{type.Assembly.GetName().Name} {type.FullName.Replace("+", "/")}" : "";

        public string managedReferenceFieldTypename =>
            Here.Kind != SerializedPropertyType.ManagedReference ? throw NoReference() : PropertyTree.TypeNamed(Here.Type) is { } type
                ? $"{type.Assembly.GetName().Name} {type.FullName.Replace("+", "/")}" : "mscorlib System.Object";

        // The names of native types are not always those of C#: a GameObject's is, a surface's is not here.
        internal bool ValidateObjectReferenceValue(UnityEngine.Object obj) =>
            Here.Type == "PPtr<$GameObject>" ? obj is UnityEngine.GameObject : Here.Type == "PPtr<NativeSurface>" && obj is UnityEngine.Texture;

        private PropertyTree.Node Here => tree[at];

        public SerializedProperty Copy() => new(tree, at);

        public SerializedProperty GetArrayElementAtIndex(int index) => new(tree, tree.Items(at)[index]);

        // As in Unity, the new element has the values of the one before it.
        public void InsertArrayElementAtIndex(int index) => tree.Insert(at, index);

        public void DeleteArrayElementAtIndex(int index) => tree.Remove(at, index);

        public bool Next(bool enterChildren)
        {
            at = enterChildren || at < 0 ? at + 1 : tree.End(at);
            return at < tree.Count;
        }

        public bool NextVisible(bool enterVisibleChildren) => Next(enterVisibleChildren);

        private static Exception NoReference() =>
            new InvalidOperationException("managedReferenceValue is only available on fields with the [SerializeReference] attribute");
    }

    public sealed class SerializedObject : IDisposable
    {
        private readonly UnityEngine.Object target;
        private readonly PropertyTree all;

        public SerializedObject(UnityEngine.Object obj)
        {
            target = obj;
            all = PropertyTree.Of(obj);
            all.Owner = this;
        }

        public UnityEngine.Object targetObject => target;

        public bool hasModifiedProperties => !Same(target.Values, all.Changes());

        public SerializedProperty FindProperty(string propertyPath) =>
            propertyPath == "m_Enabled" ? all.Enabled(target)
            : all.Find(propertyPath) is var found && found < 0 ? null : new SerializedProperty(all, found);

        public SerializedProperty GetIterator() => new(all, -1);

        // As in Unity, false says that nothing was changed, and then there is no step of undo.
        public bool ApplyModifiedProperties()
        {
            Dictionary<string, object> before = target.Values;
            if (!ApplyModifiedPropertiesWithoutUndo()) return false;
            Dictionary<string, object> after = target.Values;
            Undo.Dirty((target as UnityEngine.Component)?.gameObject);
            Undo.Add(() => Put(before), () => Put(after));
            return true;
        }

        public bool ApplyModifiedPropertiesWithoutUndo()
        {
            Dictionary<string, object> after = all.Changes();
            if (Same(target.Values, after)) return false;
            Put(after);
            return true;
        }

        public void Dispose()
        {
        }

        private void Put(Dictionary<string, object> values)
        {
            target.Values = values;
            SettingsFiles.Changed(target);
        }

        private static bool Same(Dictionary<string, object> a, Dictionary<string, object> b) =>
            a.Count == b.Count && a.All(v => b.TryGetValue(v.Key, out object other) && Equals(v.Value, other));
    }
}
