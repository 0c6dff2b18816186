#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>A GameObject with its path and its depth in the hierarchy.</summary>
    internal readonly struct SceneSpot
    {
        public SceneSpot(ISceneNode node, string path, int depth)
        {
            Node = node;
            Path = path;
            Depth = depth;
        }

        public ISceneNode Node { get; }

        /// <summary>The names of the objects from the root to this object, joined with '/'.</summary>
        public string Path { get; }

        /// <summary>Number of parents; 0 for a root.</summary>
        public int Depth { get; }
    }

    /// <summary>Visits the objects of the open scenes.</summary>
    internal static class SceneWalk
    {
        /// <summary>Returns all objects, parents before their children, in the order of the hierarchy window.</summary>
        /// <param name="scenes">The scenes to visit.</param>
        /// <param name="intoInactive">Whether to include inactive objects and their children.</param>
        public static IEnumerable<SceneSpot> All(IReadOnlyList<SceneView> scenes, bool intoInactive)
        {
            // Uses its own stack instead of recursion: a scene may be deeper than the thread's stack allows.
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

        /// <summary>
        /// Returns the first object with a path such as <c>Canvas/Panel</c>, even an inactive one; null if there is none.
        /// </summary>
        public static ISceneNode? Find(IReadOnlyList<SceneView> scenes, string path)
        {
            string wanted = path.Trim('/');
            return All(scenes, true).Where(s => s.Path == wanted).Select(s => s.Node).FirstOrDefault();
        }

        /// <summary>Returns the name of a component's type, or "Missing Script" if its script is missing.</summary>
        public static string NameOf(ISceneComponent component) => component.IsMissing ? "Missing Script" : component.TypeName;
    }
}
