#nullable enable
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine.SceneManagement;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of scene files with EditorSceneManager.</summary>
    internal sealed class EditorSceneFiles : ISceneFiles
    {
        public IReadOnlyList<SceneFile> Open()
        {
            Scene active = SceneManager.GetActiveScene();
            var open = new List<SceneFile>();
            for (int i = 0; i < SceneManager.sceneCount; i++)
            {
                Scene scene = SceneManager.GetSceneAt(i);
                open.Add(new SceneFile(i, scene.path ?? "", scene.name ?? "", scene.Equals(active), scene.isLoaded, scene.isDirty,
                    scene.isLoaded ? scene.rootCount : 0));
            }
            return open;
        }

        public IReadOnlyList<string> InProject() => AssetDatabase.FindAssets("t:Scene", new[] { "Assets" }).Select(AssetDatabase.GUIDToAssetPath).ToList();

        public void Load(string path, bool additive) =>
            EditorSceneManager.OpenScene(path, additive ? OpenSceneMode.Additive : OpenSceneMode.Single);

        public void Create(bool empty, bool additive)
        {
            Scene created = EditorSceneManager.NewScene(
                empty ? NewSceneSetup.EmptyScene : NewSceneSetup.DefaultGameObjects, additive ? NewSceneMode.Additive : NewSceneMode.Single);
            SceneManager.SetActiveScene(created);
        }

        public bool Save(SceneFile scene, string path) => EditorSceneManager.SaveScene(SceneManager.GetSceneAt(scene.Index), path);

        public bool Close(SceneFile scene) => EditorSceneManager.CloseScene(SceneManager.GetSceneAt(scene.Index), true);

        // What Unity's own window calls, after it has asked the user. Its place among the open scenes stays.
        public bool Reload(SceneFile scene) =>
            typeof(EditorSceneManager).GetMethod("ReloadScene", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic, null, new[] { typeof(Scene) }, null)
                ?.Invoke(null, new object[] { SceneManager.GetSceneAt(scene.Index) }) is true;

        public bool Activate(SceneFile scene) => SceneManager.SetActiveScene(SceneManager.GetSceneAt(scene.Index));
    }
}
