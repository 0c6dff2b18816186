// Stubs of Undo and of the selection. Signatures are Unity's.
using System;
using System.Collections.Generic;
using System.Linq;
using EditorHost;
using UnityEngine;
using Object = UnityEngine.Object;

namespace UnityEditor
{
    public class Undo
    {
        private static readonly Stack<Step> Done = new();
        private static readonly Stack<Step> Undone = new();
        private static int group;

        public static int GetCurrentGroup() => group;

        public static void IncrementCurrentGroup() => group++;

        public static void SetCurrentGroupName(string name) => Named[group] = name;

        public static string GetCurrentGroupName() => Named.TryGetValue(group, out string name) ? name : "";

        private static Dictionary<int, string> Named { get; } = new();

        public static void RegisterCreatedObjectUndo(Object objectToUndo, string name)
        {
            var made = (GameObject)objectToUndo;
            Dirty(made);
            (Transform above, int index) = (made.transform.parent, made.transform.GetSiblingIndex());
            Add(made.Leave, () => made.transform.Put(above, index));
        }

        public static void DestroyObjectImmediate(Object objectToUndo)
        {
            if (objectToUndo is GameObject one)
            {
                Dirty(one);
                (Transform above, int index) = (one.transform.parent, one.transform.GetSiblingIndex());
                one.Leave();
                Add(() => one.transform.Put(above, index), one.Leave);
                return;
            }
            var component = (Component)objectToUndo;
            Dirty(component.gameObject);
            int at = component.gameObject.Remove(component);
            Add(() => component.gameObject.Add(component, at), () => component.gameObject.Remove(component));
        }

        public static Component AddComponent(GameObject gameObject, Type type)
        {
            // What the inspector does: whether this call does too, is not known.
            bool twice = gameObject.Components.Any(c => c.GetType() == type) && (type.Name == "Rigidbody" || type.IsDefined(typeof(DisallowMultipleComponent), false));
            bool mixed = type.Name == "Rigidbody2D" && gameObject.Components.Any(c => c is Rigidbody);
            if (twice || mixed)
            {
                Dialogs.Show("Can't add the same component multiple times");
                return null;
            }
            var made = (Component)Activator.CreateInstance(type, true);
            gameObject.Add(made);
            (made as MonoBehaviour)?.Added();
            Dirty(gameObject);
            Add(() => gameObject.Remove(made), () => gameObject.Add(made));
            return made;
        }

        public static void RegisterCompleteObjectUndo(Object objectToUndo, string name)
        {
            (object, Dictionary<string, object>) before = (objectToUndo.State, new(objectToUndo.Values)), after = default;
            void Put((object, Dictionary<string, object>) state)
            {
                objectToUndo.Values = state.Item2;
                objectToUndo.State = state.Item1;
                SettingsFiles.Changed(objectToUndo);
            }
            Dirty(objectToUndo as GameObject ?? (objectToUndo as Component)?.gameObject);
            Add(() =>
            {
                after = (objectToUndo.State, new(objectToUndo.Values));
                Put(before);
            }, () => Put(after));
        }

        // The file with the settings of an asset as it was; undo imports the asset with them.
        public static void RegisterImporterUndo(string path, string name)
        {
            string meta = path + ".meta", before = SettingsFiles.TextOf(meta), after = "";
            void Back(string text)
            {
                after = SettingsFiles.TextOf(meta);
                SettingsFiles.Reload(meta, text);
                AssetDatabase.ImportAsset(path);
            }
            string changed = null;
            Add(() =>
            {
                Back(before);
                changed = after;
            }, () => Back(changed));
        }

        // As in Unity, the file is written and imported.
        internal static void RegisterFileChangeUndo(GUID prefabToUndo, byte[] oldFileContent, byte[] newFileContent)
        {
            void Write(byte[] content)
            {
                System.IO.File.WriteAllBytes(AssetFiles.Full(prefabToUndo.Text), content);
                PrefabUtility.Renew(prefabToUndo.Text);
            }
            Add(() => Write(oldFileContent), () => Write(newFileContent));
        }

        public static void MoveGameObjectToScene(GameObject go, UnityEngine.SceneManagement.Scene scene, string name)
        {
            if (go.transform.parent != null) throw new ArgumentException("Gameobject is not a root in a scene");
            (UnityEngine.SceneManagement.SceneModel from, int index) = (go.Home, go.transform.GetSiblingIndex());
            void Move(UnityEngine.SceneManagement.SceneModel to, int at)
            {
                Dirty(go);
                go.Into(to);
                go.transform.Put(null, at);
                Dirty(go);
            }
            Move(scene.Model, -1);
            Add(() => Move(from, index), () => Move(scene.Model, -1));
        }

        // As Unity's manual says, what has changed is looked up at the end of the frame, or by FlushUndoRecordObjects. It becomes part of
        // the step that is the current one then. Overrides of a prefab's instance are
        // noted at the end of the frame, if at all.
        public static void RecordObject(Object objectToUndo, string name)
        {
            Dirty(objectToUndo as GameObject ?? (objectToUndo as Component)?.gameObject);
            if (!Recorded.Any(r => r.One == objectToUndo)) Recorded.Add((objectToUndo, objectToUndo.State));
        }

