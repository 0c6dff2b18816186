#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Globalization;
using System.Linq;
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
        Window,

        /// <summary>A GameObject, from one or several sides.</summary>
        Object
    }

    /// <summary>Parameters of <see cref="ScreenshotTool"/>.</summary>
    internal sealed class ScreenshotSchema : BaseToolSchema
    {
        /// <summary>What to take.</summary>
        [Description("Game (the game view), Scene (the scene view), Camera (what a camera sees, without user interface), Window (any editor window), or " +
            "Object (a GameObject that fills the picture; the scene view does not move)")]
        public ScreenshotSource Source { get; set; }

        /// <summary>Which camera, window or object.</summary>
        [Description("Camera: the GameObject, without it the main camera. Window: the title of its tab, such as Console. Object: the GameObject")]
        public string Name { get; set; } = "";

        /// <summary>The sides from which an object is seen.</summary>
        [Description("Object: one picture from each of these sides of the world; Angle is from above, in front and right")]
        public ViewSide[] Sides { get; set; } = { ViewSide.Angle };

        /// <summary>The resolutions at which the game is shown.</summary>
        [Description("Game: a picture at each of these resolutions, such as 1920x1080, with user interface")]
        public string[]? Sizes { get; set; }

        /// <summary>Width in pixels.</summary>
        [Description("Width of the picture in pixels; of a window, and of the longer side with Sizes, at most this")]
        public int Width { get; set; } = 1024;

        /// <summary>Height in pixels.</summary>
        [Description("Camera, Object: height of the picture in pixels")]
        public int Height { get; set; } = 576;

        /// <summary>The part to show.</summary>
        [Description("Only this part, a window's at full size: left, top, width, height, each 0 to 1 of the whole picture")]
        public double[]? Region { get; set; }
    }

    /// <summary>Where a picture of an object was taken from.</summary>
    /// <param name="Side">The side.</param>
    /// <param name="Position">Where the camera stood.</param>
    /// <param name="Rotation">How it looked, in degrees around x, y and z.</param>
    internal sealed record ScreenshotView(string Side, IReadOnlyList<double> Position, IReadOnlyList<double> Rotation);

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

        /// <summary>The places of the pictures of an object, in the order of the pictures; null for other pictures.</summary>
        [JsonProperty(NullValueHandling = NullValueHandling.Ignore)]
        public IReadOnlyList<ScreenshotView>? Views { get; set; }

        /// <inheritdoc/>
        [JsonIgnore]
        public IReadOnlyList<ToolContent> Content { get; set; } = Array.Empty<ToolContent>();
    }

    /// <summary>Takes a picture.</summary>
    [McpTool(
        Description = "Takes a picture of the game view (also at other resolutions), the scene view, an editor window, what a camera sees, or one GameObject from several sides. A " +
            "window behind another tab is brought to the front. Example: {\"Source\": \"Object\", \"Name\": \"World/Player\", \"Sides\": [\"Front\", \"Top\"], \"Width\": 640, \"Height\": 480}",
        Title = "Screenshot", ReadOnly = true)]
    internal sealed class ScreenshotTool : AbstractUnityTool<ScreenshotSchema, ScreenshotResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "screenshot";

        /// <inheritdoc/>
        protected override async Task<ScreenshotResponse> ExecuteAsync(ScreenshotSchema parameters, IToolContext context)
        {
            Check(parameters);
            IScreen screen = context.Get<IScreen>();
            if (!screen.HasGraphics) return No("This editor has no graphics (-nographics), so there are no pictures");
            var frame = new PictureFrame(parameters.Width, parameters.Height, parameters.Region, Limits.PictureBytes);
            if (parameters.Source == ScreenshotSource.Object) return OfObject(parameters, frame, context);
            if (parameters.Source == ScreenshotSource.Camera)
            {
                FoundObject? one = parameters.Name.Length > 0 ? ObjectFinder.GameObject(context, parameters.Name, "Name") : null;
                return screen.OfCamera(one, frame) is { } picture ? Of(new[] { picture }, "")
                    : No((one == null ? "No camera has the tag MainCamera; name one" : $"{one.Name} has no camera") + Cameras(context));
            }
            if (parameters.Sizes != null) return await OfSizes(parameters.Sizes.Select(Size).ToList(), frame, context);
            string window = parameters.Source == ScreenshotSource.Window ? parameters.Name : parameters.Source.ToString();
            if (window.Length == 0) throw new ToolParameterException("Name is missing: the title of the window's tab");
            if (screen.Show(window) is not { } wasBehind)
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
            return screen.OfWindow(window, frame) is { } seen ? Of(new[] { seen }, Behind(wasBehind))
                : No("Unity gave no picture of the window; an editor without windows (-batchmode) draws none. Camera needs no window");
        }

        private static void Check(ScreenshotSchema parameters)
        {
            if (!IsSize(parameters.Width) || !IsSize(parameters.Height)) throw new ToolParameterException($"Width and Height must be {Limits.PictureLeast} to {Limits.PictureSide}");
            if (parameters.Region is { } region && (region.Length != 4 || region.Any(r => !(r >= 0 && r <= 1)) || region[2] <= 0 || region[3] <= 0 ||
                region[0] + region[2] > 1.000001 || region[1] + region[3] > 1.000001))
            {
                throw new ToolParameterException("Region must be left, top, width and height, each from 0 to 1, and lie within the picture, such as [0.5, 0, 0.5, 0.5] for its upper right quarter");
            }
            if (parameters.Sizes is { } sizes)
            {
                if (parameters.Source != ScreenshotSource.Game) throw new ToolParameterException("Sizes are for Game only");
                if (sizes.Length == 0 || sizes.Length > Limits.GameSizes) throw new ToolParameterException($"Sizes has 1 to {Limits.GameSizes} resolutions");
                foreach (string size in sizes) Size(size);
            }
            if (parameters.Source != ScreenshotSource.Object) return;
            if (parameters.Name.Length == 0) throw new ToolParameterException("Name is missing: the GameObject");
            if (parameters.Sides.Length == 0 || parameters.Sides.Distinct().Count() != parameters.Sides.Length)
            {
                throw new ToolParameterException("Sides must name at least one side, and none twice");
            }
        }

        private static (int Width, int Height) Size(string text)
        {
            string[] sides = text.Split('x');
            bool IsSide(string side, out int pixels) => int.TryParse(side, NumberStyles.None, CultureInfo.InvariantCulture, out pixels) && pixels >= Limits.PictureLeast && pixels <= Limits.GameSide;
            return sides.Length == 2 && IsSide(sides[0], out int width) && IsSide(sides[1], out int height) ? (width, height)
                : throw new ToolParameterException($"Sizes has resolutions such as 1920x1080, of {Limits.PictureLeast} to {Limits.GameSide} pixels a side, and {text} is none");
        }

        private static async Task<ScreenshotResponse> OfSizes(IReadOnlyList<(int Width, int Height)> sizes, PictureFrame frame, IToolContext context)
        {
            IScreen screen = context.Get<IScreen>();
            if (screen.Show("Game") is not { } wasBehind) return No($"No game view is open; there are {string.Join(", ", screen.Windows())}");
            // Together they must not be larger than one.
            frame = frame with { Bytes = frame.Bytes / sizes.Count };
            var pictures = new List<Picture>();
            try
            {
                foreach (var (width, height) in sizes)
                {
                    if (screen.SetGameSize(width, height) is { } reason) return No(reason);
                    for (int i = 0; i < Limits.PictureFrames; i++)
                    {
                        screen.DrawGame();
                        await context.MainThread.Frames(1, context.Cancellation);
                    }
                    if (screen.OfGame(width, height, frame) is not { } picture) return No($"Unity did not draw the game at {width} x {height}; the graphics device may not have so many pixels, or the editor has no windows (-batchmode)");
                    pictures.Add(picture);
                }
            }
            finally
            {
                screen.EndGameSizes();
            }
            return Of(pictures, Behind(wasBehind));
        }

        private static string Behind(bool wasBehind) => wasBehind ? ". The window was behind another tab; now it is in front" : "";

        private static bool IsSize(int side) => side >= Limits.PictureLeast && side <= Limits.PictureSide;

        private static ScreenshotResponse OfObject(ScreenshotSchema parameters, PictureFrame frame, IToolContext context)
        {
            FoundObject one = ObjectFinder.GameObject(context, parameters.Name, "Name");
            IScreen screen = context.Get<IScreen>();
            ObjectBox box = screen.BoxOf(one);
            // Together they must not be larger than one.
            frame = frame with { Bytes = frame.Bytes / parameters.Sides.Length };
            CameraPlace[] places = parameters.Sides.Select(side => CameraPlace.Framing(box, side, (double)frame.Width / frame.Height)).ToArray();
            ScreenshotResponse response = Of(places.Select(place => screen.OfPlace(place, frame)).ToArray(), box.IsDrawn ? ""
                : $". Nothing of {one.Name} is drawn by a renderer that is active, so this is only its place; user interface is seen in Game");
            if (response.Success) response.Views = places.Select((place, i) => new ScreenshotView(parameters.Sides[i].ToString(), Rounded(place.Position), Rounded(place.Rotation))).ToList();
            return response;
        }

        // Without the sign of a zero.
        private static IReadOnlyList<double> Rounded(IEnumerable<double> numbers) => numbers.Select(n => Math.Round(n, 3) + 0.0).ToList();

        // Only what a tool can name.
        private static string Cameras(IToolContext context)
        {
            List<string> paths = SceneWalk.All(context.Get<IScenes>().Open(), true).Take(Limits.SceneNodes)
                .Where(s => s.Node.Components.Any(c => !c.IsMissing && c.IsA("Camera"))).Take(Limits.SameObjects).Select(s => s.Path).ToList();
            return paths.Count > 0 ? ". There are cameras at " + string.Join(", ", paths) : ". No open scene has a camera; Object needs none";
        }

        private static ScreenshotResponse Of(IReadOnlyList<Picture> pictures, string more)
        {
            Picture first = pictures[0];
            if (pictures.FirstOrDefault(p => p.Width > Limits.PictureSide || p.Height > Limits.PictureSide) is { } large)
            {
                return No($"Region has {large.Width} x {large.Height} pixels, and at most {Limits.PictureSide} a side are possible; ask for a smaller part of the {large.WholeWidth} x {large.WholeHeight}");
            }
            if (pictures.FirstOrDefault(p => p.Data == null) is { } heavy)
            {
                return No($"A picture of {heavy.Width} x {heavy.Height} pixels would have more than {Limits.PictureBytes / pictures.Count} bytes; ask for a smaller one, or for a Region");
            }
            List<string> sizes = pictures.Select(SizeOf).Distinct().ToList();
            return new ScreenshotResponse
            {
                Success = true, Width = first.Width, Height = first.Height,
                Message = (pictures.Count > 1 ? $"{pictures.Count} pictures of " : "A picture of ") + string.Join("; ", sizes) +
                    (pictures.All(p => p.IsSure) ? "" : ". This Unity did not let its pictures of windows be checked: it may be cut off, upside down, or have other colours") + more,
                Content = pictures.Select(p => ToolContent.OfImage(p.Data!, p.MimeType)).ToList()
            };
        }

        private static string SizeOf(Picture one) => $"{one.Width} x {one.Height} pixels" +
            ((one.Width, one.Height) == (one.WholeWidth, one.WholeHeight) ? "" : $", of {one.WholeWidth} x {one.WholeHeight}");

        private static ScreenshotResponse No(string message) => new() { Message = message };
    }
}
