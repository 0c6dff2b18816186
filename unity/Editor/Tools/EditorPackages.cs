#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEditor.PackageManager;
using UnityEditor.PackageManager.Requests;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of the Package Manager with its client.</summary>
    internal sealed class EditorPackages : IPackages
    {
        public IPackageJob Add(string id)
        {
            var request = Client.Add(id);
            return new Job(request, () => new[] { request.Result });
        }

        public IPackageJob Remove(string name) => new Job(Client.Remove(name), Array.Empty<PackageInfo>);

        public IPackageJob Search()
        {
            var request = Client.SearchAll();
            return new Job(request, () => request.Result);
        }

        // The id of a package from git or from a folder is its name, @ and the address.
        public PackageFact? Installed(string id) => PackageInfo.GetAllRegisteredPackages()
            .Where(p => p.name == id || p.packageId == id || (p.packageId ?? "").EndsWith("@" + id, StringComparison.Ordinal))
            .Select(p => new PackageFact(p.name, p.version, p.isDirectDependency)).FirstOrDefault();

        private sealed class Job : IPackageJob
        {
            private readonly Request request;
            private readonly Func<PackageInfo[]> result;

            public Job(Request request, Func<PackageInfo[]> result)
            {
                this.request = request;
                this.result = result;
            }

            public bool IsCompleted => request.IsCompleted;

            public string? Error => request.Status == StatusCode.Failure ? request.Error?.message ?? "the Package Manager gave no reason" : null;

            public IReadOnlyList<FoundPackage> Packages => result()
                .Select(p => new FoundPackage(p.name, p.displayName ?? "", p.version ?? "", p.description ?? "")).ToList();
        }
    }
}
