#nullable enable
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Facts about the project. Main thread.</summary>
    internal interface IProjectFacts
    {
        /// <summary>Reads the facts as they are now.</summary>
        ProjectFacts Read();
    }

    /// <summary>Facts about the project.</summary>
    /// <param name="ProductName">Name of the product in the player settings.</param>
    /// <param name="CompanyName">Name of the company in the player settings.</param>
    /// <param name="Tags">All tags, Unity's own included.</param>
    /// <param name="Layers">Names of all layers that have one.</param>
    /// <param name="Packages">The packages of the project.</param>
    internal sealed record ProjectFacts(
        string ProductName, string CompanyName, IReadOnlyList<string> Tags, IReadOnlyList<string> Layers, IReadOnlyList<PackageFact> Packages);

    /// <summary>A package of the project.</summary>
    /// <param name="Name">Name of the package, such as com.unity.inputsystem.</param>
    /// <param name="Version">Its version.</param>
    /// <param name="IsDirect">Whether the project's manifest names it. Otherwise another package needs it.</param>
    internal sealed record PackageFact(string Name, string Version, bool IsDirect);
}
