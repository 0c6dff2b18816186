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
            Undo.IncrementCurrentGroup();
            Undo.SetCurrentGroupName(name);
            return Undo.GetCurrentGroup();
        }

        // Without the second line, what the user does next could become part of this step.
        public void End(int step)
        {
            Undo.CollapseUndoOperations(step);
            Undo.IncrementCurrentGroup();
        }

        string? IUndo.Undo() => Moved(Undo.PerformUndo);

        public string? Redo() => Moved(Undo.PerformRedo);

        // Unity tells only by this event whether there was a step, and which.
        private static string? Moved(Action move)
        {
            string? name = null;
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
            return name;
        }
    }
}
