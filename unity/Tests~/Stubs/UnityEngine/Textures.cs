// Stubs of textures and of rendering. Signatures are Unity's. A picture has one shade of grey.
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

        internal byte Grey { get; set; }
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

        public void ReadPixels(Rect source, int destX, int destY) => Grey = RenderTexture.active.Grey;

        public void Apply()
        {
        }
    }

    public class RenderTexture : Texture
    {
        public static RenderTexture active { get; set; }

        public static RenderTexture GetTemporary(int width, int height, int depthBuffer) => new() { width = width, height = height };

        public static void ReleaseTemporary(RenderTexture temp)
        {
        }
    }

    public class Graphics
    {
        public static void Blit(Texture source, RenderTexture dest) => dest.Grey = source.Grey;

        public static void Blit(Texture source, RenderTexture dest, Material mat) => dest.Grey = source.Grey;
    }

    public struct Rect
    {
        public Rect(float x, float y, float width, float height)
        {
            this.width = width;
            this.height = height;
        }

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
