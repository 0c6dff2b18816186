// Stubs of prefabs. Signatures are Unity's. An instance remembers the file of its prefab.
using System.Linq;
using EditorHost;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.SceneManagement;

namespace UnityEditor
{
    public enum InteractionMode
    {
        AutomatedAction,
        UserAction
    }

    public sealed class PrefabUtility
    {
        public static GameObject SaveAsPrefabAsset(GameObject instanceRoot, string assetPath, out bool success)
        {
            System.IO.File.WriteAllText(AssetFiles.Full(assetPath), SceneStore.Text(new[] { instanceRoot }));
            AssetFiles.Forget(assetPath);
            success = true;
            return (GameObject)AssetFiles.Load(assetPath);
        }

        public static GameObject SaveAsPrefabAssetAndConnect(GameObject instanceRoot, string assetPath, InteractionMode action, out bool success)
        {
            instanceRoot.Prefab = assetPath;
            Undo.Dirty(instanceRoot);
            return SaveAsPrefabAsset(instanceRoot, assetPath, out success);
        }

        public static Object InstantiatePrefab(Object assetComponentOrGameObject)
        {
            GameObject copy = ((GameObject)assetComponentOrGameObject).Copy();
            copy.Prefab = AssetDatabase.GetAssetPath(assetComponentOrGameObject);
            copy.Into(SceneManager.Active);
            return copy;
        }

        public static GameObject GetOutermostPrefabInstanceRoot(Object componentOrGameObject)
        {
            GameObject root = null;
            for (Transform at = ((GameObject)componentOrGameObject).transform; at != null; at = at.parent)
            {
                if (at.gameObject.Prefab != null) root = at.gameObject;
            }
            return root;
        }

        public static string GetPrefabAssetPathOfNearestInstanceRoot(Object instanceComponentOrGameObject) =>
            GetOutermostPrefabInstanceRoot(instanceComponentOrGameObject)?.Prefab ?? "";

        public static void ApplyPrefabInstance(GameObject instanceRoot, InteractionMode action) =>
            SaveAsPrefabAsset(instanceRoot, instanceRoot.Prefab, out _);

        // Only what the root itself is.
        public static void RevertPrefabInstance(GameObject instanceRoot, InteractionMode action)
        {
            Undo.RecordObject(instanceRoot, "Revert");
            instanceRoot.State = AssetFiles.Load(instanceRoot.Prefab).State;
        }
    }
}

namespace UnityEditor.SceneManagement
{
    public abstract class PreviewSceneStage
    {
        internal SceneModel Model { get; set; }

        public Scene scene => new() { Model = Model };
    }

    public sealed class PrefabStage : PreviewSceneStage
    {
        public string assetPath { get; internal set; } = "";

        public GameObject prefabContentsRoot => Model.Roots[0];

        public void ClearDirtiness() => Model.Dirty = false;
    }

    public static class StageUtility
    {
        public static void PlaceGameObjectInCurrentStage(GameObject gameObject) =>
            gameObject.Into(PrefabStageUtility.GetCurrentPrefabStage()?.Model ?? SceneManager.Active);

        public static void GoToMainStage() => PrefabStageUtility.Current = null;
    }

    public static class PrefabStageUtility
    {
        internal static PrefabStage Current { get; set; }

        // A flag stands for a prefab that the user has opened.
        public static PrefabStage GetCurrentPrefabStage()
        {
            if (Current != null || !Native.Current.Flag("prefabOpen")) return Current;
            var model = new SceneModel { Dirty = Native.Current.Flag("sceneDirty") };
            _ = new GameObject("Hero", model);
            return Current = new PrefabStage { Model = model };
        }

        public static PrefabStage OpenPrefab(string prefabAssetPath)
        {
            var model = new SceneModel { Path = prefabAssetPath };
            ((GameObject)AssetFiles.Load(prefabAssetPath)).Copy().Into(model);
            return Current = new PrefabStage { assetPath = prefabAssetPath, Model = model };
        }
    }
}
