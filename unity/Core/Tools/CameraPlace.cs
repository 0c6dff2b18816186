#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>A side from which an object is seen, as Unity's scene view names them.</summary>
    internal enum ViewSide
    {
        /// <summary>From above, in front and at the right, as a new scene view sees.</summary>
        Angle,

        /// <summary>From +Z.</summary>
        Front,

        /// <summary>From -Z.</summary>
        Back,

        /// <summary>From -X.</summary>
        Left,

        /// <summary>From +X.</summary>
        Right,

        /// <summary>From +Y.</summary>
        Top,

        /// <summary>From -Y.</summary>
        Bottom
    }

    /// <summary>Where a camera stands and how it looks.</summary>
    /// <param name="Position">x, y and z.</param>
    /// <param name="Rotation">Degrees around x, y and z.</param>
    /// <param name="FieldOfView">The vertical angle of view in degrees.</param>
    /// <param name="Near">What is nearer is cut away.</param>
    /// <param name="Far">What is farther is not seen.</param>
    internal sealed record CameraPlace(IReadOnlyList<double> Position, IReadOnlyList<double> Rotation, double FieldOfView, double Near, double Far)
    {
        // Unity's own for a new camera.
        private const double Angle = 60;

        // Some room around the object.
        private const double Margin = 1.05;

        /// <summary>A place from which an object fills the picture. What stands before the object is cut away.</summary>
        /// <param name="box">What the object takes up.</param>
        /// <param name="side">From where it is seen.</param>
        /// <param name="aspect">The picture's width through its height.</param>
        public static CameraPlace Framing(ObjectBox box, ViewSide side, double aspect)
        {
            double radius = Math.Max(box.Radius, 0.01);
            double half = Angle / 2 * Math.PI / 180;
            // The smaller of the angles up and across.
            double distance = Margin * radius / Math.Sin(Math.Min(half, Math.Atan(Math.Tan(half) * aspect)));
            (double pitch, double yaw) = Looking(side);
            (double x, double y) = (pitch * Math.PI / 180, yaw * Math.PI / 180);
            double[] forward = { Math.Sin(y) * Math.Cos(x), -Math.Sin(x), Math.Cos(y) * Math.Cos(x) };
            return new CameraPlace(box.Center.Zip(forward, (center, along) => center - along * distance).ToArray(), new[] { pitch, yaw, 0 }, Angle,
                distance - radius, distance + Math.Max(1_000, 20 * radius));
        }

        private static (double Pitch, double Yaw) Looking(ViewSide side) => side switch
        {
            ViewSide.Front => (0, 180),
            ViewSide.Back => (0, 0),
            ViewSide.Left => (0, 90),
            ViewSide.Right => (0, 270),
            ViewSide.Top => (90, 0),
            ViewSide.Bottom => (270, 0),
            // Along (-1, -0.7, -1), like the scene view at first.
            _ => (Math.Atan(0.7 / Math.Sqrt(2)) * 180 / Math.PI, 225)
        };
    }
}
