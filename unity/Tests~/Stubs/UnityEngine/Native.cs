// The interface through which the stubs call the host: the part of the simulated editor that outlives every domain, as native
// code does in Unity.
using System;

namespace EditorHost
{
    /// <summary>
    /// The simulated editor's native side, which outlives every domain. On Mono it is called across the boundary of the domain,
    /// so only simple types are used.
    /// </summary>
    public interface INative
    {
        /// <summary>Returns a constant text, such as dataPath.</summary>
        string Text(string name);

        /// <summary>Returns a state, such as isCompiling.</summary>
        bool Flag(string name);

        /// <summary>Returns a text that outlives domains; null if there is none under this key.</summary>
        string GetSession(string key);

        /// <summary>Stores a text that outlives domains. Null removes it.</summary>
        void SetSession(string key, string value);

        /// <summary>Requests an action of the editor, such as reload.</summary>
        void Request(string what);

        /// <summary>Wakes the main loop. Any thread.</summary>
        void SignalTick();

        /// <summary>Writes a line to the console.</summary>
        void Log(string kind, string message);

        /// <summary>Sends an event, as JSON, to the program that controls the editor.</summary>
        void Tell(string json);
    }

    /// <summary>How often costly or numerous calls were made since the scripts were loaded.</summary>
    public static class Counted
    {
        public static int GlobalIds { get; set; }

        public static int Names { get; set; }

        public static int Popups { get; set; }

        /// <summary>Which entry of the game view's list of sizes is selected.</summary>
        public static int GameSize { get; set; }

        /// <summary>How many hidden objects there are, made and not destroyed.</summary>
        public static int Hidden { get; set; }

        public static int Imports { get; set; }

        /// <summary>How many prefabs are loaded for a change and not unloaded.</summary>
        public static int Contents { get; set; }
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
