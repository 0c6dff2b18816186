#nullable enable
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of play mode with EditorApplication.</summary>
    internal sealed class EditorPlayMode : IPlayMode
    {
        public bool IsPlaying => EditorApplication.isPlaying;

        public bool WillPlay => EditorApplication.isPlayingOrWillChangePlaymode;

        public bool IsPaused
        {
            get => EditorApplication.isPaused;
            set => EditorApplication.isPaused = value;
        }

        public void Enter() => EditorApplication.isPlaying = true;

        public void Exit() => EditorApplication.isPlaying = false;

        public void Step() => EditorApplication.Step();
    }
}