        public static void FlushUndoRecordObjects()
        {
            foreach ((Object one, object before) in Recorded)
            {
                object after = one.State;
                if (Equals(before, after)) continue;
                Add(() => Set(one, before), () => Set(one, after));
            }
            Recorded.Clear();
        }

        private static void Set(Object one, object state)
        {
            one.State = state;
            PrefabUtility.RecordPrefabInstancePropertyModifications(one);
        }

        private static readonly List<(Object One, object Before)> Recorded = new();

        public static void SetTransformParent(Transform transform, Transform newParent, bool worldPositionStays, string name)
        {
            (Transform above, int index, Vector3 local, Vector3 world) =
                (transform.parent, transform.GetSiblingIndex(), transform.localPosition, transform.position);
            transform.Put(newParent, -1);
            if (worldPositionStays) transform.position = world;
            PrefabUtility.RecordPrefabInstancePropertyModifications(transform);
            Vector3 moved = transform.localPosition;
            Dirty(transform.gameObject);
            Add(() => (transform.localPosition, _) = (local, Put(transform, above, index)),
                () => (transform.localPosition, _) = (moved, Put(transform, newParent, -1)));
        }

#if UNITY_6000_0_OR_NEWER
        // Not in 2022.3.0f1 to 2022.3.4f1.
        public static void SetSiblingIndex(Transform transform, int siblingIndex, string name)
        {
            int before = transform.GetSiblingIndex();
            transform.Put(transform.parent, siblingIndex);
            Add(() => transform.Put(transform.parent, before), () => transform.Put(transform.parent, siblingIndex));
        }
#endif

        public static void RegisterChildrenOrderUndo(Object objectToUndo, string name)
        {
            Transform parent = (Transform)objectToUndo ?? throw new ArgumentNullException(nameof(objectToUndo));
            Transform[] before = parent.Below.ToArray(), after = null;
            Add(() =>
            {
                after = parent.Below.ToArray();
                foreach (Transform one in before) one.Put(parent, -1);
            }, () =>
            {
                foreach (Transform one in after) one.Put(parent, -1);
            });
        }

        public static void CollapseUndoOperations(int groupIndex)
        {
            foreach (Step step in Done.Concat(Undone).Where(s => s.Group > groupIndex)) step.Group = groupIndex;
        }

        public static void RevertAllDownToGroup(int group)
        {
            while (Done.Count > 0 && Done.Peek().Group >= group) Done.Pop().Back();
        }

        public delegate void UndoRedoEventCallback(in UndoRedoInfo undo);

        public static UndoRedoEventCallback undoRedoEvent;

        public static void PerformUndo() => Move(Done, Undone, s => s.Back);

        public static void PerformRedo() => Move(Undone, Done, s => s.Again);

        internal static void Add(Action back, Action again)
        {
            Undone.Clear();
            Done.Push(new Step { Group = group, Back = back, Again = again });
        }

        internal static void Dirty(GameObject one)
        {
            if (one?.Home != null) one.Home.Dirty = true;
        }

        private static bool Put(Transform one, Transform above, int index)
        {
            one.Put(above, index);
            return true;
        }

        private static void Move(Stack<Step> from, Stack<Step> to, Func<Step, Action> what)
        {
            if (from.Count == 0)
            {
                if (Native.Current.Flag("undoTellsAlways")) undoRedoEvent?.Invoke(new UndoRedoInfo { undoName = "" });
                return;
            }
            int moved = from.Peek().Group;
            while (from.Count > 0 && from.Peek().Group == moved)
            {
                Step step = from.Pop();
                what(step)();
                to.Push(step);
            }
            undoRedoEvent?.Invoke(new UndoRedoInfo { undoName = Named.TryGetValue(moved, out string name) ? name : "" });
        }

        private sealed class Step
        {
            public int Group;
            public Action Back;
            public Action Again;
        }
    }

    public struct UndoRedoInfo
    {
        public string undoName;
    }

#if UNITY_6000_0_OR_NEWER
    public sealed class GameObjectUtility
    {
        public static GameObject DuplicateGameObject(GameObject gameObject) => Unsupported.Duplicate(gameObject);
    }
#endif

    public static class Unsupported
    {
        public static void DuplicateGameObjectsUsingPasteboard() =>
            Selection.objects = Selection.objects.OfType<GameObject>().Select(o => (Object)Duplicate(o)).ToArray();

        internal static GameObject Duplicate(GameObject one)
        {
            GameObject copy = one.Copy();
            // A copy of an instance is an instance of the same prefab.
            foreach (var (made, from) in copy.Parts().Zip(one.Parts(), (made, from) => (made, from)).ToList()) made.Source = from.Source;
            copy.Prefab = one.Prefab;
            copy.name += " (1)";
            if (one.transform.parent != null) copy.Under(one.transform.parent.gameObject);
            else copy.Into(one.Home);
            Undo.RegisterCreatedObjectUndo(copy, "Duplicate");
            return copy;
        }
    }

    public sealed class Selection
    {
        public static Object[] objects { get; set; } = Array.Empty<Object>();
    }
}
