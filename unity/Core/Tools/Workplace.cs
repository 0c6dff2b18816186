#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>
    /// Where GameObjects are changed: in the open scenes or the prefab that is open, or in a prefab's file, which Unity loads for the change
    /// without showing it.
    /// </summary>
    internal sealed class Workplace
    {
        private readonly IPrefabContents? contents;
        private readonly string file;

        private Workplace(IObjectEditor editor, IPrefabContents? contents, string file) => (Editor, this.contents, this.file) = (editor, contents, file);

        /// <summary>Changes the objects.</summary>
        public IObjectEditor Editor { get; }

        /// <summary>Whether the objects are those of a prefab's file.</summary>
        public bool IsFile => contents != null;

        /// <summary>The object that is to be changed, for one that was found by its name.</summary>
        public FoundObject Here(FoundObject found) => contents != null && found.AssetPath == file ? contents.Of(found) : found;

        /// <summary>Puts an instance of a prefab below an object.</summary>
        public FoundObject? Nest(FoundObject prefab, FoundObject parent) => contents!.Instantiate(prefab, parent);

        /// <summary>How tools call an object that is here.</summary>
        public string NameOf(FoundObject here) => contents == null ? (here.Node ?? here.Owner)?.Path ?? here.Name : file + contents.PathBelowRoot(here);

        /// <summary>Finds an object to which one that is here shall refer.</summary>
        /// <exception cref="ToolParameterException">There is none, or it is in a scene and this is a file.</exception>
        public FoundObject Target(IToolContext context, string name)
        {
            FoundObject found = ObjectFinder.Find(context, name, "Properties");
            if (IsFile && found.AssetPath.Length == 0) throw InScene(name);
            return Here(found);
        }

        /// <summary>The refusal of an object of a scene to which a file shall refer.</summary>
        public static ToolParameterException InScene(string name) => new($"{name} is an object of a scene, and no file can refer to one (Properties)");

        /// <summary>
        /// Makes a change where these objects are, as one step of undo, and answers with the object that it returns. If Unity refuses it,
        /// nothing is changed.
        /// </summary>
        /// <param name="context">The call.</param>
        /// <param name="name">The step's name.</param>
        /// <param name="objects">The objects that the caller named; null stands for none.</param>
        /// <param name="change">Makes the change, and says what was done.</param>
        public static ObjectResponse Run(IToolContext context, string name, FoundObject?[] objects, Func<Workplace, (FoundObject? Object, string Message)> change)
        {
            List<FoundObject> named = objects.OfType<FoundObject>().ToList();
            string file = named.Count > 0 ? named[0].AssetPath : "";
            if (named.Find(o => o.AssetPath != file) is { } other)
            {
                throw new ToolParameterException($"{other.Reference} is not {(file.Length > 0 ? "in " + file : "in the open scenes")}, where the other object is");
            }
            if (file.Length == 0) return UndoStep.Run(context, name, () => change(new Workplace(context.Get<IObjectEditor>(), null, "")));
            if (WhyNotChanged(context, file) is { } reason) return new ObjectResponse { Message = reason };
            return UndoStep.OfAsset(context, name, () =>
            {
                string message = "";
                PrefabEdit done = context.Get<IPrefabs>().EditFile(file, contents =>
                {
                    (FoundObject? one, string says) = change(new Workplace(contents.Editor, contents, file));
                    message = says;
                    if (one != null && contents.SourceOf(one) is { Length: > 0 } source) message += $". It belongs to an instance of {source}, which itself stays as it is";
                    return one;
                });
                return (done.Object, message + (!done.HasChanged ? ". The file is as it was" : done.CanBeUndone ? "" : ". In this Unity, Undo does not take it back"));
            });
        }

        private static string? WhyNotChanged(IToolContext context, string file)
        {
            if (!file.EndsWith(".prefab", StringComparison.Ordinal)) return $"{file} is no prefab; of a model, change an instance, or a prefab that is made of one";
            if (!file.StartsWith("Assets/", StringComparison.Ordinal)) return $"{file} belongs to a package and is not changed; copy it below Assets/ with edit-asset";
            // Unity would ask what to do with the changes that are in memory.
            if (context.Get<IPrefabs>().OpenPath == file) return $"{file} is open: change what is open, by its path in the hierarchy, or close it first, with prefabs";
            return AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, file) ? $"{file} is read-only; check it out or make it writable first" : null;
        }
    }
}
