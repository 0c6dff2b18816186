#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Threading.Tasks;
using Newtonsoft.Json;

namespace Holdfast
{
    /// <summary>What <see cref="ScreenshotTool"/> takes a picture of.</summary>
    internal enum ScreenshotSource
    {
        /// <summary>The game view.</summary>
        Game,

        /// <summary>The scene view.</summary>
        Scene,

        /// <summary>What a camera sees.</summary>
        Camera,

        /// <summary>An editor window.</summary>
        Window
    }

    /// <summary>Parameters of <see cref="ScreenshotTool"/>.</summary>
    internal sealed class ScreenshotSchema : BaseToolSchema
    {
        /// <summary>What to take.</summary>
        [Description("Game (the game view), Scene (the scene view), Camera (what a camera sees, without user interface), or Window (any editor window)")]
        public ScreenshotSource Source { get; set; }

        /// <summary>Which camera or window.</summary>
        [Description("Camera: the GameObject, without it the main camera. Window: the title of its tab, such as Console")]
        public string Name { get; set; } = "";

        /// <summary>Width in pixels.</summary>
        [Description("Width of the picture in pixels; of a window at most this")]
        public int Width { get; set; } = 1024;

        /// <summary>Height in pixels.</summary>
        [Description("Camera: height of the picture in pixels")]
        public int Height { get; set; } = 576;
    }

    /// <summary>Result of <see cref="ScreenshotTool"/>. The picture is a part of its own.</summary>
    internal sealed class ScreenshotResponse : BaseToolResponse, IToolContent
    {
        /// <summary>Whether there is a picture.</summary>
        public bool Success { get; set; }

        /// <summary>The result as a sentence.</summary>
        public string Message { get; set; } = "";

        /// <summary>Width in pixels.</summary>
        public int Width { get; set; }

        /// <summary>Height in pixels.</summary>
        public int Height { get; set; }

        /// <inheritdoc/>
        [JsonIgnore]
        public IReadOnlyList<ToolContent> Content { get; set; } = Array.Empty<ToolContent>();
    }

    /// <summary>Takes a picture.</summary>
    [McpTool(
        Description = "Takes a picture of the game view, the scene view, an editor window, or what a camera sees. A window behind another tab is " +
            "brought to the front. Example: {\"Source\": \"Camera\", \"Name\": \"Main Camera\", \"Width\": 800, \"Height\": 600}",
        Title = "Screenshot", ReadOnly = true)]
    internal sealed class ScreenshotTool : AbstractUnityTool<ScreenshotSchema, ScreenshotResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "screenshot";

        /// <inheritdoc/>
        protected override async Task<ScreenshotResponse> ExecuteAsync(ScreenshotSchema parameters, IToolContext context)
        {
            if (!IsSize(parameters.Width) || !IsSize(parameters.Height)) throw new ToolParameterException($"Width and Height must be {Limits.PictureLeast} to {Limits.PictureSide}");
            IScreen screen = context.Get<IScreen>();
            if (!screen.HasGraphics) return No("This editor has no graphics (-nographics), so there are no pictures");
            if (parameters.Source == ScreenshotSource.Camera)
            {
                FoundObject? one = parameters.Name.Length > 0 ? ObjectFinder.GameObject(context, parameters.Name, "Name") : null;
                return Of(screen.OfCamera(one, parameters.Width, parameters.Height),
                    one == null ? "No camera has the tag MainCamera; name one" : $"{one.Name} has no camera");
            }
            string window = parameters.Source == ScreenshotSource.Window ? parameters.Name : parameters.Source.ToString();
            if (window.Length == 0) throw new ToolParameterException("Name is missing: the title of the window's tab");
            if (!screen.Show(window))
            {
                return No($"No window {window} is open; there are {string.Join(", ", screen.Windows())}" + (parameters.Source == ScreenshotSource.Game ? ". Camera needs no window" : ""));
            }
            // The window draws itself in the next frame, and the frame after that shows it.
            bool measures = screen.BeginMeasuring(window);
            try
            {
                await context.MainThread.Frames(Limits.PictureFrames, context.Cancellation);
            }
            finally
            {
                if (measures) screen.EndMeasuring();
            }
            return Of(screen.OfWindow(window, parameters.Width), "Unity gave no picture of the window; an editor without windows (-batchmode) draws none. Camera needs no window");
        }

        private static bool IsSize(int side) => side >= Limits.PictureLeast && side <= Limits.PictureSide;

        private static ScreenshotResponse Of(Picture? picture, string otherwise) => picture == null ? No(otherwise) : new ScreenshotResponse
        {
            Success = true, Message = $"A picture of {picture.Width} x {picture.Height} pixels" +
                (picture.IsSure ? "" : ". This Unity did not let its pictures of windows be checked: it may be cut off, upside down, or have other colours"), Width = picture.Width, Height = picture.Height,
            Content = new[] { ToolContent.OfImage(picture.Png, "image/png") }
        };

        private static ScreenshotResponse No(string message) => new() { Message = message };
    }
}
