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
        /// <returns>False if there is no such window.</returns>
        bool Show(string window);

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
        /// <param name="width">Maximum width in pixels. The proportions stay.</param>
        Picture? OfWindow(string window, int width);

        /// <summary>Renders what a camera sees.</summary>
        /// <param name="one">A GameObject with a camera; null for the main camera.</param>
        /// <param name="width">Width in pixels.</param>
        /// <param name="height">Height in pixels.</param>
        /// <returns>Null if there is no such camera.</returns>
        Picture? OfCamera(FoundObject? one, int width, int height);
    }

    /// <summary>A picture.</summary>
    /// <param name="Png">The picture as PNG.</param>
    /// <param name="Width">Width in pixels.</param>
    /// <param name="Height">Height in pixels.</param>
    /// <param name="IsSure">Whether it surely shows all, upright and in its colours.</param>
    internal sealed record Picture(byte[] Png, int Width, int Height, bool IsSure);
}
