// Stubs of GameObjects and components. Signatures are Unity's.
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEngine.SceneManagement;

namespace UnityEngine
{
    public class Component : Object
    {
        internal GameObject Owner { get; set; }

        public GameObject gameObject => Owner;

        public T[] GetComponents<T>() => Owner.GetComponents<T>();

        public Transform transform => Owner.transform;
    }

    public class Transform : Component
    {
        private static readonly List<Transform> NoOne = new();

        internal List<Transform> Below { get; } = new();

        internal Transform Above { get; set; }

        public int childCount => Below.Count;

        public Transform parent => Above;

        public Vector3 localPosition { get; set; }

        public Vector3 localEulerAngles { get; set; }

        public Vector3 localScale { get; set; } = new(1, 1, 1);

        // Parents are not rotated or scaled here.
        public Vector3 position
        {
            get => Above == null ? localPosition : localPosition.Plus(Above.position, 1);
            set => localPosition = Above == null ? value : value.Plus(Above.position, -1);
        }

        public Vector3 eulerAngles
        {
            get => localEulerAngles;
            set => localEulerAngles = value;
        }

        public Transform GetChild(int index) => Below[index];

        public void SetParent(Transform parent, bool worldPositionStays) => Put(parent, -1);

        public void SetSiblingIndex(int index) => Put(Above, index);

        public int GetSiblingIndex() => Above != null ? Above.Below.IndexOf(this) : Owner.Home?.Roots.IndexOf(Owner) ?? 0;

        public bool IsChildOf(Transform parent)
        {
            for (Transform one = this; one != null; one = one.Above)
            {
                if (one == parent) return true;
            }
            return false;
        }

        internal override object State
        {
            get => (localPosition, localEulerAngles, localScale);
            set => (localPosition, localEulerAngles, localScale) = ((Vector3, Vector3, Vector3))value;
        }

        /// <summary>Takes it out of its place, and puts it there; -1 is the end.</summary>
        internal void Put(Transform above, int index)
        {
            (Above?.Below ?? NoOne).Remove(this);
            Owner.Home?.Roots.Remove(Owner);
            Above = above;
            if (above != null)
            {
                above.Below.Insert(index < 0 || index > above.Below.Count ? above.Below.Count : index, this);
                Owner.Rehome(above.Owner.Home);
                return;
            }
            Owner.Rehome(Owner.Home ?? SceneManager.Active);
            List<GameObject> roots = Owner.Home.Roots;
            roots.Insert(index < 0 || index > roots.Count ? roots.Count : index, Owner);
        }
    }

    public sealed class RectTransform : Transform
    {
    }

    [AttributeUsage(AttributeTargets.Class, Inherited = false)]
    public sealed class DisallowMultipleComponent : Attribute
    {
    }

    public class Behaviour : Component
    {
        public bool enabled { get; set; } = true;
    }

    public class MonoBehaviour : Behaviour
    {
        /// <summary>What its Reset does, which Unity calls when somebody adds it in the editor.</summary>
        internal virtual void Added()
        {
        }
    }

    /// <summary>What is left of a component whose script is gone.</summary>
    internal sealed class MissingScript : Component
    {
        public string Was { get; set; }
    }

    public class Renderer : Component
    {
        public bool enabled { get; set; } = true;

        public Bounds bounds => new(transform.position, transform.localScale);
    }

    internal class MeshRenderer : Renderer
    {
    }

    internal class BoxCollider : Component
    {
        public bool enabled { get; set; } = true;
    }

    internal class Rigidbody : Component
    {
    }

    internal class Rigidbody2D : Component
    {
    }

    public enum PrimitiveType
    {
        Sphere = 0,
        Capsule = 1,
        Cylinder = 2,
        Cube = 3,
        Plane = 4,
        Quad = 5
    }

    public sealed class GameObject : Object
    {
        private readonly List<Component> components = new();
        private string tagged = "Untagged";

        public GameObject(string name) : this(name, SceneManager.Active)
        {
        }

        public GameObject(string name, params Type[] components) : this(name, SceneManager.Active, (Transform)Activator.CreateInstance(components[0]))
        {
        }

        internal GameObject(string name, SceneModel scene, Transform transform = null)
        {
            this.name = name;
            Add(transform ?? new Transform());
            if (scene != null) Into(scene);
        }


        /// <summary>The file of the prefab of which it is an instance; null if it is none.</summary>
        internal string Prefab { get; set; }

        /// <summary>Of the main object of a prefab's asset: its file.</summary>
        internal string AssetFile { get; set; }

        /// <summary>Whether it is the root of an instance, and not in an instance of a prefab that has this instance itself.</summary>
        internal bool Instance => Prefab != null && Source is GameObject { transform: { parent: null } } source && source.AssetFile == Prefab;

