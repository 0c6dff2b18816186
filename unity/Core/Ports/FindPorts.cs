#nullable enable
using System.Collections.Generic;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>What the tools that find need beside <see cref="IScenes"/> and <see cref="IAssets"/>. Main thread.</summary>
    internal interface IFinder
    {
        /// <summary>Whether a GameObject is still there. Another frame may have deleted it.</summary>
        bool IsThere(ISceneNode node);

        /// <summary>Whether this is the name of a type of component, with or without namespace, abstract ones included.</summary>
        bool IsComponentType(string name);

        /// <summary>Scenes that are in the hierarchy and whose objects <see cref="IScenes.Open"/> does not have.</summary>
        IReadOnlyList<string> HiddenScenes();

        /// <summary>
        /// What of a GameObject refers to an object: properties of its components, and the GameObject itself if it is an instance of
        /// that prefab. A component of a GameObject, and a part of a file, count as the whole.
        /// </summary>
        /// <param name="from">The GameObject.</param>
        /// <param name="to">The object that is referred to.</param>
        /// <param name="isCut">Set to true if a component has more properties than were looked at.</param>
        IReadOnlyList<ReferenceInfo> References(ISceneNode from, FoundObject to, ref bool isCut);

        /// <summary>The files to which an asset's saved file refers directly. It may be among them itself.</summary>
        IReadOnlyList<string> DependenciesOf(string path);

        /// <summary>The labels of an asset.</summary>
        IReadOnlyList<string> LabelsOf(string path);

        /// <summary>
        /// The GameObjects of a prefab's file that lack a script, or the name of another file that lacks one. Loads the file.
        /// </summary>
        IReadOnlyList<string> MissingScripts(string path);
    }

    /// <summary>A property that refers to an object.</summary>
    /// <param name="Component">The component, as every tool takes it; of a prefab's instance, the GameObject.</param>
    /// <param name="Property">The property, as edit-component takes it; of a prefab's instance, "(prefab)".</param>
    internal sealed record ReferenceInfo([property: JsonProperty("component")] string Component, [property: JsonProperty("property")] string Property);
}
