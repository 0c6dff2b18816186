// Stubs of scenes and their objects. Signatures are Unity's. There is one simulated scene.
using System.Collections.Generic;
using System.Linq;
using UnityEngine.SceneManagement;

namespace UnityEngine
{
    public class Component : Object
    {
        internal GameObject Owner { get; set; }

        public GameObject gameObject => Owner;

        public Transform transform => Owner.transform;
    }

    public class Transform : Component
    {
        internal List<Transform> Below { get; } = new();

        public int childCount => Below.Count;

        public Transform GetChild(int index) => Below[index];
    }

    public class Behaviour : Component
    {
        public bool enabled { get; set; } = true;
    }

    public class Renderer : Component
    {
        public bool enabled { get; set; } = true;
    }

    internal class BoxCollider : Component
    {
        public bool enabled { get; set; } = true;
    }

    public sealed class GameObject : Object
    {
        private readonly List<Component> components = new();

        public GameObject(string name)
        {
            this.name = name;
            Add(new Transform());
        }

        public string tag { get; set; } = "Untagged";

        public int layer { get; set; }

        public bool activeSelf => true;

        public bool activeInHierarchy => true;

        public Scene scene => new() { Title = "DontDestroyOnLoad", Roots = System.Array.Empty<GameObject>() };

        public Transform transform => (Transform)components[0];

        public T[] GetComponents<T>() => components.OfType<T>().ToArray();

        internal GameObject Add(Component component)
        {
            component.Owner = this;
            components.Add(component);
            return this;
        }

        internal GameObject Under(GameObject parent)
        {
            parent.transform.Below.Add(transform);
            return this;
        }
    }

    public struct LayerMask
    {
        public static string LayerToName(int layer) => layer == 0 ? "Default" : "";
    }
}

namespace UnityEngine.SceneManagement
{
    public struct Scene
    {
        internal string Title { get; set; }

        internal GameObject[] Roots { get; set; }

        public string name => Title;

        public string path => "Assets/" + Title + ".unity";

        public bool isLoaded => true;

        public bool isDirty => EditorHost.Native.Current.Flag("sceneDirty");

        public GameObject[] GetRootGameObjects() => Roots;
    }

    public class SceneManager
    {
        private static GameObject[] roots;

        public static int sceneCount => 1;

        public static Scene GetActiveScene() => GetSceneAt(0);

        public static Scene GetSceneAt(int index) => new() { Title = "SampleScene", Roots = roots ??= Sample() };

        private static GameObject[] Sample()
        {
            var camera = new GameObject("Main Camera") { tag = "MainCamera" }.Add(new Behaviour());
            var world = new GameObject("World");
            new GameObject("Player").Add(new BoxCollider()).Under(world);
            return new[] { camera, world };
        }
    }
}
