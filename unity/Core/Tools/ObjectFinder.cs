#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

namespace Holdfast
{
    /// <summary>Finds the object that a caller names. Every tool takes the same names, and returns them.</summary>
    internal static class ObjectFinder
    {
        /// <summary>Says in a schema which names there are.</summary>
        public const string Names = "a path (World/Player, Assets/Wall.mat, Assets/Hero.png#Hero_3, Assets/Car.prefab/Seat), or an id or " +
            "reference from a result";

        private const string Global = "GlobalObjectId_";

        private const string Settings = "ProjectSettings/", PrefabFile = ".prefab/";

        // Unity's own resources are in these two files, which AssetDatabase knows by these paths.
        private static readonly string[] Files = { "Assets/", "Packages/", Settings, "Resources/unity_builtin_extra", "Library/unity default resources" };

        // How results refer to an object: its place, type and id. Whoever writes one may leave out the id.
        private static readonly Regex Reference = new(@"^(?<place>.+) \((?<type>[A-Za-z_][\w.+]*)(, (?<id>-?\d+))?\)$", RegexOptions.CultureInvariant | RegexOptions.Singleline);

        /// <summary>Finds an asset or a part of one, or an object or a component of an open scene.</summary>
        /// <exception cref="ToolParameterException">There is none, or several have this name.</exception>
        public static FoundObject Find(IToolContext context, string name, string parameter)
        {
            string wanted = name.Trim();
            if (wanted.Length == 0) throw new ToolParameterException(parameter + " is empty");
            // Any text may be an object's name, so what is there by the whole text comes first.
            List<FoundObject> found = ByPlace(context, wanted, "");
            if (found.Count == 0 && Reference.Match(wanted) is { Success: true } parts)
            {
                string place = parts.Groups["place"].Value, type = parts.Groups["type"].Value;
                FoundObject? same = parts.Groups["id"].Success ? context.Get<IObjects>().ById(parts.Groups["id"].Value) : null;
                if (same != null && same.Place == place && IsA(same, type)) return same;
                found = ByPlace(context, place, type);
            }
            if (found.Count == 1) return found[0];
            if (found.Count > 1)
            {
                string candidates = string.Join(", ", found.Take(Limits.SameObjects).Select(f => f.Node != null ? f.Node.Id : f.Reference));
                string more = found.Count > Limits.SameObjects ? ", ..." : "";
                throw new ToolParameterException(found[0].AssetPath.Length > 0 || found[0].Owner != null
                    ? $"Several objects are called {wanted} ({parameter}); name one of {candidates}{more}"
                    : $"Several objects have the path {wanted.Trim('/')} ({parameter}); name one by its id: {candidates}{more}");
            }
            throw new ToolParameterException(IsStable(wanted)
                ? $"There is no object {wanted} ({parameter}). An object of a scene is found only while the scene is open" +
                    // Unity takes instances of prefabs apart when the game starts.
                    (wanted.StartsWith(Global, StringComparison.Ordinal) && context.Get<IEditorState>().Read().IsPlaying
                        ? ". While the game runs, objects of a prefab's instance have other GlobalObjectIds: name it by its path"
                        : "")
                : $"No open scene has an object {wanted} ({parameter}). A path begins at the root, such as World/Player; find-game-objects finds objects by name");
        }

        /// <summary>Finds the import settings of an asset's file.</summary>
        /// <exception cref="ToolParameterException">There is no such asset, or it has none.</exception>
        public static FoundObject Importer(IToolContext context, string name, string parameter)
        {
            FoundObject found = Find(context, name, parameter);
            if (found.IsImporter) return found;
            if (found.AssetPath.Length == 0) throw new ToolParameterException($"{name} is in no asset's file, so nothing imports it ({parameter})");
            return context.Get<IObjects>().Importer(found.AssetPath) ?? throw new ToolParameterException($"{found.AssetPath} has no import settings (Importer)");
        }

        /// <summary>Finds a GameObject: in an open scene, in the prefab that is open, or in a prefab's file. A component stands for its own.</summary>
        /// <exception cref="ToolParameterException">There is none, or several have this path.</exception>
        public static FoundObject Anywhere(IToolContext context, string name, string parameter)
        {
            FoundObject found = Find(context, name, parameter);
            if (found.Owner != null) found = context.Get<IObjects>().Of(found.Owner);
            return found.Node != null ? found : throw new ToolParameterException($"{name} is no GameObject ({parameter})");
        }

