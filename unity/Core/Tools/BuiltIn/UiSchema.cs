#nullable enable
using System.ComponentModel;

namespace Holdfast
{
    /// <summary>What <see cref="EditUiTool"/> creates.</summary>
    internal enum UiKind
    {
        /// <summary>The screen on which everything else lies.</summary>
        Canvas,

        /// <summary>What brings input to the user interface.</summary>
        EventSystem,

        /// <summary>A background that fills its parent.</summary>
        Panel,

        /// <summary>A picture.</summary>
        Image,

        /// <summary>A text.</summary>
        Text,

        /// <summary>A button with a text.</summary>
        Button,

        /// <summary>Puts what is below it side by side.</summary>
        Row,

        /// <summary>Puts what is below it one below the other.</summary>
        Column,

        /// <summary>Puts what is below it into cells.</summary>
        Grid
    }

    /// <summary>Where an element is held: four rows with four columns each, as in Unity's inspector.</summary>
    internal enum UiAnchor
    {
        /// <summary>The upper left corner.</summary>
        TopLeft,

        /// <summary>The middle of the upper edge.</summary>
        TopCenter,

        /// <summary>The upper right corner.</summary>
        TopRight,

        /// <summary>Along the upper edge.</summary>
        TopStretch,

        /// <summary>The middle of the left edge.</summary>
        MiddleLeft,

        /// <summary>The middle.</summary>
        MiddleCenter,

        /// <summary>The middle of the right edge.</summary>
        MiddleRight,

        /// <summary>Across the middle.</summary>
        MiddleStretch,

        /// <summary>The lower left corner.</summary>
        BottomLeft,

        /// <summary>The middle of the lower edge.</summary>
        BottomCenter,

        /// <summary>The lower right corner.</summary>
        BottomRight,

        /// <summary>Along the lower edge.</summary>
        BottomStretch,

        /// <summary>Along the left edge.</summary>
        StretchLeft,

        /// <summary>Down the middle.</summary>
        StretchCenter,

        /// <summary>Along the right edge.</summary>
        StretchRight,

        /// <summary>The whole parent.</summary>
        StretchAll
    }

    /// <summary>Parameters of <see cref="EditUiTool"/>.</summary>
    internal sealed class EditUiSchema : BaseToolSchema
    {
        /// <summary>What to create.</summary>
        [Description("Creates one of these. Row, Column and Grid arrange what is below them. EventSystem also mends one that does not fit the project's input")]
        public UiKind? Kind { get; set; }

        /// <summary>Which element to change.</summary>
        [Description("Changes this element: a path, id or reference")]
        public string Object { get; set; } = "";

        /// <summary>The name of a new element.</summary>
        [Description("Name of the new one")]
        public string? Name { get; set; }

        /// <summary>The object below which a new element shall be.</summary>
        [Description("The new one lies below this; without it, in the first Canvas, which is created if there is none")]
        public string? Parent { get; set; }

        /// <summary>Where it is held.</summary>
        [Description("Where in its parent it is held, and its pivot; Stretch follows the parent's size")]
        public UiAnchor? Anchor { get; set; }

        /// <summary>The place, from the anchor.</summary>
        [Description("[x, y] from the anchor; y is up")]
        public double[]? Position { get; set; }

        /// <summary>The size.</summary>
        [Description("[width, height]; where it stretches, what it is more than its parent, so -40 leaves 20 at both ends")]
        public double[]? Size { get; set; }

        /// <summary>The text.</summary>
        [Description("Text, Button: what is written there")]
        public string? Text { get; set; }

        /// <summary>The size of the letters.</summary>
        [Description("Text, Button: size of the letters")]
        public double? FontSize { get; set; }

        /// <summary>The colour.</summary>
        [Description("[r, g, b, a], 0 to 1: a Text's letters, or the picture")]
        public double[]? Color { get; set; }

        /// <summary>The space between what is below it.</summary>
        [Description("Row, Column, Grid: space between what is below it")]
        public double? Spacing { get; set; }

        /// <summary>The screen for which sizes are meant.</summary>
        [Description("Canvas: [width, height] of the screen that sizes are meant for; [1920, 1080] at first")]
        public double[]? Resolution { get; set; }
    }
}
