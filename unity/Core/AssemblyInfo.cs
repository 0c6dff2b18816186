#nullable enable
using System.Runtime.CompilerServices;

// Public is only what a tool of a project needs. The other parts of this package, and its tests, see the rest.
[assembly: InternalsVisibleTo("Holdfast.Editor")]
[assembly: InternalsVisibleTo("Holdfast.Editor.TestRunner")]
[assembly: InternalsVisibleTo("Holdfast.Tests")]
[assembly: InternalsVisibleTo("Holdfast.HostTools")]
