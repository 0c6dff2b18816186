// Stubs of the Package Manager. Signatures are Unity's. A package with "none" in its name is not found; one with "slow" is there only
// after the reload that it causes, as it can happen in Unity; every other one is there before.
using System;
using System.Linq;
using System.Reflection;
using EditorHost;
using UnityEditor.PackageManager.Requests;

namespace UnityEditor.PackageManager
{
    public class PackageInfo
    {
        internal const string Added = "packages";

        public string version { get; internal set; }

        public string name { get; internal set; }

        public string packageId => name + "@" + version;

        public string displayName => name.Substring(name.LastIndexOf('.') + 1);

        public string description => "About " + name;

        public bool isDirectDependency { get; internal set; }

        public static PackageInfo[] GetAllRegisteredPackages() => new[]
        {
            new PackageInfo { name = "dev.holdfast.unity", version = "0.1.0", isDirectDependency = true },
            new PackageInfo { name = "com.unity.nuget.newtonsoft-json", version = "3.2.1" }
        }.Concat((Native.Current.GetSession(Added) ?? "").Split('\n').Where(p => p.Length > 0).Select(Of)).ToArray();

        internal static PackageInfo Of(string id) => id.Contains("://")
            ? new PackageInfo { name = "com.from.git", version = id, isDirectDependency = true }
            : new PackageInfo { name = id.Split('@')[0], version = id.Contains("@") ? id.Split('@')[1] : "1.2.3", isDirectDependency = true };

        public static PackageInfo FindForAssembly(Assembly assembly) => new() { version = Native.Current.Text("packageVersion") };
    }

    public enum StatusCode
    {
        InProgress,
        Success,
        Failure
    }

    public class Error
    {
        public string message { get; internal set; }
    }

    public static class Client
    {
        public static AddRequest Add(string identifier)
        {
            var request = new AddRequest { Result = PackageInfo.Of(identifier) };
            bool missing = identifier.Contains("none"), slow = identifier.Contains("slow");
            if (!missing) Native.Current.SetSession(PackageInfo.Added, Native.Current.GetSession(PackageInfo.Added) + "\n" + identifier);
            if (!slow) request.End(missing ? $"Cannot find {identifier}" : null);
            if (!missing) EditorUtility.RequestScriptReload();
            return request;
        }

        public static RemoveRequest Remove(string packageName)
        {
            var request = new RemoveRequest();
            string[] kept = (Native.Current.GetSession(PackageInfo.Added) ?? "").Split('\n').Where(p => p.Length > 0 && PackageInfo.Of(p).name != packageName).ToArray();
            Native.Current.SetSession(PackageInfo.Added, string.Join("\n", kept));
            if (!packageName.Contains("slow")) request.End(null);
            EditorUtility.RequestScriptReload();
            return request;
        }

        public static SearchRequest SearchAll()
        {
            var request = new SearchRequest { Result = new[] { PackageInfo.Of("com.unity.inputsystem@1.7.0"), PackageInfo.Of("com.unity.timeline@1.8.0") } };
            request.End(Native.Current.Flag("offline") ? "no network" : null);
            return request;
        }
    }
}

namespace UnityEditor.PackageManager.Requests
{
    public abstract class Request
    {
        public StatusCode Status { get; private set; }

        public bool IsCompleted => Status != StatusCode.InProgress;

        public Error Error { get; private set; }

        internal void End(string error)
        {
            Status = error == null ? StatusCode.Success : StatusCode.Failure;
            if (error != null) Error = new Error { message = error };
        }
    }

    public abstract class Request<T> : Request
    {
        public T Result { get; internal set; }
    }

    public sealed class AddRequest : Request<PackageInfo>
    {
    }

    public sealed class RemoveRequest : Request
    {
    }

    public sealed class SearchRequest : Request<PackageInfo[]>
    {
    }
}
