// Stubs of the part of UnityEngine that the package uses. Signatures are Unity's, which FactTests checks. The behaviour is
// simulated.
using System;

namespace UnityEngine
{
    public class Object
    {
        internal static int Last { get; set; }

        internal int Number { get; set; } = ++Last;

        /// <summary>Its id in its file.</summary>
        internal long Id { get; set; } = BitConverter.ToInt64(Guid.NewGuid().ToByteArray(), 0);

        /// <summary>In a prefab's instance, the object of the prefab from which it comes.</summary>
        internal Object Source { get; set; }

        private string own = "";

        // A component has the name of its GameObject.
        public string name
        {
            get
            {
                EditorHost.Counted.Names++;
                return this is Component { Owner: { } owner } ? owner.name : own;
            }
            set => own = value;
        }

        /// <summary>What Undo keeps of it.</summary>
        internal virtual object State { get; set; }

        /// <summary>In a prefab's instance, what a file has of it: the state that was last recorded as an override. Null: all of it.</summary>
        internal object Override { get; set; }

        /// <summary>The serialised properties that were set, by path.</summary>
        internal System.Collections.Generic.Dictionary<string, object> Values { get; set; } = new();

        /// <summary>Whether its file has other values than it has in memory.</summary>
        internal bool Dirty { get; set; }

        public HideFlags hideFlags { get; set; }

#if UNITY_6000_4_OR_NEWER
        public EntityId GetEntityId() => new() { Value = (ulong)Number };
#endif

#if UNITY_6000_5_OR_NEWER
        [Obsolete("", true)]
#elif UNITY_6000_4_OR_NEWER
        [Obsolete]
#endif
        public int GetInstanceID() => Number;

        // Whether an object that is hidden and not saved gets into that scene, is not known. Here it does not.
        public static void DontDestroyOnLoad(Object target)
        {
            var one = (GameObject)target;
            if (one.hideFlags == HideFlags.HideAndDontSave) one.Leave();
            else one.Into(SceneManagement.SceneManager.Lasting);
        }

        public static void DestroyImmediate(Object obj)
        {
            if (obj is Component component) component.Owner.Remove(component);
            if (obj is not GameObject one) return;
            if (one.hideFlags == HideFlags.HideAndDontSave && one.Home == null) EditorHost.Counted.Hidden--;
            one.Leave();
        }

        public static T Instantiate<T>(T original, Transform parent) where T : Object
        {
            GameObject copy = ((GameObject)(object)original).Copy();
            foreach (Object part in copy.Parts()) part.Source = null;
            copy.name += "(Clone)";
            copy.Under(parent.gameObject);
            return (T)(object)copy;
        }
    }

    public static class Random
    {
        public static int Range(int minInclusive, int maxExclusive) => minInclusive;
    }

    public enum ThreadPriority
    {
        Low = 0,
        BelowNormal = 1,
        Normal = 2,
        High = 4
    }

    [Flags]
    public enum HideFlags
    {
        None = 0,
        HideAndDontSave = 61
    }

#if UNITY_6000_3_OR_NEWER
    public struct EntityId
    {
        internal ulong Value { get; set; }

#if UNITY_6000_4_OR_NEWER
        public static ulong ToULong(EntityId entityId) => entityId.Value;

        public static EntityId FromULong(ulong input) => new() { Value = input };
#else
        public static implicit operator EntityId(int intValue) => new() { Value = (ulong)intValue };
#endif
    }
#endif

    public class UnityException : SystemException
    {
        public UnityException(string message) : base(message)
        {
        }
    }

    public class ScriptableObject : Object
    {
        public static T CreateInstance<T>() where T : ScriptableObject => (T)Activator.CreateInstance(typeof(T));

        public static ScriptableObject CreateInstance(Type type) => (ScriptableObject)Activator.CreateInstance(type);
    }

    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute
    {
    }

    public enum LogType
    {
        Error = 0,
        Assert = 1,
        Warning = 2,
        Log = 3,
        Exception = 4
    }

    public class Application
    {
        public delegate void LogCallback(string condition, string stackTrace, LogType type);

        public static event LogCallback logMessageReceivedThreaded;

        public static bool isPlaying => EditorHost.Native.Current.Flag("isPlaying");

        internal static void Logged(string message, LogType type) => logMessageReceivedThreaded?.Invoke(message, "", type);

        public static string dataPath => EditorHost.Native.Current.Text("dataPath");

        public static string unityVersion => EditorHost.Native.Current.Text("unityVersion");

        public static string productName => "Game";

        public static string companyName => "Me";

        public static bool isBatchMode => EditorHost.Native.Current.Flag("batchMode");
    }

    public class Debug
    {
        public static void Log(object message) => Say("log", message, LogType.Log);

        public static void LogWarning(object message) => Say("warning", message, LogType.Warning);

        public static void LogException(System.Exception exception) => Say("exception", exception, LogType.Exception);

        public static void LogError(object message) => Say("error", message, LogType.Error);

        private static void Say(string kind, object message, LogType type)
        {
            string text = message?.ToString() ?? "Null";
            EditorHost.Native.Current.Log(kind, text);
            Application.Logged(text, type);
        }
    }
}
