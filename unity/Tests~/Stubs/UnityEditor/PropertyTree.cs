using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEngine;

namespace UnityEditor
{
    /// <summary>
    /// The serialized properties of an object, parents before what is in them: those of its kind, with the values that were set. What was
    /// set is kept by path; of a list its length, and of a managed reference its type and the number of the instance.
    /// </summary>
    internal sealed class PropertyTree
    {
        private readonly List<Node> nodes;
        private readonly UnityEngine.Object target;

        private PropertyTree(UnityEngine.Object target)
        {
            this.target = target;
            nodes = PropertyKinds.Of(target);
        }

        public SerializedObject Owner { get; set; }

        public int Count => nodes.Count;

        public Node this[int at] => nodes[at];

        public static PropertyTree Of(UnityEngine.Object target)
        {
            var made = new PropertyTree(target);
            // Lists and references come before what is in them.
            foreach (KeyValuePair<string, object> set in target.Values.OrderBy(v => v.Key.Count(c => c == '.')).ThenBy(v => v.Value is string text && text.StartsWith("&") ? 0 : 1))
            {
                int at = made.Find(set.Key);
                if (at < 0) continue;
                if (made[at].Item != null) made.Resize(at, (int)set.Value);
                else if (made[at].Kind == SerializedPropertyType.ManagedReference) made.Refer(at, (string)set.Value);
                else made[at].Value = set.Value;
            }
            return made;
        }

        /// <summary>Everything that differs from what an object of this kind has at first.</summary>
        public Dictionary<string, object> Changes()
        {
            var plain = new PropertyTree(target);
            var first = new Dictionary<string, object>();
            for (int i = 0; i < plain.Count; i++) first[plain.PathOf(i)] = plain.Kept(i);
            var changes = new Dictionary<string, object>();
            for (int i = 0; i < nodes.Count; i++)
            {
                string path = PathOf(i);
                if (!first.TryGetValue(path, out object was) || !Equals(was, Kept(i))) changes[path] = Kept(i);
            }
            return changes;
        }

        private object Kept(int at) => nodes[at].Item != null ? Items(at).Count : nodes[at].Value;

        public int Find(string path)
        {
            for (int i = 0; i < nodes.Count; i++)
            {
                if (path.EndsWith(nodes[i].Name) || path.EndsWith("]"))
                {
                    if (PathOf(i) == path) return i;
                }
            }
            return -1;
        }

        public string PathOf(int at)
        {
            int parent = Parent(at);
            string above = parent < 0 ? "" : PathOf(parent) + ".";
            return parent >= 0 && nodes[parent].Item != null ? $"{above}Array.data[{Items(parent).IndexOf(at)}]" : above + nodes[at].Name;
        }

        private int Parent(int at)
        {
            for (int i = at - 1; i >= 0; i--)
            {
                if (nodes[i].Depth < nodes[at].Depth) return i;
            }
            return -1;
        }

        /// <summary>The place behind a property and what is in it.</summary>
        public int End(int at)
        {
            int end = at + 1;
            while (end < nodes.Count && nodes[end].Depth > (at < 0 ? -1 : nodes[at].Depth)) end++;
            return end;
        }

        public List<int> Items(int at) => Enumerable.Range(at + 1, End(at) - at - 1).Where(i => nodes[i].Depth == nodes[at].Depth + 1).ToList();

        // As in Unity, a list that grows gets copies of its last item.
        public void Resize(int at, int size)
        {
            while (Items(at).Count > size) Remove(at, Items(at).Count - 1);
            while (Items(at).Count < size) Insert(at, Items(at).Count);
        }

        public void Insert(int at, int index)
        {
            List<int> items = Items(at);
            int from = index > 0 ? items[index - 1] : -1;
            List<Node> copy = from >= 0 ? nodes.GetRange(from, End(from) - from).Select(n => n.Copy()).ToList() : nodes[at].Item(nodes[at].Depth + 1);
            nodes.InsertRange(index < items.Count ? items[index] : End(at), copy);
        }

