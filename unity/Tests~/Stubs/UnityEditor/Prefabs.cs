// Stubs of prefabs. Signatures are Unity's. An instance remembers the file of its prefab.
using System;
using System.IO;
using System.Linq;
using EditorHost;
using UnityEditor.SceneManagement;
using UnityEngine;
using UnityEngine.SceneManagement;
using Object = UnityEngine.Object;

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
            // As in Unity, no prefab can have an instance of itself below it.
            success = !instanceRoot.All().Skip(1).Any(o => o.Prefab == assetPath);
            if (!success) return null;
            File.WriteAllText(AssetFiles.Full(assetPath), SceneStore.Text(new[] { instanceRoot }));
            AssetFiles.Forget(assetPath);
            return (GameObject)AssetFiles.Load(assetPath);
        }

        public static GameObject SaveAsPrefabAssetAndConnect(GameObject instanceRoot, string assetPath, InteractionMode action, out bool success)
        {
            if (assetPath.StartsWith("Assets/StreamingAssets/")) throw new ArgumentException("Path is in StreamingAssets");
            Connect(instanceRoot, assetPath);
            Undo.Dirty(instanceRoot);
            return SaveAsPrefabAsset(instanceRoot, assetPath, out success);
        }

        private static void Connect(GameObject root, string prefab)
        {
            root.Prefab = prefab;
            foreach (GameObject one in root.All()) (one.Override, one.transform.Override) = (one.State, one.transform.State);
        }

        public static bool IsPartOfPrefabInstance(Object componentOrGameObject) =>
            GetOutermostPrefabInstanceRoot(componentOrGameObject as GameObject ?? ((Component)componentOrGameObject).gameObject) != null;

        public static bool IsAnyPrefabInstanceRoot(GameObject gameObject) => gameObject.Prefab != null;

        public static void RecordPrefabInstancePropertyModifications(Object targetObject)
        {
            if (targetObject is GameObject or Component && IsPartOfPrefabInstance(targetObject)) targetObject.Override = targetObject.State;
        }

        internal static bool CheckIfAddingPrefabWouldResultInCyclicNesting(Object prefabAssetThatIsAddedTo, Object prefabAssetThatWillBeAdded) =>
            prefabAssetThatIsAddedTo == prefabAssetThatWillBeAdded;

        public static bool IsPrefabAssetMissing(Object instanceComponentOrGameObject) => false;

        public static Object InstantiatePrefab(Object assetComponentOrGameObject)
        {
            GameObject copy = ((GameObject)assetComponentOrGameObject).Copy();
            Connect(copy, AssetDatabase.GetAssetPath(assetComponentOrGameObject));
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

        // Only what the root itself is. Unity throws if the prefab is gone.
        public static void RevertPrefabInstance(GameObject instanceRoot, InteractionMode action)
        {
            Undo.RecordObject(instanceRoot, "Revert");
            instanceRoot.name += " (reverted)";
            if (AssetFiles.Load(instanceRoot.Prefab) is not { } prefab) throw new ArgumentException("Calling revert on an object whose prefab is gone is not allowed.");
            instanceRoot.State = prefab.State;
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
        private bool m_TemporarilyDisableAutoSave;

        public static event Action<GameObject> prefabSaving;

        public static event Action<GameObject> prefabSaved;

        public string assetPath { get; internal set; } = "";

        public GameObject prefabContentsRoot => Model.Roots[0];

        public void ClearDirtiness() => Model.Dirty = false;

        internal void StopAutoSave() => m_TemporarilyDisableAutoSave = true;

        /// <summary>What Unity does in each frame with Auto Save on, which it is at first: it saves, or asks the user.</summary>
        internal void Tick()
        {
            if (!Model.Dirty || m_TemporarilyDisableAutoSave || !assetPath.StartsWith("Assets/")) return;
            if (new FileInfo(AssetFiles.Full(assetPath)).IsReadOnly) Dialogs.Show("Check out");
            else if (prefabContentsRoot.name != Path.GetFileNameWithoutExtension(assetPath)) Dialogs.Show("Rename Prefab File?");
            else if (Save()) return;
            m_TemporarilyDisableAutoSave = true;
        }

        private bool Save()
        {
            prefabSaving?.Invoke(prefabContentsRoot);
            PrefabUtility.SaveAsPrefabAsset(prefabContentsRoot, assetPath, out bool saved);
            if (!saved)
            {
                Dialogs.Show("Saving Failed");
                return false;
            }
            ClearDirtiness();
            prefabSaved?.Invoke(prefabContentsRoot);
            UpdateEnvironmentHideFlags();
            return true;
        }

        private void UpdateEnvironmentHideFlags() => Native.Current.SetSession("hideFlags", "restored");
    }

    public static class StageUtility
    {
        public static void PlaceGameObjectInCurrentStage(GameObject gameObject) =>
            gameObject.Into(PrefabStageUtility.GetCurrentPrefabStage()?.Model ?? SceneManager.Active);

        public static void GoToMainStage()
        {
            if (PrefabStageUtility.Current?.Model.Dirty == true) Dialogs.Show("Prefab Has Been Modified");
            PrefabStageUtility.Current = null;
        }
    }

    public static class PrefabStageUtility
    {
        internal static PrefabStage Current { get; set; }

        // A flag stands for a prefab that the user has opened, without Auto Save.
        public static PrefabStage GetCurrentPrefabStage()
        {
            if (Current != null || !Native.Current.Flag("prefabOpen")) return Current;
            var model = new SceneModel { Dirty = Native.Current.Flag("sceneDirty") };
            _ = new GameObject("Hero", model);
            Current = new PrefabStage { Model = model };
            Current.StopAutoSave();
            return Current;
        }

        public static PrefabStage OpenPrefab(string prefabAssetPath)
        {
            var model = new SceneModel { Path = prefabAssetPath };
            ((GameObject)AssetFiles.Load(prefabAssetPath)).Copy().Into(model);
            return Current = new PrefabStage { assetPath = prefabAssetPath, Model = model };
        }
    }
}
