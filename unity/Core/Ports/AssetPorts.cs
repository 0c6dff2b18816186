#nullable enable
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

        /// <summary>Imports what was changed outside of Unity.</summary>
        void Refresh();

        /// <summary>Moves a file or folder to the trash of the operating system.</summary>
        bool Trash(string path);

        /// <summary>Writes an asset that was changed in memory to its file.</summary>
        void Save(FoundObject asset);
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
