// Stubs of textures and of rendering. Signatures are Unity's. A picture has one colour in each quarter.
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using EditorHost;
using UnityEngine.Rendering;

[assembly: InternalsVisibleTo("UnityEngine.ImageConversionModule")]

namespace UnityEngine
{
    public class Texture : Object
    {
        public virtual int width { get; set; }

        public virtual int height { get; set; }

        /// <summary>The colours at the top left, top right, bottom left and bottom right.</summary>
        internal Color[] Corners { get; set; } = new Color[4];

        // The first row is the lowest one.
        internal Color At(int x, int y) => Corners[(2 * y < height ? 2 : 0) + (2 * x < width ? 0 : 1)];

        internal byte Grey
        {
            set => Corners = Enumerable.Repeat(new Color(value / 255f, value / 255f, value / 255f, 1), 4).ToArray();
        }
    }

    internal sealed class Sprite : Object
    {
    }

    public enum TextureFormat
    {
        RGB24 = 3
    }

    public sealed class Texture2D : Texture
    {
        public Texture2D(int width, int height)
        {
            this.width = width;
            this.height = height;
        }

        public Texture2D(int width, int height, TextureFormat textureFormat, bool mipChain) : this(width, height)
        {
        }

        // A part has in each quarter the colour that the whole has in the middle of this quarter.
        public void ReadPixels(Rect source, int destX, int destY)
        {
            RenderTexture from = RenderTexture.active;
            Color At(float x, float y) => from.At((int)(source.x + x * source.width), (int)(source.y + y * source.height));
            Corners = new[] { At(0.25f, 0.75f), At(0.75f, 0.75f), At(0.25f, 0.25f), At(0.75f, 0.25f) };
        }

        public Color GetPixel(int x, int y) => At(x, y);

        public void Apply()
        {
        }
    }

    public class RenderTexture : Texture
    {
        public static RenderTexture active { get; set; }

        internal RenderTextureReadWrite Mode { get; set; }

        public static RenderTexture GetTemporary(int width, int height, int depthBuffer) => new() { width = width, height = height };

        public static RenderTexture GetTemporary(int width, int height, int depthBuffer, RenderTextureFormat format, RenderTextureReadWrite readWrite) =>
            new() { width = width, height = height, Mode = readWrite };

        public static void ReleaseTemporary(RenderTexture temp)
        {
        }
    }

    public class Graphics
    {
        public static void Blit(Texture source, RenderTexture dest) => dest.Corners = source.Corners;

        public static void Blit(Texture source, RenderTexture dest, Material mat) => dest.Corners = source.Corners;

        public static void Blit(Texture source, RenderTexture dest, Vector2 scale, Vector2 offset) =>
            dest.Corners = scale.y < 0 ? source.Corners.Skip(2).Concat(source.Corners.Take(2)).ToArray() : source.Corners;
    }

    public enum RenderTextureFormat
    {
        Default = 7
    }

    public enum RenderTextureReadWrite
    {
        Default = 0,
        Linear = 1,
        sRGB = 2
    }

    public struct Rect
    {
        public Rect(float x, float y, float width, float height)
        {
            this.x = x;
            this.y = y;
            this.width = width;
            this.height = height;
        }

        public float x { get; set; }

        public float y { get; set; }

        public float width { get; set; }

        public float height { get; set; }
    }

    public sealed class Camera : Behaviour
    {
        public static Camera main => SceneManagement.SceneManager.Open.SelectMany(s => s.All()).Where(o => o.tag == "MainCamera" && o.activeInHierarchy)
            .SelectMany(o => o.GetComponents<Camera>()).FirstOrDefault();

        public RenderTexture targetTexture { get; set; }

        public float fieldOfView { get; set; } = 60;

        public float nearClipPlane { get; set; } = 0.3f;

        public float farClipPlane { get; set; } = 1000;

        public SceneManagement.Scene scene { get; set; }

