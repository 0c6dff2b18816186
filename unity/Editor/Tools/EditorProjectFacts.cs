#nullable enable
using System.Linq;
using UnityEditor.PackageManager;
using UnityEditorInternal;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of the project's facts.</summary>
    internal sealed class EditorProjectFacts : IProjectFacts
    {
        public ProjectFacts Read() => new(
            Application.productName, Application.companyName, InternalEditorUtility.tags, InternalEditorUtility.layers,
            PackageInfo.GetAllRegisteredPackages().Select(p => new PackageFact(p.name, p.version, p.isDirectDependency)).ToList());
    }
}
