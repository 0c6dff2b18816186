// Stubs of the part of UnityEngine that the package uses. Signatures are Unity's, and a test compares them with the facts;
// behaviour is a model of ours.
using System;

namespace UnityEngine
{
    public class Object
    {
        public string name { get; set; } = "";
    }

    public class ScriptableObject : Object
    {
    }

    [AttributeUsage(AttributeTargets.Field)]
    public sealed class SerializeField : Attribute
    {
    }

    public class Application
    {
        public static string dataPath => EditorHost.Native.Current.Text("dataPath");

        public static string unityVersion => EditorHost.Native.Current.Text("unityVersion");

        public static bool isBatchMode => EditorHost.Native.Current.Flag("batchMode");
    }

    public class Debug
    {
        public static void Log(object message) => EditorHost.Native.Current.Log("log", message?.ToString() ?? "Null");

        public static void LogWarning(object message) => EditorHost.Native.Current.Log("warning", message?.ToString() ?? "Null");

        public static void LogError(object message) => EditorHost.Native.Current.Log("error", message?.ToString() ?? "Null");
    }
}
