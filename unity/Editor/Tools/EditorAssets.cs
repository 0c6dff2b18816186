#nullable enable
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using UnityEditor;
using UnityEngine;
using UnityEngine.Rendering;
using Object = UnityEngine.Object;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of assets with AssetDatabase.</summary>
    internal sealed class EditorAssets : IAssets
    {
        public IReadOnlyList<string> Find(string filter, string folder) =>
            AssetDatabase.FindAssets(filter, new[] { folder }).Select(AssetDatabase.GUIDToAssetPath).Distinct().ToList();

        public bool IsFolder(string path) => AssetDatabase.IsValidFolder(path);

        public string TypeOf(string path) => AssetDatabase.GetMainAssetTypeAtPath(path)?.FullName ?? "";

        public bool CreateFolder(string path) =>
            AssetDatabase.CreateFolder(path.Substring(0, path.LastIndexOf('/')), path.Substring(path.LastIndexOf('/') + 1)).Length > 0;

        public bool CreateMaterial(string path, string shader)
        {
            Shader? found = shader.Length > 0 ? Shader.Find(shader) : OfPipeline() ?? Shader.Find("Standard");
            if (found == null) return false;
            var made = new Material(found);
            MaterialWriter.Validate(made);
            AssetDatabase.CreateAsset(made, path);
            return true;
        }

        private static Shader? OfPipeline()
        {
            RenderPipelineAsset? pipeline = GraphicsSettings.currentRenderPipeline;
            return pipeline == null ? null : pipeline.defaultShader;
        }

        public IReadOnlyList<string> ScriptableTypes(string name) => Types(name).Select(t => t.FullName ?? t.Name).ToList();

        public void CreateScriptableObject(string path, string fullTypeName) =>
            AssetDatabase.CreateAsset(ScriptableObject.CreateInstance(Types(fullTypeName).First(t => t.FullName == fullTypeName)), path);

        public string? Move(string from, string to) => AssetDatabase.MoveAsset(from, to) is { Length: > 0 } reason ? reason : null;

        public bool Copy(string from, string to) => AssetDatabase.CopyAsset(from, to);

        public void Import(string path) => AssetDatabase.ImportAsset(path, ImportAssetOptions.ForceUpdate);

        public void Refresh() => AssetDatabase.Refresh();

        public bool Trash(string path) => AssetDatabase.MoveAssetToTrash(path);

        public bool Save(FoundObject asset)
        {
            Object one = EditorObjects.Object(asset);
            AssetDatabase.SaveAssetIfDirty(one);
            return !EditorUtility.IsDirty(one);
        }

        public void ImportSettings(string path)
        {
            // What Unity's inspector does: with a cache of imports, the settings must be in their file before.
            AssetDatabase.WriteImportSettingsIfDirty(path);
            AssetImporter.GetAtPath(path).SaveAndReimport();
        }

        // Editor windows are ScriptableObjects too, and no assets.
        private static IEnumerable<Type> Types(string name) => TypeCache.GetTypesDerivedFrom<ScriptableObject>().Where(t =>
            !t.IsAbstract && !t.ContainsGenericParameters && !typeof(EditorWindow).IsAssignableFrom(t) && (t.Name == name || t.FullName == name));
    }
}
