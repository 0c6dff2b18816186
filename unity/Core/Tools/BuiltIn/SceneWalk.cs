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
        /// Returns the objects with a path such as <c>Canvas/Panel</c>, from these roots on, also inactive ones. Only objects on the way
        /// there are visited, since a scene may have very many.
        /// </summary>
        public static IEnumerable<ISceneNode> At(IEnumerable<ISceneNode> roots, string path)
        {
            string wanted = path.Trim('/');
            var stack = new Stack<(ISceneNode Node, int At)>();
            foreach (ISceneNode root in roots.Reverse()) stack.Push((root, 0));
            while (stack.Count > 0)
            {
                (ISceneNode node, int at) = stack.Pop();
                // A name may have a '/' itself, so the path is not split.
                string name = node.Name;
                if (string.CompareOrdinal(wanted, at, name, 0, name.Length) != 0) continue;
                at += name.Length;
                if (at == wanted.Length) yield return node;
                else if (wanted[at] == '/') foreach (ISceneNode child in node.Children.Reverse()) stack.Push((child, at + 1));
            }
        }

        /// <summary>Returns the name of a component's type, or "Missing Script" if its script is missing.</summary>
        public static string NameOf(ISceneComponent component) => component.IsMissing ? "Missing Script" : component.TypeName;
    }
}
