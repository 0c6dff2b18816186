#nullable enable
using System;
using System.Collections.Generic;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>Unity's objects: assets, GameObjects and components. Main thread.</summary>
    internal interface IObjects
    {
        /// <summary>
        /// Finds the main object of an asset by its path, or any object by its GlobalObjectId. Returns null if there is none, for
        /// instance since the object is in a scene that is not open.
        /// </summary>
        FoundObject? Find(string id);

        /// <summary>
        /// Finds any object by its id in this session. Returns null if there is none, or if it is in a scene that tools do not see.
        /// </summary>
        FoundObject? ById(string id);

        /// <summary>Everything in an asset's file, such as the sprites of a texture; empty if there is no such file, and for a
        /// scene.</summary>
        IReadOnlyList<FoundObject> Parts(string path);

        /// <summary>The import settings of an asset's file; null if it has none.</summary>
        FoundObject? Importer(string path);

        /// <summary>The object that a component of a GameObject is.</summary>
        FoundObject Of(ISceneComponent component);

        /// <summary>The object that a GameObject of an open scene is.</summary>
        FoundObject Of(ISceneNode node);

        /// <summary>The first objects that are selected in the editor.</summary>
        /// <param name="most">Maximum number of them.</param>
        /// <param name="count">Number of all that are selected.</param>
        IReadOnlyList<FoundObject> Selected(int most, out int count);

        /// <summary>Selects objects in the editor, and nothing else.</summary>
        void Select(IReadOnlyList<FoundObject> objects);
    }

    /// <summary>An object that was found.</summary>
    /// <param name="Name">Name of the object.</param>
    /// <param name="AssetPath">The asset that it is or is part of; empty for an object of a scene.</param>
    /// <param name="Node">The GameObject, if it is one; otherwise null.</param>
    /// <param name="View">Its type and its properties. Of a component it has the component's.</param>
    internal sealed record FoundObject(string Name, string AssetPath, ISceneNode? Node, ISceneComponent View)
    {
        /// <summary>Whether it is one part of an asset and not the asset's main object.</summary>
        public bool IsPart { get; init; }

        /// <summary>The GameObject of a component; null of everything else.</summary>
        public ISceneNode? Owner { get; init; }

        /// <summary>Whether it is the import settings of an asset's file.</summary>
        public bool IsImporter { get; init; }

        /// <summary>Whether it is a part of the project's settings.</summary>
        public bool IsSettings => AssetPath.StartsWith("ProjectSettings/", StringComparison.Ordinal);

        /// <summary>Of an object in a prefab's file: the names from below the root to it, joined with '/'. Otherwise empty.</summary>
        public string Inside { get; init; } = "";

        /// <summary>
        /// A text by which every tool finds it again: the path of an asset; otherwise the path in the hierarchy, or the file and
        /// the part's name, with type and id. An object that is in no scene and no file has its name there.
        /// </summary>
        public string Reference => AssetPath.Length > 0 && !IsPart && !IsImporter ? AssetPath
            : $"{Place} ({(View.IsMissing ? "" : View.TypeName)}, {View.Id})";

        /// <summary>The part of <see cref="Reference"/> without type and id.</summary>
        public string Place => Inside.Length > 0 ? AssetPath + "/" + Inside
            : AssetPath.Length > 0 ? IsPart && Node == null && Owner == null ? AssetPath + "#" + Name : AssetPath
            : (Node ?? Owner)?.Path is { Length: > 0 } path ? path : Name;
    }

    /// <summary>
    /// Changes the objects of the open scenes, or of the prefab that is open. Main thread. The user can undo every change.
    /// </summary>
    internal interface IObjectEditor
    {
        /// <summary>
        /// Creates a GameObject as Unity's menu does: at its parent's place and in its layer, and with a RectTransform if the parent has one.
        /// </summary>
        /// <param name="name">Its name.</param>
        /// <param name="primitive">Name of one of Unity's primitive shapes; empty for an object without a shape.</param>
        /// <param name="parent">The object below which it is put; null for none, or for the root of the open prefab.</param>
        /// <param name="isFlat">Whether it has a RectTransform in any case.</param>
        FoundObject Create(string name, string primitive, FoundObject? parent, bool isFlat = false);

        /// <summary>The GameObject above another one; null if there is none.</summary>
        ISceneNode? ParentOf(ISceneNode one);

        /// <summary>Copies a GameObject with all that is below it, to the end of the same parent.</summary>
        FoundObject Duplicate(FoundObject one);

        /// <summary>Deletes a GameObject with all that is below it.</summary>
        void Delete(FoundObject one);

        /// <summary>Sets what is not null.</summary>
        /// <returns>False if everything was like this already.</returns>
        bool Change(FoundObject one, ObjectChange change);

        /// <summary>Puts a GameObject below another one, or below none, without moving it in the world.</summary>
        /// <returns>Whether it was there already, or is there now. Unity does not move a part of a prefab's instance.</returns>
        MoveResult Reparent(FoundObject one, FoundObject? parent);

        /// <summary>Puts a GameObject into an open scene, below none there, without moving it in the world.</summary>
        /// <returns>As of <see cref="Reparent"/>.</returns>
        MoveResult MoveToScene(FoundObject one, string scenePath);

        /// <summary>Whether the second object is the first one, or lies below it.</summary>
        bool Contains(FoundObject one, FoundObject other);

        /// <summary>Full names of the component types that have this name, with or without namespace.</summary>
        IReadOnlyList<string> ComponentTypes(string name);

        /// <summary>Adds a component. Returns null if Unity does not allow it.</summary>
        /// <exception cref="ChangeRefusedException">There may be only one of them, or another component forbids it.</exception>
        ISceneComponent? AddComponent(FoundObject one, string fullTypeName);

        /// <summary>Removes a component.</summary>
        /// <returns>False if Unity does not allow it, for instance since another component needs it.</returns>
        bool RemoveComponent(FoundObject one, ISceneComponent component);

        /// <summary>Sets serialised properties, all of them or none. Import settings are not imported by this.</summary>
        /// <param name="target">The component or asset.</param>
        /// <param name="values">The values by the property's path, such as m_Mass or items.Array.data[0].</param>
        /// <param name="find">Finds the object to which a property shall refer.</param>
        /// <returns>False if it had these values already.</returns>
        /// <exception cref="ToolParameterException">A property is not there, or does not take the value. Nothing was changed.</exception>
        bool Set(ISceneComponent target, JObject values, Func<string, FoundObject> find);
    }

    /// <summary>What became of a GameObject that was to be put somewhere.</summary>
    internal enum MoveResult
    {
        /// <summary>Unity does not allow it.</summary>
        Refused,

        /// <summary>It was there already.</summary>
        WasThere,

        /// <summary>It is there now.</summary>
        Moved
    }

    /// <summary>What is to be changed of a GameObject.</summary>
    internal sealed record ObjectChange
    {
        /// <summary>The new name.</summary>
        public string? Name { get; init; }

        /// <summary>Whether it is switched on.</summary>
        public bool? Active { get; init; }

        /// <summary>The new tag.</summary>
        public string? Tag { get; init; }

        /// <summary>Name of the new layer.</summary>
        public string? Layer { get; init; }

        /// <summary>The place among its siblings, from 0.</summary>
        public int? Index { get; init; }

        /// <summary>Whether position and rotation are those of the world. Otherwise they are relative to the parent.</summary>
        public bool InWorld { get; init; }

        /// <summary>The position: x, y, z.</summary>
        public double[]? Position { get; init; }

        /// <summary>The rotation in degrees around x, y, z.</summary>
        public double[]? Rotation { get; init; }

        /// <summary>The scale, relative to the parent: x, y, z.</summary>
        public double[]? Scale { get; init; }
    }

    /// <summary>What the user can undo. Main thread.</summary>
    internal interface IUndo
    {
        /// <summary>
        /// Makes changes which the user undoes in one step. If the action throws, what it did is undone. May be nested.
        /// </summary>
        /// <param name="name">The step's name in Unity's Edit menu.</param>
        /// <param name="change">Makes the changes.</param>
        T Group<T>(string name, Func<T> change);

        /// <summary>Begins a step to which all later changes belong until <see cref="End"/>.</summary>
        int Begin(string name);

        /// <summary>Ends a step.</summary>
        void End(int step);

        /// <summary>Undoes one step.</summary>
        /// <returns>The name of the step; null if there is none.</returns>
        string? Undo();

        /// <summary>Does again what was undone.</summary>
        /// <returns>The name of the step; null if there is none.</returns>
        string? Redo();
    }
}
