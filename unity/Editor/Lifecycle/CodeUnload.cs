#nullable enable
#if UNITY_6000_5_OR_NEWER
using Unity.Scripting.LifecycleManagement;

namespace Holdfast.Editor
{
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
}
#endif
