#nullable enable
using System;
using System.Threading.Tasks;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Something that an AI editor can call. Give the class an <see cref="McpToolAttribute"/> and a constructor without
    /// parameters, and it is found by itself; most tools derive from <see cref="AbstractUnityTool{TSchema,TResponse}"/>.
    /// </summary>
    /// <remarks>One instance serves every call, and calls may overlap if the tool says so: keep nothing in fields that
    /// belongs to one call.</remarks>
    public interface IUnityTool
    {
        /// <summary>Its name on the wire: <c>[A-Za-z0-9_-]{1,48}</c>, unique in the project.</summary>
        string ToolName { get; }

        /// <summary>The type whose public properties are its parameters; null if it takes none.</summary>
        Type? ParametersType { get; }

        /// <summary>
        /// Runs the tool. Called on the main thread, unless the attribute says otherwise.
        /// </summary>
        /// <param name="parameters">What the caller sent: an object, or null.</param>
        /// <param name="context">The call: its cancellation, progress, services.</param>
        /// <returns>Anything that can be written as JSON; an <see cref="IToolContent"/> may add images.</returns>
        /// <exception cref="ToolParameterException">The parameters are wrong; nothing ran.</exception>
        /// <exception cref="OperationCanceledException">The call was cancelled and the tool stopped.</exception>
        Task<object?> ExecuteAsync(JToken? parameters, IToolContext context);
    }

    /// <summary>The name that tools had in older packages; the same as <see cref="IUnityTool"/>.</summary>
    public interface IUnityCommand : IUnityTool
    {
    }

    /// <summary>
    /// A tool whose work goes on after a domain reload. It calls <see cref="IToolContext.KeepAcrossReload"/> while it
    /// runs; if a reload cuts it, <see cref="ResumeAsync"/> is called in the next domain with what it kept, and what that
    /// returns is the result of the call.
    /// </summary>
    public interface IResumableTool : IUnityTool
    {
        /// <summary>Goes on with a call that a reload cut. Called on the main thread, after the editor has settled.</summary>
        /// <param name="kept">What the tool gave to <see cref="IToolContext.KeepAcrossReload"/> last.</param>
        /// <param name="context">The same call.</param>
        Task<object?> ResumeAsync(JToken kept, IToolContext context);
    }

    /// <summary>The parameters of a call are wrong. Thrown before anything ran; the message says which and why.</summary>
    public sealed class ToolParameterException : Exception
    {
        /// <summary>With a text for the caller.</summary>
        public ToolParameterException(string message) : base(message)
        {
        }
    }
}
