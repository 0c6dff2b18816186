// Stubs of scenes. Signatures are Unity's. Scenes have no content on disk.
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("UnityEditor")]

namespace UnityEngine.SceneManagement
{
    /// <summary>A scene of the simulated editor.</summary>
    internal sealed class SceneModel
    {
        public string Path { get; set; } = "";

        public bool Dirty { get; set; }

        /// <summary>Whether it has the objects of a prefab's file that is being changed.</summary>
        public bool Preview { get; set; }

        public List<GameObject> Roots { get; } = new();

        public IEnumerable<GameObject> All() => Roots.SelectMany(r => r.All());
    }

    public struct Scene
    {
        internal SceneModel Model { get; set; }

        public string name => System.IO.Path.GetFileNameWithoutExtension(Model.Path);

        public string path => Model.Path;

        public bool isLoaded => true;

        public bool isDirty => Model.Dirty;

        public int rootCount => Model.Roots.Count;

        public bool IsValid() => Model != null;

        public static bool operator ==(Scene lhs, Scene rhs) => lhs.Model == rhs.Model;

        public static bool operator !=(Scene lhs, Scene rhs) => lhs.Model != rhs.Model;

        public override bool Equals(object other) => other is Scene scene && scene == this;

        public override int GetHashCode() => Model?.GetHashCode() ?? 0;

        public GameObject[] GetRootGameObjects() => Model.Roots.ToArray();
    }

    public class SceneManager
    {
        private static SceneModel active;

        // The objects outlive a domain reload, as they do in Unity.
        internal static List<SceneModel> Open { get; } = SceneStore.Load() ?? new List<SceneModel> { Sample() };

        internal static SceneModel Active => active ?? Open[0];

        internal static SceneModel Lasting { get; } = new() { Path = "DontDestroyOnLoad" };

        public static int sceneCount => Open.Count;

        public static Scene GetActiveScene() => new() { Model = Active };

        internal static void Activate(SceneModel scene) => active = scene;

        public static Scene GetSceneByPath(string scenePath) => new() { Model = Open.Find(s => s.Path == scenePath) };

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
            _ = new GameObject("Main Camera", scene) { tag = "MainCamera" }.Add(new Camera());
            var world = new GameObject("World", scene);
            new GameObject("Player", scene).Add(new BoxCollider()).Under(world);
            return scene;
        }
    }
}
