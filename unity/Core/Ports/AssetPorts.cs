#nullable enable
using System;
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>The project's assets. Main thread. Unity cannot undo what it does with files.</summary>
    internal interface IAssets
    {
        /// <summary>Paths of the assets that match a filter of Unity's project window, such as <c>t:Material wall</c>.</summary>
        /// <param name="filter">The filter.</param>
        /// <param name="folder">Only assets below this folder.</param>
        IReadOnlyList<string> Find(string filter, string folder);

        /// <summary>Whether Unity knows this folder, also in packages that lie elsewhere.</summary>
        bool IsFolder(string path);

        /// <summary>Full name of the asset's type; empty if Unity does not know the file.</summary>
        string TypeOf(string path);

        /// <summary>Creates a folder in one that exists.</summary>
        bool CreateFolder(string path);

        /// <summary>Creates a material.</summary>
        /// <param name="path">Its file, which does not exist yet.</param>
        /// <param name="shader">Name of the shader; empty for the one that the project's render pipeline uses.</param>
        /// <returns>False if there is no such shader.</returns>
        bool CreateMaterial(string path, string shader);

        /// <summary>Full names of the ScriptableObject types that have this name, with or without namespace.</summary>
        IReadOnlyList<string> ScriptableTypes(string name);

        /// <summary>Creates an asset of a ScriptableObject type.</summary>
        void CreateScriptableObject(string path, string fullTypeName);

        /// <summary>Moves or renames a file or folder. Returns null, or why Unity does not.</summary>
        string? Move(string from, string to);

        /// <summary>Copies a file or folder. Returns false if Unity could not.</summary>
        bool Copy(string from, string to);

        /// <summary>Imports one asset again, even if it has not changed.</summary>
        void Import(string path);

        /// <summary>Writes the import settings of an asset that were changed in memory, and imports it with them.</summary>
        void ImportSettings(string path);

        /// <summary>Imports what was changed outside of Unity.</summary>
        void Refresh();

        /// <summary>Moves a file or folder to the trash of the operating system.</summary>
        bool Trash(string path);

        /// <summary>Writes an asset that was changed in memory to its file.</summary>
        /// <returns>False if it is still different in memory.</returns>
        bool Save(FoundObject asset);
    }

    /// <summary>What came of a change of a prefab's file.</summary>
    /// <param name="Object">The object that was returned, as it is in the file now.</param>
    /// <param name="HasChanged">Whether the file is another one than before.</param>
    /// <param name="CanBeUndone">Whether undo sets the file back.</param>
    internal sealed record PrefabEdit(FoundObject? Object, bool HasChanged, bool CanBeUndone);

    /// <summary>The objects of a prefab's file while it is changed. They are in no scene that tools see.</summary>
    internal interface IPrefabContents
    {
        /// <summary>Changes the objects. What it does is no step of undo: the whole file is one.</summary>
        IObjectEditor Editor { get; }

        /// <summary>The object here that is this one in the file.</summary>
        FoundObject Of(FoundObject inFile);

        /// <summary>The names from below the root to an object here, each after a slash; empty for the root.</summary>
        string PathBelowRoot(FoundObject here);

        /// <summary>The prefab of which an object here is an instance, or is in one; empty if it is in none.</summary>
        string SourceOf(FoundObject here);

        /// <summary>Puts an instance of another prefab below an object here. Returns null if Unity does not.</summary>
        FoundObject? Instantiate(FoundObject prefab, FoundObject parent);
    }

    /// <summary>Prefabs. Main thread. No method asks the user anything.</summary>
    internal interface IPrefabs
    {
        /// <summary>Makes a GameObject a prefab's instance, and saves the prefab. Returns false if Unity could not.</summary>
        bool Create(FoundObject one, string path);

        /// <summary>Puts an instance of a prefab into the active scene or the open prefab.</summary>
        FoundObject? Instantiate(FoundObject prefab);

        /// <summary>The root of the instance to which a GameObject belongs; null if it belongs to none.</summary>
        FoundObject? InstanceRoot(FoundObject one);

        /// <summary>The file of the prefab of which this is an instance.</summary>
        string PathOf(FoundObject instance);

        /// <summary>Writes what was changed of an instance into the prefab.</summary>
        void Apply(FoundObject instance);

        /// <summary>Takes back what was changed of an instance.</summary>
        void Revert(FoundObject instance);

        /// <summary>File of the prefab that is open for editing; empty if none is.</summary>
        string OpenPath { get; }

        /// <summary>
        /// Changes what is in a prefab's file without opening it, and saves it. If the action throws, the file stays as it is. In a step of
        /// undo that is open.
        /// </summary>
        /// <param name="path">The file.</param>
        /// <param name="change">Changes the objects, and returns the one that the answer shall have; null for none.</param>
        PrefabEdit EditFile(string path, Func<IPrefabContents, FoundObject?> change);

        /// <summary>Opens a prefab for editing. Returns false if Unity could not.</summary>
        bool Open(string path);

        /// <summary>Saves the open prefab. Returns false if Unity could not.</summary>
        bool Save();

        /// <summary>Whether the open prefab is a variant of a prefab that is gone, so that Unity cannot save it.</summary>
        bool HasLostParent { get; }

        /// <summary>Whether the open prefab would contain itself if it got an instance of this prefab.</summary>
        bool WouldContainItself(FoundObject prefab);

        /// <summary>
        /// Keeps Unity from saving the open prefab by itself, which can open dialogs, until the prefab is closed or the user turns Auto
        /// Save on again.
        /// </summary>
        void StopAutoSave();

        /// <summary>Closes the open prefab, and drops its unsaved changes.</summary>
        void Close();
    }
}
