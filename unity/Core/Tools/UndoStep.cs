#nullable enable
using System;

namespace Holdfast
{
    /// <summary>Thrown inside of a step of undo when Unity refuses a change, so that the rest of the step is undone.</summary>
    internal sealed class ChangeRefusedException : Exception
    {
        /// <summary>Creates the exception with a sentence for the caller.</summary>
        public ChangeRefusedException(string message) : base(message)
        {
        }
    }

    /// <summary>Thrown inside of a step of undo when everything was as it was wanted, so that no empty step is left.</summary>
    internal sealed class UnchangedException : Exception
    {
        /// <summary>Creates the exception with a sentence for the caller.</summary>
        public UnchangedException(FoundObject one, string message) : base(message) => One = one;

        /// <summary>The object that was to be changed.</summary>
        public FoundObject One { get; }
    }

    /// <summary>Makes changes as one step that the user can undo.</summary>
    internal static class UndoStep
    {
        /// <summary>
        /// Makes a change of the open scenes, or of the open prefab, and answers with the object that it returns. If Unity refuses it,
        /// nothing is changed.
        /// </summary>
        public static ObjectResponse Run(IToolContext context, string name, Func<(FoundObject? Object, string Message)> change)
        {
            if (OpenPrefab.WhyNotChanged(context) is { } reason) return new ObjectResponse { Message = reason };
            ObjectResponse response = OfAsset(context, name, change);
            if (response.Success && context.Get<IEditorState>().Read().IsPlaying) response.Message += ". The game runs: what changed in the scene is lost when it stops";
            return response;
        }

        /// <summary>Makes a change of an asset.</summary>
        public static ObjectResponse OfAsset(IToolContext context, string name, Func<(FoundObject? Object, string Message)> change)
        {
            try
            {
                var (one, message) = context.Get<IUndo>().Group("AI: " + name, change);
                return new ObjectResponse { Success = true, Message = message, Object = one == null ? null : ObjectInfo.Of(one) };
            }
            catch (UnchangedException e)
            {
                return new ObjectResponse { Success = true, Message = e.Message, Object = ObjectInfo.Of(e.One) };
            }
            catch (Exception e) when (Refusal(e) is { } reason)
            {
                return new ObjectResponse { Message = reason };
            }
        }

        /// <summary>If an exception says that a change is refused: why, as a sentence for the caller.</summary>
        public static string? Refusal(Exception e) =>
            e is ChangeRefusedException ? e.Message
            : e is ArgumentException or InvalidOperationException or NotSupportedException || e.GetType().FullName == "UnityEngine.UnityException"
                ? "Unity refuses: " + e.Message.Replace("\r", "").Replace('\n', ' ').Trim()
            : null;
    }
}
