// Stubs of prefabs. Signatures are Unity's. An instance remembers the file of its prefab.
using System;
using System.Collections.Generic;
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
            if (instanceRoot.All().Skip(1).Any(o => o.Prefab != null && Contains(o.Prefab, assetPath))) throw new ArgumentException("Cyclic nesting detected");
            // A component without a script, which a file stands for here, is not saved.
            success = !File.Exists(AssetFiles.Full("Assets/.missingScript"));
            if (!success) return null;
            File.WriteAllText(AssetFiles.Full(assetPath), SceneStore.Text(new[] { instanceRoot }));
            Renew(assetPath, instanceRoot);
            return (GameObject)AssetFiles.Load(assetPath);
        }

        private static bool Contains(string prefab, string other) =>
            prefab == other || AssetFiles.Load(prefab) is GameObject asset && asset.All().Any(o => o.Prefab != null && Contains(o.Prefab, other));

        /// <summary>Loads a prefab's file again, and the prefabs that have it, and gives the instances in the scenes what it has now.</summary>
        internal static void Renew(string path, GameObject but = null)
        {
            GameObject[] instances = SceneManager.Open.SelectMany(s => s.All()).Where(o => o != but && o.Instance && Contains(o.Prefab, path)).ToArray();
            AssetFiles.ForgetPrefabs();
            foreach (GameObject one in instances)
            {
                if (AssetFiles.Load(one.Prefab) is not GameObject asset) continue;
                PrefabInstances.Follow(one, asset);
                foreach (GameObject each in one.All()) (each.Override, each.transform.Override) = (each.State, each.transform.State);
            }
        }

        // Unity saves an instance of another prefab as a variant of it.
        public static GameObject SaveAsPrefabAssetAndConnect(GameObject instanceRoot, string assetPath, InteractionMode action, out bool success)
        {
            if (assetPath.StartsWith("Assets/StreamingAssets/")) throw new ArgumentException("Path is in StreamingAssets");
            Undo.Dirty(instanceRoot);
            GameObject asset = SaveAsPrefabAsset(instanceRoot, assetPath, out success);
            if (success) Connect(instanceRoot, asset, assetPath);
            return asset;
        }

        private static void Connect(GameObject root, GameObject asset, string prefab)
        {
            root.Prefab = prefab;
            Dictionary<long, Object> all = asset.Parts().ToDictionary(p => p.Id);
            foreach (Object part in root.Parts()) part.Source = all.TryGetValue(part.Source != null && all.ContainsKey(part.Source.Id) ? part.Source.Id : part.Id, out Object source) ? source : null;
            foreach (GameObject one in root.All()) (one.Override, one.transform.Override) = (one.State, one.transform.State);
        }

        // As in Unity, they are in a scene of their own, which no tool sees.
        public static GameObject LoadPrefabContents(string assetPath)
        {
            if (!File.Exists(AssetFiles.Full(assetPath))) throw new ArgumentException($"Path: {assetPath}, does not exist");
            GameObject root = Contents(assetPath);
            root.Into(new SceneModel { Path = "", Preview = true });
            Counted.Contents++;
            return root;
        }

        // The root has the name of the file.
        internal static GameObject Contents(string path)
        {
            GameObject root = SceneStore.Roots(File.ReadAllText(AssetFiles.Full(path)))[0];
            root.name = Path.GetFileNameWithoutExtension(path);
            return root;
        }

        public static void UnloadPrefabContents(GameObject contentsRoot)
        {
            if (contentsRoot.Home?.Preview != true) throw new ArgumentException("Specified object is not part of Prefab contents");
            contentsRoot.Leave();
            Counted.Contents--;
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
            GameObject copy = Instance((GameObject)assetComponentOrGameObject);
            copy.Into(SceneManager.Active);
            return copy;
        }

        public static Object InstantiatePrefab(Object assetComponentOrGameObject, Transform parent) => Instance((GameObject)assetComponentOrGameObject).Under(parent.gameObject);

        private static GameObject Instance(GameObject asset)
        {
            GameObject copy = asset.Copy();
            Connect(copy, asset, AssetDatabase.GetAssetPath(asset));
            return copy;
        }

        public static GameObject GetOutermostPrefabInstanceRoot(Object componentOrGameObject)
        {
            GameObject root = null;
            var one = (componentOrGameObject as GameObject ?? ((Component)componentOrGameObject).gameObject);
            for (Transform at = one.transform; at != null; at = at.parent)
            {
                if (at.gameObject.Prefab != null && at.gameObject.AssetFile == null) root = at.gameObject;
            }
            // What was added to an instance is no part of it.
            return one.Source == null ? null : root;
        }

        public static string GetPrefabAssetPathOfNearestInstanceRoot(Object instanceComponentOrGameObject)
        {
            var one = (GameObject)instanceComponentOrGameObject;
            if (one.Source == null) return "";
            for (Transform at = one.transform; at != null; at = at.parent)
            {
                if (at.gameObject.Prefab != null) return at.gameObject.Prefab;
            }
            return "";
        }

        public static void ApplyPrefabInstance(GameObject instanceRoot, InteractionMode action)
        {
            string path = instanceRoot.Prefab;
            var asset = (GameObject)AssetFiles.Load(path);
            // The file has the objects under its own ids, and not as an instance of itself.
            GameObject whole = instanceRoot.Copy();
            foreach (var (part, from) in whole.Parts().Zip(instanceRoot.Parts(), (part, from) => (part, from)).ToList())
            {
                if (from.Source != null) part.Id = from.Source.Id;
                part.Source = from.Source?.Source;
            }
            whole.Prefab = asset.Prefab;
            GameObject saved = SaveAsPrefabAsset(whole, path, out _);
            Connect(instanceRoot, saved, path);
        }

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
            PrefabUtility.Contents(prefabAssetPath).Into(model);
            return Current = new PrefabStage { assetPath = prefabAssetPath, Model = model };
        }
    }
}
