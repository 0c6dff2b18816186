#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Finds the object that a caller names. Every tool takes the same names, and returns them.</summary>
    internal static class ObjectFinder
    {
        /// <summary>Says in a schema which names there are.</summary>
        public const string Names = "a path in the hierarchy (World/Player), an asset's path (Assets/Hero.prefab), a GlobalObjectId, or an " +
            "id that another tool returned";

        private const string Global = "GlobalObjectId_";

        /// <summary>Finds an asset, or an object of an open scene.</summary>
        /// <exception cref="ToolParameterException">There is none, or several have this path.</exception>
        public static FoundObject Find(IToolContext context, string name, string parameter)
        {
            string wanted = name.Trim();
            if (wanted.Length == 0) throw new ToolParameterException(parameter + " is empty");
            if (!IsStable(wanted))
            {
                ISceneNode node = InScene(context, wanted, parameter);
                return context.Get<IObjects>().Of(node);
            }
            return context.Get<IObjects>().Find(wanted) ?? throw new ToolParameterException(
                $"There is no object {wanted} ({parameter}). An object of a scene is found only while the scene is open" +
                // Unity takes instances of prefabs apart when the game starts.
                (wanted.StartsWith(Global, StringComparison.Ordinal) && context.Get<IEditorState>().Read().IsPlaying
                    ? ". While the game runs, objects of a prefab's instance have other GlobalObjectIds: name it by its path"
                    : ""));
        }

        /// <summary>Finds a GameObject that is in an open scene, or in the prefab that is open.</summary>
        /// <exception cref="ToolParameterException">There is none, or several have this path.</exception>
        public static FoundObject GameObject(IToolContext context, string name, string parameter)
        {
            FoundObject found = Find(context, name, parameter);
            if (found.Node == null) throw new ToolParameterException($"{name} is no GameObject ({parameter})");
            if (found.AssetPath.Length > 0)
            {
                throw new ToolParameterException($"{name} is a prefab's file ({parameter}). Open it with prefabs and change it there, or name an instance in a scene");
            }
            return found;
        }

        private static bool IsStable(string id) => id.StartsWith(Global, StringComparison.Ordinal) ||
            id.StartsWith("Assets/", StringComparison.Ordinal) || id.StartsWith("Packages/", StringComparison.Ordinal);

        private static ISceneNode InScene(IToolContext context, string wanted, string parameter)
        {
            string path = wanted.Trim('/');
            List<SceneSpot> found = SceneWalk.All(context.Get<IScenes>().Open(), true).Take(Limits.SceneNodes)
                .Where(s => s.Node.Id == wanted || s.Path == path).Take(Limits.SameObjects).ToList();
            if (found.Count == 0)
            {
                throw new ToolParameterException($"No open scene has an object {wanted} ({parameter}). A path begins at the root, such as World/Player; " +
                    "find-game-objects finds objects by name");
            }
            if (found.Count > 1)
            {
                throw new ToolParameterException($"Several objects have the path {path} ({parameter}); name one by its id: " +
                    string.Join(", ", found.Select(s => s.Node.Id)) + (found.Count == Limits.SameObjects ? ", ..." : ""));
            }
            return found[0].Node;
        }
    }

    /// <summary>An object in a result, with every name by which tools find it again.</summary>
    internal sealed class ObjectInfo
    {
        /// <summary>The GlobalObjectId, which stays the same in later sessions; empty if it has none, as in a scene that was never
        /// saved.</summary>
        public string GlobalId { get; set; } = "";

        /// <summary>The id in this session; empty for an asset.</summary>
        public string Id { get; set; } = "";

        /// <summary>Name of the object.</summary>
        public string Name { get; set; } = "";

        /// <summary>Name of the object's type.</summary>
        public string Type { get; set; } = "";

        /// <summary>The path in the hierarchy; empty if it is not in an open scene.</summary>
        public string Path { get; set; } = "";

        /// <summary>The asset that it is or is part of; empty for an object of a scene.</summary>
        public string AssetPath { get; set; } = "";

        /// <summary>Describes an object.</summary>
        public static ObjectInfo Of(FoundObject found) => new()
        {
            GlobalId = found.GlobalId, Name = found.Name, AssetPath = found.AssetPath,
            Type = found.View.IsMissing ? "" : found.View.FullTypeName,
            Id = found.AssetPath.Length > 0 ? "" : found.Node?.Id ?? "", Path = found.AssetPath.Length > 0 ? "" : found.Node?.Path ?? ""
        };
    }

    /// <summary>Result of a tool that changes an object.</summary>
    internal sealed class ObjectResponse : BaseToolResponse
    {
        /// <summary>Whether it was done. If false, nothing was changed, unless the message says otherwise.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>The object as it is now; null if there is none any more.</summary>
        public ObjectInfo? Object { get; set; }
    }
}
