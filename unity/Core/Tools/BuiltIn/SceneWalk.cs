#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Where a GameObject stands.</summary>
    internal readonly struct SceneSpot
    {
        public SceneSpot(ISceneNode node, string path, int depth)
        {
            Node = node;
            Path = path;
            Depth = depth;
        }

        public ISceneNode Node { get; }

        /// <summary>Its names from the root on, with '/' between.</summary>
        public string Path { get; }

        /// <summary>0 for a root.</summary>
        public int Depth { get; }
    }

    /// <summary>Walks over the open scenes.</summary>
    internal static class SceneWalk
    {
        /// <summary>Everything, parents before their children, in the order of the hierarchy window.</summary>
        /// <param name="scenes">The scenes.</param>
        /// <param name="intoInactive">With inactive objects and what is below them.</param>
        public static IEnumerable<SceneSpot> All(IReadOnlyList<SceneView> scenes, bool intoInactive)
        {
            // A stack of our own: a scene may be deeper than the thread's.
            var stack = new Stack<SceneSpot>();
            foreach (SceneView scene in scenes)
            {
                foreach (ISceneNode root in scene.Roots.Reverse()) stack.Push(new SceneSpot(root, root.Name, 0));
                while (stack.Count > 0)
                {
                    SceneSpot spot = stack.Pop();
                    if (!intoInactive && !spot.Node.ActiveSelf) continue;
                    yield return spot;
                    foreach (ISceneNode child in spot.Node.Children.Reverse())
                    {
                        stack.Push(new SceneSpot(child, spot.Path + "/" + child.Name, spot.Depth + 1));
                    }
                }
            }
        }

        /// <summary>The first object of a path such as <c>Canvas/Panel</c>, inactive ones too; null if there is none.</summary>
        public static ISceneNode? Find(IReadOnlyList<SceneView> scenes, string path)
        {
            string wanted = path.Trim('/');
            return All(scenes, true).Where(s => s.Path == wanted).Select(s => s.Node).FirstOrDefault();
        }

        /// <summary>What a component is called; one whose script is missing says so.</summary>
        public static string NameOf(ISceneComponent component) => component.IsMissing ? "Missing Script" : component.TypeName;
    }
}
