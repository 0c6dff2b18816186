#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="ListPackagesTool"/>.</summary>
    internal sealed class ListPackagesSchema : BaseToolSchema
    {
        /// <summary>What to search in the registries.</summary>
        [Description("Search the registries for packages whose name or title has this text; empty: the packages of this project")]
        public string Search { get; set; } = "";

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 60;
    }

    /// <summary>Result of <see cref="ListPackagesTool"/>.</summary>
    internal sealed class ListPackagesResponse : BaseToolResponse
    {
        /// <summary>Whether the packages are known.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The packages of this project.</summary>
        public IReadOnlyList<PackageFact> Installed { get; set; } = Array.Empty<PackageFact>();

        /// <summary>The packages that were found, at most <see cref="Limits.FoundPackages"/>.</summary>
        public IReadOnlyList<FoundPackage> Found { get; set; } = Array.Empty<FoundPackage>();
    }

    /// <summary>Lists packages.</summary>
    [McpTool(
        Description = "Lists the packages of this project, or searches Unity's registries. Example: {\"Search\": \"input\"}",
        Title = "List packages", ReadOnly = true, OpenWorld = true)]
    internal sealed class ListPackagesTool : AbstractUnityTool<ListPackagesSchema, ListPackagesResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "list-packages";

        /// <inheritdoc/>
        protected override async Task<ListPackagesResponse> ExecuteAsync(ListPackagesSchema parameters, IToolContext context)
        {
            string text = parameters.Search.Trim();
            if (text.Length == 0)
            {
                IReadOnlyList<PackageFact> installed = context.Get<IProjectFacts>().Read().Packages;
                return new ListPackagesResponse { Success = true, Message = $"{installed.Count} packages", Installed = installed };
            }
            IPackageJob job = context.Get<IPackages>().Search();
            while (!job.IsCompleted) await context.MainThread.Frames(1, context.Cancellation);
            if (job.Error is { } error) return new ListPackagesResponse { Message = "The registries could not be searched: " + error };
            List<FoundPackage> found = job.Packages.Where(p => Has(p.Name, text) || Has(p.Title, text)).OrderBy(p => p.Name, StringComparer.Ordinal).ToList();
            return new ListPackagesResponse
            {
                Success = true, Message = $"{found.Count} packages match", Found = found.Take(Limits.FoundPackages).Select(Short).ToList()
            };
        }

        private static bool Has(string text, string part) => text.IndexOf(part, StringComparison.OrdinalIgnoreCase) >= 0;

        private static FoundPackage Short(FoundPackage one) =>
            one.Description.Length <= Limits.PackageText ? one : one with { Description = one.Description.Substring(0, Limits.PackageText) + "..." };
    }

    /// <summary>What <see cref="ChangePackagesTool"/> does.</summary>
    internal enum PackageAction
    {
        /// <summary>Adds a package, or changes its version.</summary>
        Add,

        /// <summary>Removes a package.</summary>
        Remove
    }

    /// <summary>Parameters of <see cref="ChangePackagesTool"/>.</summary>
    internal sealed class ChangePackagesSchema : BaseToolSchema
    {
        /// <summary>What to do.</summary>
        [McpRequired]
        [Description("Add (or change the version), or Remove")]
        public PackageAction Action { get; set; }

        /// <summary>The package.</summary>
        [McpRequired]
        [Description("Add: com.unity.inputsystem, com.unity.inputsystem@1.7.0, a git address, or file:PATH. Remove: the name")]
        public string Package { get; set; } = "";

        /// <inheritdoc/>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public override int TimeoutSeconds { get; set; } = 300;
    }

    /// <summary>Result of <see cref="ChangePackagesTool"/>.</summary>
    internal sealed class ChangePackagesResponse : BaseToolResponse
    {
        /// <summary>Whether it was done.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The package as it is in the project now; null if it is not there.</summary>
        public PackageFact? Package { get; set; }

        /// <summary>Whether the domain was reloaded during the call.</summary>
        public bool DomainReloaded { get; set; }
    }

    /// <summary>
    /// Adds and removes packages. Unity then compiles and reloads the domain, often before the Package Manager has answered. The
    /// next domain looks whether the package is there.
    /// </summary>
    [McpTool(
        Description = "Adds a package to the project or removes one. Answers with the true result, also over the domain reload that follows. " +
            "Example: {\"Action\": \"Add\", \"Package\": \"com.unity.inputsystem\"}",
        Title = "Change packages", RequiredSecuritySetting = SecuritySettings.AllowPackageChanges, OpenWorld = true)]
    internal sealed class ChangePackagesTool : AbstractUnityTool<ChangePackagesSchema, ChangePackagesResponse>, IResumableTool
    {
        /// <inheritdoc/>
        public override string ToolName => "change-packages";

        /// <inheritdoc/>
        protected override async Task<ChangePackagesResponse> ExecuteAsync(ChangePackagesSchema parameters, IToolContext context)
        {
            string id = parameters.Package.Trim();
            if (id.Length == 0 || id.Length > Limits.PackageId || id.Any(char.IsControl)) throw new ToolParameterException("Package is empty or too long");
            IPackages packages = context.Get<IPackages>();
            bool adds = parameters.Action == PackageAction.Add;
            if (context.Get<IEditorState>().Read().IsPlaying) return new ChangePackagesResponse { Message = "The editor is in play mode; leave it first" };
            if (!adds && packages.Installed(id) is not { IsDirect: true })
            {
                return new ChangePackagesResponse
                {
                    Package = packages.Installed(id),
                    Message = packages.Installed(id) == null ? $"The project has no package {id}" : $"The project's manifest does not name {id}; another package needs it"
                };
            }
            if (!adds && id == "dev.holdfast.unity") throw new ToolParameterException("This package cannot remove itself (Package)");
            context.KeepAcrossReload(new JObject { ["id"] = id, ["adds"] = adds });
            IPackageJob job = adds ? packages.Add(id) : packages.Remove(id);
            while (!job.IsCompleted) await context.MainThread.Frames(1, context.Cancellation);
            if (job.Error is { } error) return new ChangePackagesResponse { Message = $"Unity could not {(adds ? "add" : "remove")} {id}: {error}", Package = packages.Installed(id) };
            if (!adds) return new ChangePackagesResponse { Success = true, Message = $"Removed {id}; see compile for the scripts that needed it" };
            FoundPackage added = job.Packages[0];
            return new ChangePackagesResponse
            {
                Success = true, Message = $"Added {added.Name} {added.Version}; its scripts are compiled now, see compile",
                Package = new PackageFact(added.Name, added.Version, true)
            };
        }

        /// <inheritdoc/>
        public async Task<object?> ResumeAsync(JToken kept, IToolContext context)
        {
            IPackages packages = context.Get<IPackages>();
            string id = (string)kept["id"]!;
            bool adds = (bool)kept["adds"]!;
            var watch = Stopwatch.StartNew();
            // The reload may have had another cause, and the Package Manager goes on.
            while (packages.Installed(id) != null != adds && watch.ElapsedMilliseconds < Limits.PackageSettle) await context.MainThread.Frames(1, context.Cancellation);
            PackageFact? found = packages.Installed(id);
            bool done = found != null == adds;
            return new ChangePackagesResponse
            {
                Success = done, Package = found, DomainReloaded = true,
                Message = done
                    ? adds ? $"Added {found!.Name} {found.Version}; see compile for its scripts" : $"Removed {id}; see compile for the scripts that needed it"
                    : $"Unity reloaded its domain while the Package Manager worked, and {id} is {(adds ? "not" : "still")} in the project; get-logs may tell why"
            };
        }
    }
}
