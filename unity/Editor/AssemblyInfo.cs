#nullable enable
using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("Holdfast.HostTools")]
