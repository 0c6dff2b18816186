#nullable enable
using System.ComponentModel;
using System.Threading;
using System.Threading.Tasks;
using Holdfast;
using UnityEngine.SceneManagement;

namespace MyGame.Editor
{
    // The arguments that the AI may send. Names, descriptions and defaults become the tool's schema.
    public sealed class CountObjectsSchema : BaseToolSchema
    {
        [Description("Only scenes whose name has this text; empty: all")]
        public string SceneName { get; set; } = "";
    }

    // The result that the AI receives.
    public sealed class CountObjectsResponse : BaseToolResponse
    {
        public int Roots { get; set; }
    }

    // The package finds this class automatically. The tool may run if "AllowThirdPartyTools" is on, or if the user has allowed
    // this tool.
    [McpTool(Description = "Counts the root GameObjects of the open scenes", Title = "Count objects", ReadOnly = true)]
    public sealed class CountObjectsTool : AbstractUnityTool<CountObjectsSchema, CountObjectsResponse>
    {
        public override string ToolName => "count-objects";

        // Runs on the editor's main thread.
        protected override Task<CountObjectsResponse> ExecuteAsync(CountObjectsSchema parameters, CancellationToken token)
        {
            int roots = 0;
            for (int i = 0; i < SceneManager.sceneCount; i++)
            {
                Scene scene = SceneManager.GetSceneAt(i);
                if (scene.name.Contains(parameters.SceneName)) roots += scene.GetRootGameObjects().Length;
            }
            return Task.FromResult(new CountObjectsResponse { Roots = roots });
        }
    }
}
