#nullable enable
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Unity's Package Manager. Main thread.</summary>
    internal interface IPackages
    {
        /// <summary>Begins to add a package.</summary>
        /// <param name="id">A name, a name with @ and a version, a git address, or file: with a path.</param>
        IPackageJob Add(string id);

        /// <summary>Begins to remove a package from the project's manifest.</summary>
        IPackageJob Remove(string name);

        /// <summary>Begins to ask the registries for all packages.</summary>
        IPackageJob Search();

        /// <summary>
        /// The package of the project that was added by this id, or that has this name; null if there is none.
        /// </summary>
        PackageFact? Installed(string id);
    }

    /// <summary>Something that the Package Manager does. Poll it once a frame. It does not outlive the domain.</summary>
    internal interface IPackageJob
    {
        /// <summary>Whether it has ended.</summary>
        bool IsCompleted { get; }

        /// <summary>Why it failed; null if it did not.</summary>
        string? Error { get; }

        /// <summary>The package that was added, or the packages that were found.</summary>
        IReadOnlyList<FoundPackage> Packages { get; }
    }

    /// <summary>A package of a registry.</summary>
    /// <param name="Name">Name of the package, such as com.unity.inputsystem.</param>
    /// <param name="Title">Its name for people.</param>
    /// <param name="Version">The version that fits this editor best.</param>
    /// <param name="Description">What it is.</param>
    internal sealed record FoundPackage(string Name, string Title, string Version, string Description);
}
