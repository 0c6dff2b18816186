// What the stubs ask of the simulated editor: the part that is native code in Unity and outlives every domain.
using System;

namespace EditorHost
{
    /// <summary>The editor's native side. Called across the domain boundary on Mono, so it takes and gives simple values only.</summary>
    public interface INative
    {
        /// <summary>A fact, such as dataPath.</summary>
        string Text(string name);

        /// <summary>A state, such as isCompiling.</summary>
        bool Flag(string name);

        /// <summary>A text of the session; null if there is none.</summary>
        string GetSession(string key);

        /// <summary>Keeps a text of the session; null erases it.</summary>
        void SetSession(string key, string value);

        /// <summary>Something was asked of the editor, such as reload.</summary>
        void Request(string what);

        /// <summary>Wakes the main loop. Any thread.</summary>
        void SignalTick();

        /// <summary>A line for the console.</summary>
        void Log(string kind, string message);

        /// <summary>An event for whoever steers the editor, as JSON.</summary>
        void Tell(string json);
    }

    /// <summary>Where the stubs find it.</summary>
    public static class Native
    {
        private static INative current;

        public static INative Current
        {
            get => current ??= (INative)AppDomain.CurrentDomain.GetData("EditorHost.Native");
            set => current = value;
        }
    }
}
