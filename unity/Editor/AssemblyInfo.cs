#nullable enable
using System.Reflection;

[assembly: AssemblyTitle("Holdfast for Unity")]