        /// <summary>Finds a GameObject that is in an open scene, or in the prefab that is open. A component stands for its own.</summary>
        /// <exception cref="ToolParameterException">There is none, or several have this path.</exception>
        public static FoundObject GameObject(IToolContext context, string name, string parameter)
        {
            FoundObject found = Anywhere(context, name, parameter);
            if (found.AssetPath.Length > 0)
            {
                throw new ToolParameterException($"{name} is a prefab's file ({parameter}). Open it with prefabs and change it there, or name an instance in a scene");
            }
            return found;
        }

        private static bool IsStable(string id) => id.StartsWith(Global, StringComparison.Ordinal) ||
            Files.Any(file => id.StartsWith(file, StringComparison.Ordinal));

        private static bool IsA(FoundObject one, string type) => !one.View.IsMissing && one.View.IsA(type);

        // At most one more than a refusal names. A type may be that of a component, or empty.
        private static List<FoundObject> ByPlace(IToolContext context, string place, string type)
        {
            IObjects objects = context.Get<IObjects>();
            if (IsStable(place))
            {
                List<FoundObject> whole = objects.Find(place) is { } one ? WithType(objects, one, type) : InPrefab(objects, place, type);
                if (whole.Count > 0) return whole;
                if (type.Length > 0 && objects.Importer(place) is { } importer && IsA(importer, type)) return new List<FoundObject> { importer };
                return PartsOf(objects, place, type);
            }
            var found = new List<FoundObject>();
            if (objects.ById(place) is { } same) found.Add(same);
            found.AddRange(SceneWalk.At(context.Get<IScenes>().Open().SelectMany(s => s.Roots), place).Select(objects.Of).Where(f => f.Node!.Id != place));
            return found.SelectMany(f => WithType(objects, f, type)).Take(Limits.SameObjects + 1).ToList();
        }

        // What lies below the root of a prefab's file, by the names on the way.
        private static List<FoundObject> InPrefab(IObjects objects, string place, string type)
        {
            int end = place.IndexOf(PrefabFile, StringComparison.Ordinal) + PrefabFile.Length;
            if (end < PrefabFile.Length || objects.Find(place.Substring(0, end - 1)) is not { Node: { } root }) return new List<FoundObject>();
            return SceneWalk.At(root.Children, place.Substring(end)).Select(objects.Of).SelectMany(f => WithType(objects, f, type)).Take(Limits.SameObjects + 1).ToList();
        }

        private static List<FoundObject> PartsOf(IObjects objects, string place, string type)
        {
            int at = place.LastIndexOf('#');
            if (at <= 0) return new List<FoundObject>();
            string name = place.Substring(at + 1);
            List<FoundObject> all = objects.Parts(place.Substring(0, at)).Where(p => p.Name == name && (type.Length == 0 || IsA(p, type))).ToList();
            // The main object has a name of its own. A GameObject's components have its name.
            List<FoundObject> parts = all.Where(p => p.IsPart && (type.Length > 0 || p.Owner == null)).ToList();
            return (parts.Count > 0 ? parts : all.Where(p => !p.IsPart).ToList()).Take(Limits.SameObjects + 1).ToList();
        }

        // An object itself, or the components of this type that it has.
        private static List<FoundObject> WithType(IObjects objects, FoundObject one, string type) =>
            type.Length == 0 || IsA(one, type) ? new List<FoundObject> { one }
            : (one.Node?.Components ?? Enumerable.Empty<ISceneComponent>()).Where(c => !c.IsMissing && c.IsA(type)).Select(objects.Of).ToList();
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

        /// <summary>The asset that it is, or the part of one, such as Assets/Hero.png#Hero_3; empty for an object of a scene.</summary>
        public string AssetPath { get; set; } = "";

        /// <summary>Describes an object.</summary>
        public static ObjectInfo Of(FoundObject found) => new()
        {
            // Whether Unity finds settings again by such an id, is not known.
            GlobalId = found.IsImporter || found.IsSettings ? "" : found.View.GlobalId, Name = found.Name, AssetPath = found.AssetPath.Length > 0 ? found.Place : "",
            Type = found.View.IsMissing ? "" : found.View.FullTypeName,
            Id = found.AssetPath.Length > 0 ? "" : found.View.Id, Path = found.AssetPath.Length > 0 ? "" : (found.Node ?? found.Owner)?.Path ?? ""
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