        public void Remove(int at, int index)
        {
            int item = Items(at)[index];
            nodes.RemoveRange(item, End(item) - item);
        }

        // One instance may be in several places.
        public void Set(int at, object value)
        {
            nodes[at].Value = value;
            int owner = Parent(at);
            if (owner < 0 || nodes[owner].Kind != SerializedPropertyType.ManagedReference) return;
            for (int i = 0; i < nodes.Count; i++)
            {
                if (i == owner || nodes[i].Kind != SerializedPropertyType.ManagedReference || !Equals(nodes[i].Value, nodes[owner].Value)) continue;
                foreach (int part in Items(i).Where(p => nodes[p].Name == nodes[at].Name)) nodes[part].Value = value;
            }
        }

        public Type TypeAt(int at) => nodes[at].Value is string kept ? TypeNamed(kept.Split('#')[1]) : null;

        public object Instance(int at)
        {
            Type type = TypeAt(at);
            if (type == null) return null;
            object made = System.Runtime.Serialization.FormatterServices.GetUninitializedObject(type);
            foreach (int part in Items(at)) type.GetField(nodes[part].Name).SetValue(made, nodes[part].Value);
            return made;
        }

        public void SetReference(int at, object value)
        {
            if (value == null)
            {
                Refer(at, null);
                return;
            }
            int number = 1 + nodes.Select(n => n.Value as string).Where(v => v?.StartsWith("&") == true).Select(v => int.Parse(v.Substring(1).Split('#')[0])).DefaultIfEmpty().Max();
            Refer(at, $"&{number}#{value.GetType().FullName}");
            foreach (int part in Items(at)) nodes[part].Value = value.GetType().GetField(nodes[part].Name).GetValue(value);
        }

        private void Refer(int at, string kept)
        {
            nodes.RemoveRange(at + 1, End(at) - at - 1);
            nodes[at].Value = kept;
            if (TypeAt(at) is not { } type) return;
            object first = System.Runtime.Serialization.FormatterServices.GetUninitializedObject(type);
            nodes.InsertRange(at + 1, type.GetFields(BindingFlags.Instance | BindingFlags.Public).Select(f => new Node
            {
                Depth = nodes[at].Depth + 1, Name = f.Name, Type = f.FieldType == typeof(float) ? "float" : f.FieldType == typeof(string) ? "string" : "int",
                Kind = f.FieldType == typeof(float) ? SerializedPropertyType.Float : f.FieldType == typeof(string) ? SerializedPropertyType.String : SerializedPropertyType.Integer,
                Value = f.GetValue(first)
            }));
        }

        public static Type TypeNamed(string name) => AppDomain.CurrentDomain.GetAssemblies().Select(a => a.GetType(name)).FirstOrDefault(t => t != null);

        /// <summary>The switch of a component that has one, by whatever type.</summary>
        public SerializedProperty Enabled(UnityEngine.Object of)
        {
            object value = of.GetType().GetProperty("enabled")?.GetValue(of);
            if (value == null) return null;
            var one = new PropertyTree(new UnityEngine.Object());
            one.nodes.Clear();
            one.nodes.Add(new Node { Name = "m_Enabled", Type = "bool", Kind = SerializedPropertyType.Boolean, Value = value });
            return new SerializedProperty(one, 0);
        }

        internal sealed class Node
        {
            public int Depth;
            public string Name;
            public string Type;
            public SerializedPropertyType Kind;
            public object Value;

            /// <summary>The names of an enum's values, from 0.</summary>
            public string[] Names = { "None", "Left", "Right" };

            /// <summary>Makes the first item of a list at this depth; null of what is no list.</summary>
            public Func<int, List<Node>> Item;

            public Node Copy() => (Node)MemberwiseClone();
        }
    }
}
