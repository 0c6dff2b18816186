#nullable enable
using System;
using System.Linq;
using NUnit.Framework;

namespace Holdfast.Tests
{
    /// <summary>Tests of the place from which an object is seen.</summary>
    public sealed class CameraPlaceTests
    {
        private static readonly ObjectBox Box = new(new[] { 10.0, 20, 30 }, 2, true);

        // From which direction the camera sees, as Unity's scene view names the sides.
        [TestCase("Front", 0, 0, 1, 0, 180)]
        [TestCase("Back", 0, 0, -1, 0, 0)]
        [TestCase("Left", -1, 0, 0, 0, 90)]
        [TestCase("Right", 1, 0, 0, 0, 270)]
        [TestCase("Top", 0, 1, 0, 90, 0)]
        [TestCase("Bottom", 0, -1, 0, 270, 0)]
        public void A_side_is_where_unity_has_it(string side, int x, int y, int z, double pitch, double yaw)
        {
            CameraPlace place = CameraPlace.Framing(Box, (ViewSide)Enum.Parse(typeof(ViewSide), side), 1);
            double distance = place.Near + Box.Radius;
            double[] expected = { 10 + x * distance, 20 + y * distance, 30 + z * distance };
            for (int i = 0; i < 3; i++) Assert.That(place.Position[i], Is.EqualTo(expected[i]).Within(1e-9), side);
            Assert.That(place.Rotation, Is.EqualTo(new[] { pitch, yaw, 0 }));
        }

        [Test]
        public void The_angle_is_above_in_front_and_at_the_right()
        {
            CameraPlace place = CameraPlace.Framing(Box, ViewSide.Angle, 1);
            double[] away = place.Position.Zip(Box.Center, (a, b) => a - b).ToArray();
            Assert.That(away[1] / away[0], Is.EqualTo(0.7).Within(1e-9));
            Assert.That(away[2] / away[0], Is.EqualTo(1).Within(1e-9));
            Assert.That(away[0], Is.GreaterThan(0));
        }

        [TestCase(1.0)]
        [TestCase(4.0)]
        [TestCase(0.25)]
        public void All_of_it_is_in_the_picture_and_nothing_before_it(double aspect)
        {
            CameraPlace place = CameraPlace.Framing(Box, ViewSide.Front, aspect);
            double distance = place.Near + Box.Radius, seen = Math.Asin(Box.Radius / distance);
            double up = place.FieldOfView / 2 * Math.PI / 180, across = Math.Atan(Math.Tan(up) * aspect);
            Assert.That(seen, Is.LessThan(Math.Min(up, across)).And.GreaterThan(0.9 * Math.Min(up, across)));
            Assert.That(place.Near, Is.GreaterThan(0));
            Assert.That(place.Far, Is.GreaterThan(distance + Box.Radius));
        }

        [Test]
        public void What_has_no_size_has_a_place_too()
        {
            CameraPlace place = CameraPlace.Framing(new ObjectBox(new[] { 0.0, 0, 0 }, 0, true), ViewSide.Top, 1.5);
            Assert.That(place.Near, Is.GreaterThan(0));
            Assert.That(place.Position[1], Is.GreaterThan(0));
        }
    }
}
