// The interface from the stubs to the simulated editor's part that is native code in Unity and outlives every domain.
using System;

namespace EditorHost
{
    /// <summary>
    /// The editor's native side. It is called across the domain boundary on Mono, so it uses simple values only.
    /// </summary>
    public interface INative
    {
        /// <summary>Returns a constant text, such as dataPath.</summary>
        string Text(string name);

        /// <summary>Returns a state, such as isCompiling.</summary>
        bool Flag(string name);

        /// <summary>Returns a text of the session; null if there is none.</summary>
        string GetSession(string key);

        /// <summary>Stores a text of the session; null erases it.</summary>
        void SetSession(string key, string value);

        /// <summary>Requests something of the editor, such as reload.</summary>
        void Request(string what);

        /// <summary>Wakes the main loop. Any thread.</summary>
        void SignalTick();

        /// <summary>Writes a line to the console.</summary>
        void Log(string kind, string message);

        /// <summary>Sends an event, as JSON, to the program that controls the editor.</summary>
        void Tell(string json);
    }

    /// <summary>Gives the stubs access to the native side.</summary>
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
