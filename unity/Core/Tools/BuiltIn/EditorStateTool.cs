#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>Parameters of <see cref="EditorStateTool"/>.</summary>
    internal sealed class EditorStateSchema : BaseToolSchema
    {
        /// <summary>Whether to list the packages.</summary>
        [Description("List the packages that the project's manifest names")]
        public bool IncludePackages { get; set; }
    }

    /// <summary>Result of <see cref="EditorStateTool"/>.</summary>
    internal sealed class EditorStateResponse : BaseToolResponse
    {
        /// <summary>Unity's version.</summary>
        public string UnityVersion { get; set; } = "";

        /// <summary>The project's folder.</summary>
        public string ProjectPath { get; set; } = "";

        /// <summary>Name of the product in the player settings.</summary>
        public string ProductName { get; set; } = "";

        /// <summary>Name of the company in the player settings.</summary>
        public string CompanyName { get; set; } = "";

        /// <summary>Whether the editor is in play mode.</summary>
        public bool IsPlaying { get; set; }

        /// <summary>Whether the game is paused.</summary>
        public bool IsPaused { get; set; }

        /// <summary>Whether scripts are being compiled.</summary>
        public bool IsCompiling { get; set; }

        /// <summary>Whether assets are being imported.</summary>
        public bool IsImporting { get; set; }

        /// <summary>Whether the last compilation failed.</summary>
        public bool HasCompileErrors { get; set; }

        /// <summary>The open scenes, in the order of the hierarchy window.</summary>
        public IReadOnlyList<SceneFile> OpenScenes { get; set; } = Array.Empty<SceneFile>();

        /// <summary>All tags.</summary>
        public IReadOnlyList<string> Tags { get; set; } = Array.Empty<string>();

        /// <summary>Names of all layers that have one.</summary>
        public IReadOnlyList<string> Layers { get; set; } = Array.Empty<string>();

        /// <summary>The packages that the manifest names, with their versions; null if they were not asked for.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyDictionary<string, string>? Packages { get; set; }
    }

    /// <summary>Tells what the editor is doing and what the project is.</summary>
    [McpTool(
        Description = "Tells what the editor is doing (play mode, compiling, importing, compile errors), and the project's version of Unity, " +
            "open scenes, tags, layers and, if asked, packages",
        Title = "Editor state", ReadOnly = true, Parallel = true)]
    internal sealed class EditorStateTool : AbstractUnityTool<EditorStateSchema, EditorStateResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "editor-state";

        /// <inheritdoc/>
        protected override Task<EditorStateResponse> ExecuteAsync(EditorStateSchema parameters, IToolContext context)
        {
            EditorSnapshot now = context.Get<IEditorState>().Read();
            EditorIdentity editor = context.Get<IBridgeInfo>().Editor;
            IPlayMode mode = context.Get<IPlayMode>();
            ProjectFacts facts = context.Get<IProjectFacts>().Read();
            return Task.FromResult(new EditorStateResponse
            {
                UnityVersion = editor.UnityVersion, ProjectPath = editor.ProjectPath,
                ProductName = facts.ProductName, CompanyName = facts.CompanyName,
                IsPlaying = mode.IsPlaying, IsPaused = mode.IsPaused,
                IsCompiling = now.IsCompiling, IsImporting = now.IsUpdating, HasCompileErrors = now.HasCompileErrors,
                OpenScenes = context.Get<ISceneFiles>().Open(), Tags = facts.Tags, Layers = facts.Layers,
                Packages = parameters.IncludePackages
                    ? facts.Packages.Where(p => p.IsDirect).OrderBy(p => p.Name, StringComparer.Ordinal).ToDictionary(p => p.Name, p => p.Version)
                    : null
            });
        }
    }
}
