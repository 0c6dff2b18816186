#nullable enable
using System;
using UnityEditor;
using UnityEngine;

namespace Holdfast.Editor
{
    /// <summary>The user's settings for every project on this machine. Main thread, unless a member says otherwise.</summary>
    [FilePath("Holdfast/Holdfast.asset", FilePathAttribute.Location.PreferencesFolder)]
    internal sealed class HoldfastPreferences : ScriptableSingleton<HoldfastPreferences>, IUserChoices
    {
        [SerializeField]
        private bool wakeUnfocused = true;

        [SerializeField]
        private bool restoreMinimized;

        [SerializeField]
        private string programPath = "";

        /// <summary>
        /// Whether to wake an editor without focus for a call. Any thread may read this plain field: an outdated value for one
        /// frame does no harm.
        /// </summary>
        public bool WakeUnfocused
        {
            get => wakeUnfocused;
            set => Change(() => wakeUnfocused = value);
        }

        /// <summary>
        /// Whether to show a minimised editor again if a call waits for it. Any thread may read it, like <see
        /// cref="WakeUnfocused"/>.
        /// </summary>
        public bool RestoreMinimized
        {
            get => restoreMinimized;
            set => Change(() => restoreMinimized = value);
        }

        /// <inheritdoc/>
        public string ProgramPath
        {
            get => programPath;
            set => Change(() => programPath = value);
        }

        private void Change(Action change)
        {
            change();
            Save(true);
        }
    }
}
