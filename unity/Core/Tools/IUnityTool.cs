#nullable enable
using System;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// A tool that an AI editor can call. A class with <see cref="McpToolAttribute"/> and a constructor without parameters is
    /// found automatically. Usually a tool derives from <see cref="AbstractUnityTool{TSchema,TResponse}"/>.
    /// </summary>
    /// <remarks>One instance serves all calls, and calls of a parallel tool overlap. So do not store the data of a call in
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
        /// <returns>A value that can be written as JSON. If it is an <see cref="IToolContent"/>, it may add images, audio or
        /// text.</returns>
        /// <exception cref="ToolParameterException">The parameters are wrong, and the tool has done nothing.</exception>
        /// <exception cref="OperationCanceledException">The call was cancelled and the tool stopped.</exception>
        Task<object?> ExecuteAsync(JToken? parameters, IToolContext context);
    }

    /// <summary>The name that <see cref="IUnityTool"/> has in older packages. It is kept for tools written for them.</summary>
    public interface IUnityCommand : IUnityTool
    {
    }

    /// <summary>
    /// A tool whose calls continue after a domain reload. While it runs, it saves its state with <see
    /// cref="IToolContext.KeepAcrossReload"/>. If a reload interrupts the call, the next domain calls <see cref="ResumeAsync"/>
    /// with the saved state. The value that this returns is the result of the call.
    /// </summary>
    public interface IResumableTool : IUnityTool
    {
        /// <summary>
        /// Resumes a call that a reload interrupted. Called on the same kind of thread as <see cref="IUnityTool.ExecuteAsync"/>.
        /// </summary>
        /// <param name="kept">The last state that the tool gave to <see cref="IToolContext.KeepAcrossReload"/>.</param>
        /// <param name="context">The context of the resumed call.</param>
        Task<object?> ResumeAsync(JToken kept, IToolContext context);
    }

    /// <summary>
    /// Thrown if the parameters of a call are wrong. The message says which parameter and why. Throw it before the tool does
    /// anything.
    /// </summary>
    public sealed class ToolParameterException : Exception
    {
        /// <summary>Creates the exception with a message for the caller.</summary>
        public ToolParameterException(string message) : base(message)
        {
        }
    }
}
