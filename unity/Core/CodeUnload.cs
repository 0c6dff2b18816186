#nullable enable
using System;

namespace Holdfast
{
    /// <summary>Tells that Unity unloads the code without an assembly reload, which Unity 6000.5 and later may do.</summary>
    internal static class CodeUnload
    {
        /// <summary>Raised on the main thread before the code is unloaded.</summary>
        public static event Action? Unloading;

        /// <summary>Raises the event.</summary>
        public static void Raise() => Unloading?.Invoke();
    }
}
