#nullable enable
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of prefabs with PrefabUtility and PrefabStage.</summary>
    internal sealed class EditorPrefabs : IPrefabs
    {
        public bool Create(FoundObject one, string path)
        {
            PrefabUtility.SaveAsPrefabAssetAndConnect(EditorObjects.GameObject(one), path, InteractionMode.UserAction, out bool saved);
            return saved;
        }

        public FoundObject? Instantiate(FoundObject prefab)
        {
            var made = PrefabUtility.InstantiatePrefab(EditorObjects.Object(prefab)) as GameObject;
            if (made == null) return null;
            EditorObjectEditor.Place(made);
            return EditorObjects.Of(made);
        }

        public FoundObject? InstanceRoot(FoundObject one)
        {
            GameObject? root = PrefabUtility.GetOutermostPrefabInstanceRoot(EditorObjects.GameObject(one));
            return root == null ? null : EditorObjects.Of(root);
        }

        public string PathOf(FoundObject instance) => PrefabUtility.GetPrefabAssetPathOfNearestInstanceRoot(EditorObjects.GameObject(instance)) ?? "";

        public void Apply(FoundObject instance) => PrefabUtility.ApplyPrefabInstance(EditorObjects.GameObject(instance), InteractionMode.UserAction);

        public void Revert(FoundObject instance) => PrefabUtility.RevertPrefabInstance(EditorObjects.GameObject(instance), InteractionMode.UserAction);

        public string OpenPath => PrefabStageUtility.GetCurrentPrefabStage()?.assetPath ?? "";

        public bool Open(string path) => PrefabStageUtility.OpenPrefab(path) != null;

        // What Unity's own window calls is internal. This does the same.
        public bool Save()
        {
            PrefabStage stage = PrefabStageUtility.GetCurrentPrefabStage();
            PrefabUtility.SaveAsPrefabAsset(stage.prefabContentsRoot, stage.assetPath, out bool saved);
            if (saved) stage.ClearDirtiness();
            return saved;
        }

        public void Close() => StageUtility.GoToMainStage();
    }
}
