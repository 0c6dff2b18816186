#nullable enable
using System;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// A tool that an AI editor can call. A class with <see cref="McpToolAttribute"/> and a constructor without parameters is
    /// found automatically. Most tools derive from <see cref="AbstractUnityTool{TSchema,TResponse}"/>.
    /// </summary>
    /// <remarks>One instance serves every call, and calls of a parallel tool overlap: do not store the data of a call in
    /// fields.</remarks>
    public interface IUnityTool
    {
        /// <summary>The tool's name on the wire: <c>[A-Za-z0-9_-]{1,48}</c>, unique in the project.</summary>
        string ToolName { get; }

        /// <summary>The type whose public properties are the parameters; null if the tool takes none.</summary>
        Type? ParametersType { get; }

        /// <summary>Runs the tool, on the main thread unless <see cref="McpToolAttribute.OffMainThread"/> is set.</summary>
        /// <param name="parameters">The arguments that the caller sent: an object, or null.</param>
        /// <param name="context">The call: cancellation, progress, and ports.</param>
        /// <returns>A value that can be written as JSON; an <see cref="IToolContent"/> may add images.</returns>
        /// <exception cref="ToolParameterException">The parameters are wrong; nothing ran.</exception>
        /// <exception cref="OperationCanceledException">The call was cancelled and the tool stopped.</exception>
        Task<object?> ExecuteAsync(JToken? parameters, IToolContext context);
    }

    /// <summary>The name of the interface in older packages; the same as <see cref="IUnityTool"/>.</summary>
    public interface IUnityCommand : IUnityTool
    {
    }

    /// <summary>
    /// A tool whose calls continue after a domain reload. It calls <see cref="IToolContext.KeepAcrossReload"/> while it runs. If
    /// a reload cuts the call, the next domain calls <see cref="ResumeAsync"/> with the saved state, and its return value is the
    /// result of the call.
    /// </summary>
    public interface IResumableTool : IUnityTool
    {
        /// <summary>
        /// Resumes a call that a reload cut. Called on the same kind of thread as <see cref="IUnityTool.ExecuteAsync"/>.
        /// </summary>
        /// <param name="kept">The last state that the tool gave to <see cref="IToolContext.KeepAcrossReload"/>.</param>
        /// <param name="context">The context of the resumed call.</param>
        Task<object?> ResumeAsync(JToken kept, IToolContext context);
    }

    /// <summary>
    /// The parameters of a call are wrong; the message tells which and why. Throw it before the tool does anything.
    /// </summary>
    public sealed class ToolParameterException : Exception
    {
        /// <summary>Creates the exception with a message for the caller.</summary>
        public ToolParameterException(string message) : base(message)
        {
        }
    }
}
