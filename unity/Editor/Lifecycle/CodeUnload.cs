#nullable enable
using System;
#if UNITY_6000_5_OR_NEWER
using Unity.Scripting.LifecycleManagement;
#endif

namespace Holdfast.Editor
{
    /// <summary>Tells that Unity unloads the code without an assembly reload, which Unity 6000.5 and later may do.</summary>
    internal static class CodeUnload
    {
        /// <summary>Raised on the main thread before the code is unloaded.</summary>
        public static event Action? Unloading;

        internal static void Raise() => Unloading?.Invoke();
    }

#if UNITY_6000_5_OR_NEWER
    /// <summary>
    /// Receives Unity's event. Unity generates the registration of such a method: its type must be partial (error UAC0031), and
    /// has no static constructor and no static field, because the registration would run them before Unity's native objects are
    /// ready. So this type does nothing else.
    /// </summary>
    internal static partial class CodeUnloadHook
    {
        [OnCodeUnloading]
        private static void Unloading() => CodeUnload.Raise();
    }
#endif
}
