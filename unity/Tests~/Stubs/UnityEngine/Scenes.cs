// Stubs of scenes and their objects. Signatures are Unity's. Scenes have no content on disk.
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using UnityEngine.SceneManagement;

[assembly: InternalsVisibleTo("UnityEditor")]

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

        public Scene scene => new() { Model = new SceneModel { Path = "DontDestroyOnLoad" } };

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
    /// <summary>A scene of the simulated editor.</summary>
    internal sealed class SceneModel
    {
        public string Path { get; set; } = "";

        public bool Dirty { get; set; }

        public List<GameObject> Roots { get; } = new();
    }

    public struct Scene
    {
        internal SceneModel Model { get; set; }

        public string name => System.IO.Path.GetFileNameWithoutExtension(Model.Path);

        public string path => Model.Path;

        public bool isLoaded => true;

        public bool isDirty => Model.Dirty;

        public int rootCount => Model.Roots.Count;

        public GameObject[] GetRootGameObjects() => Model.Roots.ToArray();
    }

    public class SceneManager
    {
        private static SceneModel active;

        internal static List<SceneModel> Open { get; } = new() { Sample() };

        public static int sceneCount => Open.Count;

        public static Scene GetActiveScene() => new() { Model = active ?? Open[0] };

        public static Scene GetSceneAt(int index) => new() { Model = Open[index] };

        public static bool SetActiveScene(Scene scene)
        {
            active = scene.Model;
            return true;
        }

        internal static Scene Add(string path, bool additive)
        {
            if (!additive) Open.Clear();
            var scene = new SceneModel { Path = path };
            Open.Add(scene);
            active = additive ? active : null;
            return new Scene { Model = scene };
        }

        internal static void Remove(SceneModel scene)
        {
            Open.Remove(scene);
            if (active == scene) active = null;
        }

        private static SceneModel Sample()
        {
            var scene = new SceneModel { Path = "Assets/SampleScene.unity", Dirty = EditorHost.Native.Current.Flag("sceneDirty") };
            var camera = new GameObject("Main Camera") { tag = "MainCamera" }.Add(new Behaviour());
            var world = new GameObject("World");
            new GameObject("Player").Add(new BoxCollider()).Under(world);
            scene.Roots.Add(camera);
            scene.Roots.Add(world);
            return scene;
        }
    }
}
