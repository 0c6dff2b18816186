#nullable enable
using System.Collections.Generic;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>The scenes as files. Main thread, and not in play mode. No method asks the user anything.</summary>
    internal interface ISceneFiles
    {
        /// <summary>The open scenes, in the order of the hierarchy window.</summary>
        IReadOnlyList<SceneFile> Open();

        /// <summary>The paths of all scenes below Assets/.</summary>
        IReadOnlyList<string> InProject();

        /// <summary>Opens a scene. Without <paramref name="additive"/> it closes all others, unsaved changes included.</summary>
        void Load(string path, bool additive);

        /// <summary>Creates a scene in memory and makes it the active one. Without <paramref name="additive"/> it closes all others.</summary>
        /// <param name="empty">Whether to leave out the camera and the light that Unity puts into new scenes.</param>
        /// <param name="additive">Whether the open scenes stay open.</param>
        void Create(bool empty, bool additive);

        /// <summary>Saves an open scene to a path, and replaces the file that is there.</summary>
        /// <returns>False if Unity could not save it.</returns>
        bool Save(SceneFile scene, string path);

        /// <summary>Closes an open scene, unsaved changes included.</summary>
        /// <returns>False if Unity did not close it.</returns>
        bool Close(SceneFile scene);

        /// <summary>Reads an open scene from its file again, and drops its unsaved changes.</summary>
        /// <returns>False if Unity did not do it.</returns>
        bool Reload(SceneFile scene);

        /// <summary>Makes an open scene the one that gets new objects.</summary>
        /// <returns>False if Unity did not do it, for instance since the scene is not loaded.</returns>
        bool Activate(SceneFile scene);
    }

    /// <summary>An open scene. Results contain it as it is, without its index.</summary>
    /// <param name="Index">Place among the open scenes, from 0.</param>
    /// <param name="Path">The scene's file, from Assets/ or Packages/; empty if it was never saved.</param>
    /// <param name="Name">Name of the scene; empty if it was never saved.</param>
    /// <param name="IsActive">Whether new objects are put into this scene.</param>
    /// <param name="IsLoaded">Whether its objects are loaded.</param>
    /// <param name="IsDirty">Whether it has unsaved changes.</param>
    /// <param name="RootCount">Number of objects without a parent.</param>
    internal sealed record SceneFile(
        [property: JsonIgnore] int Index, string Path, string Name, bool IsActive, bool IsLoaded, bool IsDirty, int RootCount);
}
