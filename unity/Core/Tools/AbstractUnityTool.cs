#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Threading;
using System.Threading.Tasks;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

namespace Holdfast
{
    /// <summary>
    /// Base class for a tool's parameters, with a time limit, which a call may give and no schema lists. A tool need not use it.
    /// </summary>
    public class BaseToolSchema
    {
        /// <summary>
        /// Seconds after which the call is cancelled; 0 means never. A subclass can override it with another default.
        /// </summary>
        [Description("Seconds after which the tool is cancelled; 0: never")]
        public virtual int TimeoutSeconds { get; set; } = 15;
    }

    /// <summary>
    /// Base class for a tool's result, with the times of the run. They are filled in after the tool has returned, for clients of
    /// uLoopMCP's protocol only, which have them in every result. A tool need not use it.
    /// </summary>
    public class BaseToolResponse
    {
        /// <summary>When the tool began, in local time without a zone.</summary>
        [JsonProperty(Order = 1000, NullValueHandling = NullValueHandling.Ignore)]
        public string? StartedAt { get; set; }

        /// <summary>When the tool ended, in local time without a zone.</summary>
        [JsonProperty(Order = 1001, NullValueHandling = NullValueHandling.Ignore)]
        public string? EndedAt { get; set; }

        /// <summary>How long the tool ran, in milliseconds.</summary>
        [JsonProperty(Order = 1002)]
        public long ExecutionTimeMs { get; set; }

        /// <summary>Whether the duration is in the JSON. Newtonsoft asks by this name. A duration of 0 is one, so it is no default.</summary>
        public bool ShouldSerializeExecutionTimeMs() => StartedAt != null || ExecutionTimeMs != 0;
    }

    /// <summary>A tool with typed parameters and a typed result. Override one of the two <c>ExecuteAsync</c> methods.</summary>
    /// <typeparam name="TSchema">The type of the parameters. Each public property is a parameter; its value after <c>new()</c> is
    /// the default.</typeparam>
    /// <typeparam name="TResponse">The type of the result.</typeparam>
    public abstract class AbstractUnityTool<TSchema, TResponse> : IUnityTool
        where TSchema : class, new()
        where TResponse : class
    {
        /// <inheritdoc/>
        public abstract string ToolName { get; }

        /// <inheritdoc/>
        public Type? ParametersType => typeof(TSchema);

        /// <summary>Runs the tool. Override this form if the tool only needs cancellation.</summary>
        protected virtual Task<TResponse> ExecuteAsync(TSchema parameters, CancellationToken cancellationToken) =>
            throw new NotImplementedException(GetType().FullName + " overrides none of the two ExecuteAsync");

        /// <summary>Runs the tool. Override this form if the tool needs the call's context.</summary>
        protected virtual Task<TResponse> ExecuteAsync(TSchema parameters, IToolContext context) =>
            ExecuteAsync(parameters, context.Cancellation);

        async Task<object?> IUnityTool.ExecuteAsync(JToken? parameters, IToolContext context) =>
            await ExecuteAsync(ToolParameters.Read<TSchema>(ToolName, parameters), context);
    }

    /// <summary>
    /// The name that <see cref="AbstractUnityTool{TSchema,TResponse}"/> has in older packages. It is kept for tools written for
    /// them.
    /// </summary>
    public abstract class AbstractUnityCommand<TSchema, TResponse> : AbstractUnityTool<TSchema, TResponse>, IUnityCommand
        where TSchema : class, new()
        where TResponse : class
    {
        /// <summary>The tool's name.</summary>
        public abstract string CommandName { get; }

        /// <inheritdoc/>
        public sealed override string ToolName => CommandName;
    }

    /// <summary>
    /// A result that also has text, image or audio parts, sent in addition to its JSON to callers that accept them.
    /// </summary>
    public interface IToolContent
    {
        /// <summary>The parts, in order. Mark the property <c>[JsonIgnore]</c>, so that the JSON does not repeat them.</summary>
        IReadOnlyList<ToolContent> Content { get; }
    }

    /// <summary>One part of a result, as MCP defines it.</summary>
    public sealed class ToolContent
    {
        private ToolContent(string type, string? text, string? mimeType, byte[]? data)
        {
            Type = type;
            Text = text;
            MimeType = mimeType;
            Data = data;
        }

        /// <summary>Type of the part: <c>text</c>, <c>image</c> or <c>audio</c>.</summary>
        public string Type { get; }

        /// <summary>The text; null for other types.</summary>
        public string? Text { get; }

        /// <summary>The media type of an image or sound, such as <c>image/png</c>; null for a text.</summary>
        public string? MimeType { get; }

        /// <summary>The bytes of an image or sound; null for a text.</summary>
        public byte[]? Data { get; }

        /// <summary>Creates a text part.</summary>
        public static ToolContent OfText(string text) => new("text", text, null, null);

        /// <summary>Creates an image part.</summary>
        public static ToolContent OfImage(byte[] data, string mimeType) => new("image", null, mimeType, data);

        /// <summary>Creates an audio part.</summary>
        public static ToolContent OfAudio(byte[] data, string mimeType) => new("audio", null, mimeType, data);
    }
}
