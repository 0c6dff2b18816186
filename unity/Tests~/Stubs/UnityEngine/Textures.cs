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

        public void ReadPixels(Rect source, int destX, int destY) => Corners = RenderTexture.active.Corners;

        // The first row is the lowest one.
        public Color GetPixel(int x, int y) => Corners[(2 * y < height ? 2 : 0) + (2 * x < width ? 0 : 1)];

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

        public void Render() => targetTexture.Grey = 0x80;
    }

    public sealed class SystemInfo
    {
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
