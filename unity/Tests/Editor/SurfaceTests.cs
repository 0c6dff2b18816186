#nullable enable
using System.Linq;
using System.Reflection;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>
    /// Every public type is visible in all editor scripts of a project, and may collide with a name there. So only what a tool of
    /// a project needs is public.
    /// </summary>
    public sealed class SurfaceTests
    {
        [Test]
        public void Public_is_only_what_a_tool_needs()
        {
            string[] names = typeof(IUnityTool).Assembly.GetExportedTypes().Select(type => type.Name.Split('`')[0]).ToArray();
            Assert.That(names, Is.EquivalentTo(new[]
            {
                "IUnityTool", "AbstractUnityTool", "BaseToolSchema", "BaseToolResponse", "McpToolAttribute", "McpRequiredAttribute",
                "SecuritySettings", "IToolContext", "IMainThread", "MainThreadAwaitable", "IResumableTool", "IToolContent", "ToolContent",
                "ToolParameterException", "IUnityCommand", "AbstractUnityCommand"
            }));
        }
    }
}