        /// <summary>
        /// Of each quarter, the shade of the nearest object that a renderer draws there: 0xC0 in the first layer, more in the others; 0x80
        /// if there is none. An object is taken for a ball in which it fits.
        /// </summary>
        public void Render()
        {
            System.Collections.Generic.List<Renderer> drawn = (scene.IsValid() ? scene.GetRootGameObjects() : SceneManagement.SceneManager.Open.SelectMany(s => s.Roots))
                .SelectMany(r => r.All()).Where(o => o.activeInHierarchy).SelectMany(o => o.GetComponents<Renderer>()).Where(r => r.enabled).ToList();
            targetTexture.Corners = new[] { (-1, 1), (1, 1), (-1, -1), (1, -1) }.Select(quarter =>
            {
                Renderer nearest = drawn.Where(r => Covers(r.bounds, quarter.Item1, quarter.Item2)).OrderBy(r => Depth(r.bounds.center)).FirstOrDefault();
                float shade = (nearest == null ? 0x80 : 0xC0 + 0x10 * nearest.gameObject.layer) / 255f;
                return new Color(shade, shade, shade, 1);
            }).ToArray();
        }

        private float Depth(Vector3 point) => Along(point, Direction(0, 0));

        private bool Covers(Bounds bounds, int right, int up)
        {
            float depth = Depth(bounds.center), radius = (float)Math.Sqrt(Vector3.Dot(bounds.extents, bounds.extents));
            if (depth < nearClipPlane || depth > farClipPlane) return false;
            double tall = depth * Math.Tan(fieldOfView * Math.PI / 360), wide = tall * targetTexture.width / targetTexture.height;
            float x = right * Along(bounds.center, Direction(0, 90)), y = up * Along(bounds.center, Direction(-90, 0));
            return x + radius > 0 && x - radius < wide && y + radius > 0 && y - radius < tall;
        }

        private float Along(Vector3 point, Vector3 direction) => Vector3.Dot(point.Plus(transform.position, -1), direction);

        // Where the camera looks; turned by this much up and to the right.
        private Vector3 Direction(double up, double right)
        {
            double pitch = (transform.eulerAngles.x + (right == 0 ? up : 0)) * Math.PI / 180, yaw = (transform.eulerAngles.y + right) * Math.PI / 180;
            if (right != 0) pitch = 0;
            return new Vector3((float)(Math.Sin(yaw) * Math.Cos(pitch)), (float)-Math.Sin(pitch), (float)(Math.Cos(yaw) * Math.Cos(pitch)));
        }
    }

    public struct Bounds
    {
        public Bounds(Vector3 center, Vector3 size) => (this.center, this.size) = (center, size);

        public Vector3 center { get; set; }

        public Vector3 size { get; set; }

        public Vector3 extents
        {
            get => new(size.x / 2, size.y / 2, size.z / 2);
            set => size = value.Plus(value, 1);
        }

        public void Encapsulate(Bounds bounds)
        {
            (float, float) One(float center, float half, float other, float otherHalf)
            {
                float least = Math.Min(center - half, other - otherHalf), most = Math.Max(center + half, other + otherHalf);
                return ((least + most) / 2, most - least);
            }
            var (x, wide) = One(center.x, extents.x, bounds.center.x, bounds.extents.x);
            var (y, high) = One(center.y, extents.y, bounds.center.y, bounds.extents.y);
            var (z, deep) = One(center.z, extents.z, bounds.center.z, bounds.extents.z);
            (center, size) = (new Vector3(x, y, z), new Vector3(wide, high, deep));
        }
    }

    public sealed class SystemInfo
    {
        public static bool graphicsUVStartsAtTop => Native.Current.Flag("screenFromTop");

        public static GraphicsDeviceType graphicsDeviceType => Native.Current.Flag("noGraphics") ? GraphicsDeviceType.Null : GraphicsDeviceType.OpenGLCore;
    }

    public sealed class Resources
    {
        internal static Func<Object[]> All { get; set; }

        public static T[] FindObjectsOfTypeAll<T>() where T : Object => All().OfType<T>().ToArray();
    }
}

namespace UnityEngine.Rendering
{
    public enum GraphicsDeviceType
    {
        Null = 4,
        OpenGLCore = 17
    }
}