        /// <summary>It and what is below it, with all components.</summary>
        internal IEnumerable<Object> Parts() => All().SelectMany(g => g.Components.Prepend<Object>(g));

        /// <summary>The scene in which it lies; null for one that is in none.</summary>
        internal SceneModel Home { get; private set; }

        // As Unity does, it refuses a tag that the project does not have.
        public string tag
        {
            get => tagged;
            set => tagged = Array.IndexOf(Tags, value) >= 0 ? value : throw new InvalidOperationException($"Tag: {value} is not defined.");
        }

        internal static string[] Tags { get; set; } = { "Untagged", "MainCamera" };

        public int layer { get; set; }

        public bool activeSelf { get; private set; } = true;

        public bool activeInHierarchy => activeSelf && (transform.Above == null || transform.Above.Owner.activeInHierarchy);

        public Scene scene => new() { Model = Home };

        public Transform transform => (Transform)components[0];

        public void SetActive(bool value) => activeSelf = value;

        // A component whose script is missing is null, and only a list of all components has it.
        public T[] GetComponents<T>() => typeof(T) == typeof(Component)
            ? components.Select(c => c is MissingScript ? default : (T)(object)c).ToArray()
            : components.OfType<T>().Where(c => c is not MissingScript).ToArray();

        public T[] GetComponentsInChildren<T>() => activeInHierarchy
            ? GetComponents<T>().Concat(transform.Below.SelectMany(t => t.Owner.GetComponentsInChildren<T>())).ToArray()
            : Array.Empty<T>();

        public T[] GetComponentsInChildren<T>(bool includeInactive) => All().SelectMany(o => o.Components).OfType<T>().ToArray();

        public Component AddComponent(Type componentType)
        {
            var made = (Component)Activator.CreateInstance(componentType, true);
            Add(made);
            (made as MonoBehaviour)?.Added();
            return made;
        }

        public static GameObject CreatePrimitive(PrimitiveType type) =>
            new GameObject(type.ToString()).Add(new MeshRenderer()).Add(new BoxCollider());

        internal override object State
        {
            get => (name, tagged, layer, activeSelf);
            set => (name, tagged, layer, activeSelf) = ((string, string, int, bool))value;
        }

        internal IEnumerable<GameObject> All() => transform.Below.SelectMany(t => t.Owner.All()).Prepend(this);

        internal IReadOnlyList<Component> Components => components;

        internal GameObject Add(Component component, int index = -1)
        {
            component.Owner = this;
            components.Insert(index < 0 ? components.Count : index, component);
            return this;
        }

        /// <summary>Gives one that is nowhere yet another kind of Transform.</summary>
        internal void Replace(Transform transform)
        {
            components.RemoveAt(0);
            Add(transform, 0);
        }

        internal int Remove(Component component)
        {
            int index = components.IndexOf(component);
            components.RemoveAt(index);
            return index;
        }

        internal GameObject Under(GameObject parent)
        {
            transform.Put(parent.transform, -1);
            return this;
        }

        internal void Into(SceneModel scene)
        {
            transform.Above?.Below.Remove(transform);
            transform.Above = null;
            Home?.Roots.Remove(this);
            Rehome(scene);
            scene.Roots.Add(this);
        }

        internal void Rehome(SceneModel scene)
        {
            foreach (GameObject one in All()) one.Home = scene;
        }

        /// <summary>Takes it and what is below it out of its scene.</summary>
        internal void Leave()
        {
            transform.Above?.Below.Remove(transform);
            Home?.Roots.Remove(this);
            Rehome(null);
        }

        internal GameObject Copy()
        {
            var copy = new GameObject(name, null, transform is RectTransform ? new RectTransform() : null) { State = State, Source = this, Prefab = transform.parent == null ? null : Prefab };
            copy.transform.State = transform.State;
            (copy.transform.Source, copy.transform.Values) = (transform, new Dictionary<string, object>(transform.Values));
            foreach (Component one in components.Skip(1)) copy.Add(CopyOf(one));
            foreach (Transform below in transform.Below) below.Owner.Copy().Under(copy);
            return copy;
        }

        internal static Component CopyOf(Component one)
        {
            Component made = one is MissingScript lost ? new MissingScript { Was = lost.Was } : (Component)Activator.CreateInstance(one.GetType(), true);
            (made.Source, made.Values) = (one, new Dictionary<string, object>(one.Values));
            return made;
        }
    }

    public struct LayerMask
    {
        internal static string[] Names { get; set; } = { "Default", "UI" };

        public static string LayerToName(int layer) => layer >= 0 && layer < Names.Length ? Names[layer] : "";

        public static int NameToLayer(string layerName) => Array.IndexOf(Names, layerName);
    }
}
