#nullable enable
using System.Collections.Generic;

namespace Holdfast
{
    /// <summary>Pictures of what the editor shows. Main thread.</summary>
    internal interface IScreen
    {
        /// <summary>Whether the editor has a graphics device. It has none with <c>-nographics</c>.</summary>
        bool HasGraphics { get; }

        /// <summary>The titles of the open windows.</summary>
        IReadOnlyList<string> Windows();

        /// <summary>
        /// Brings a window's tab to the front, if it is behind another one, and asks it to draw itself.
        /// </summary>
        /// <param name="window">A title, or "Game" or "Scene" for these views, whatever their titles are.</param>
        /// <returns>Null if there is no such window; whether another tab was in front of it.</returns>
        bool? Show(string window);

        /// <summary>
        /// Opens a small window, unless it is known already how windows on the display of this one are taken. The window draws
        /// itself in the next frames.
        /// </summary>
        /// <returns>Whether <see cref="EndMeasuring"/> has to be called.</returns>
        bool BeginMeasuring(string window);

        /// <summary>Looks at the small window, and closes it.</summary>
        void EndMeasuring();

        /// <summary>Takes a picture of a window that was shown, as it was drawn last. Returns null if Unity does not give it.</summary>
        /// <param name="window">As in <see cref="Show"/>.</param>
        /// <param name="frame">Of its height nothing counts: the proportions stay. A part of a window is not made smaller.</param>
        Picture? OfWindow(string window, PictureFrame frame);

        /// <summary>Gives the game view another resolution, and asks it to draw itself.</summary>
        /// <returns>Why it cannot; null if it has it, and <see cref="EndGameSizes"/> has to be called.</returns>
        string? SetGameSize(int width, int height);

        /// <summary>Asks the game view to draw itself once more. What lies in a layout is in its place in the frame after the one that moved it.</summary>
        void DrawGame();

        /// <summary>What the game view has drawn last, with all user interface. Returns null if it is not what was asked for.</summary>
        /// <param name="width">The resolution's width.</param>
        /// <param name="height">Its height.</param>
        /// <param name="frame">Its width is at most what the longer side of the picture has; its height does not count.</param>
        Picture? OfGame(int width, int height, PictureFrame frame);

        /// <summary>Gives the game view the resolution back that it had before.</summary>
        void EndGameSizes();

        /// <summary>Renders what a camera sees.</summary>
        /// <param name="one">A GameObject with a camera; null for the main camera.</param>
        /// <param name="frame">The picture's size and part.</param>
        /// <returns>Null if there is no such camera.</returns>
        Picture? OfCamera(FoundObject? one, PictureFrame frame);

        /// <summary>What a GameObject and all that is below it take up in the world.</summary>
        ObjectBox BoxOf(FoundObject one);

        /// <summary>
        /// Renders what a camera would see from a place. The camera is there for this picture only; nothing that the user sees or
        /// saves has it. While a prefab is open, it sees the prefab only.
        /// </summary>
        Picture OfPlace(CameraPlace place, PictureFrame frame);
    }

    /// <summary>How large a picture is, and what part of it is wanted.</summary>
    /// <param name="Width">Width of the whole in pixels.</param>
    /// <param name="Height">Height of the whole in pixels.</param>
    /// <param name="Region">The part, as left, top, width and height, each from 0 to 1; null for the whole.</param>
    /// <param name="Bytes">Maximum size of the file.</param>
    internal sealed record PictureFrame(int Width, int Height, IReadOnlyList<double>? Region, int Bytes);

    /// <summary>A picture.</summary>
    /// <param name="Data">The file; null if it would have been too large.</param>
    /// <param name="MimeType">Its type.</param>
    /// <param name="Width">Width in pixels.</param>
    /// <param name="Height">Height in pixels.</param>
    /// <param name="IsSure">Whether it surely shows all, upright and in its colours.</param>
    internal sealed record Picture(byte[]? Data, string MimeType, int Width, int Height, bool IsSure)
    {
        /// <summary>Width in pixels of what it is a part of, or was made smaller from.</summary>
        public int WholeWidth { get; init; }

        /// <summary>Height in pixels of the same.</summary>
        public int WholeHeight { get; init; }
    }

    /// <summary>What an object takes up in the world.</summary>
    /// <param name="Center">x, y and z of the middle.</param>
    /// <param name="Radius">Distance from the middle to a corner.</param>
    /// <param name="IsDrawn">Whether any of it is drawn by a renderer.</param>
    internal sealed record ObjectBox(IReadOnlyList<double> Center, double Radius, bool IsDrawn);
}
