#nullable enable
namespace Holdfast
{
    /// <summary>Unity's objects: assets, GameObjects and components. Main thread.</summary>
    internal interface IObjects
    {
        /// <summary>
        /// Finds the main object of an asset by its path, or any object by its GlobalObjectId. Returns null if there is none, for
        /// instance since the object is in a scene that is not open.
        /// </summary>
        FoundObject? Find(string id);
    }

    /// <summary>An object that was found.</summary>
    /// <param name="GlobalId">The object's GlobalObjectId as text.</param>
    /// <param name="Name">Name of the object.</param>
    /// <param name="AssetPath">The asset that it is or is part of; empty for an object of a scene.</param>
    /// <param name="Node">The GameObject, if it is one; otherwise null.</param>
    /// <param name="View">Its type and its properties. Of a component it has the component's.</param>
    internal sealed record FoundObject(string GlobalId, string Name, string AssetPath, ISceneNode? Node, ISceneComponent View);
}
