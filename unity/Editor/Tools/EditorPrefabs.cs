#nullable enable
using System;
using System.Reflection;
using UnityEditor;
using UnityEditor.SceneManagement;
using UnityEngine;
using Object = UnityEngine.Object;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of prefabs with PrefabUtility and PrefabStage.</summary>
    internal sealed class EditorPrefabs : IPrefabs
    {
        private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;

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

        public PrefabEdit EditFile(string path, Func<IPrefabContents, FoundObject?> change) => PrefabContents.Edit(path, change);

        public string OpenPath => PrefabStageUtility.GetCurrentPrefabStage()?.assetPath ?? "";

        public bool Open(string path) => PrefabStageUtility.OpenPrefab(path) != null;

        // What Unity's own window calls is internal, and opens a dialog if it fails. This does the same without one.
        public bool Save()
        {
            PrefabStage stage = PrefabStageUtility.GetCurrentPrefabStage();
            Raise("prefabSaving", stage);
            PrefabUtility.SaveAsPrefabAsset(stage.prefabContentsRoot, stage.assetPath, out bool saved);
            if (!saved) return false;
            stage.ClearDirtiness();
            Raise("prefabSaved", stage);
            // Instances of the prefab around it have lost what hides them.
            typeof(PrefabStage).GetMethod("UpdateEnvironmentHideFlags", Hidden, null, Type.EmptyTypes, null)?.Invoke(stage, null);
            return true;
        }

        public bool HasLostParent => PrefabUtility.IsPrefabAssetMissing(PrefabStageUtility.GetCurrentPrefabStage().prefabContentsRoot);

        public bool WouldContainItself(FoundObject prefab)
        {
            Object added = EditorObjects.Object(prefab);
            Object? open = AssetDatabase.LoadMainAssetAtPath(OpenPath);
            MethodInfo? check = typeof(PrefabUtility).GetMethod(
                "CheckIfAddingPrefabWouldResultInCyclicNesting", Hidden, null, new[] { typeof(Object), typeof(Object) }, null);
            return check == null || open == null ? added == open : (bool)check.Invoke(null, new object[] { open, added })!;
        }

        // Unity's own field for this. Its window shows that Auto Save is off.
        public void StopAutoSave() =>
            typeof(PrefabStage).GetField("m_TemporarilyDisableAutoSave", Hidden)?.SetValue(PrefabStageUtility.GetCurrentPrefabStage(), true);

        public void Close()
        {
            PrefabStageUtility.GetCurrentPrefabStage().ClearDirtiness();
            StageUtility.GoToMainStage();
        }

        // Other packages listen to these events. Only their type can raise them.
        private static void Raise(string name, PrefabStage stage) =>
            (typeof(PrefabStage).GetField(name, Hidden)?.GetValue(null) as Action<GameObject>)?.Invoke(stage.prefabContentsRoot);
    }
}
