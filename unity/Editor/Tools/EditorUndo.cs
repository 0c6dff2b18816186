#nullable enable
using System;
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>Implements the port of undo.</summary>
    internal sealed class EditorUndo : IUndo
    {
        public T Group<T>(string name, Func<T> change)
        {
            int step = Begin(name);
            try
            {
                return change();
            }
            catch
            {
                Undo.FlushUndoRecordObjects();
                Undo.RevertAllDownToGroup(step);
                throw;
            }
            finally
            {
                End(step);
            }
        }

        public int Begin(string name)
        {
            // What was recorded before belongs to the step before: Unity looks up what has changed at the end of the frame, or here.
            Undo.FlushUndoRecordObjects();
            Undo.IncrementCurrentGroup();
            Undo.SetCurrentGroupName(name);
            return Undo.GetCurrentGroup();
        }

        // What was recorded belongs to this step. Without the last line, what the user does next could become part of this step.
        public void End(int step)
        {
            Undo.FlushUndoRecordObjects();
            Undo.CollapseUndoOperations(step);
            Undo.IncrementCurrentGroup();
        }

        string? IUndo.Undo() => Moved(Undo.PerformUndo);

        public string? Redo() => Moved(Undo.PerformRedo);

        // Unity tells only by this event whether there was a step, and which. An event without a name after which the same group is the
        // current one was no step.
        private static string? Moved(Action move)
        {
            string? name = null;
            int group = Undo.GetCurrentGroup();
            void Note(in UndoRedoInfo info) => name = info.undoName ?? "";
            Undo.undoRedoEvent += Note;
            try
            {
                move();
            }
            finally
            {
                Undo.undoRedoEvent -= Note;
            }
            return string.IsNullOrEmpty(name) && Undo.GetCurrentGroup() == group ? null : name;
        }
    }
}
