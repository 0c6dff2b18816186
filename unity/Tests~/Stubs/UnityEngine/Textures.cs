namespace UnityEngine
{
    public class Texture : Object
    {
    }

    public sealed class Texture2D : Texture
    {
        public Texture2D(int width, int height)
        {
        }
    }
}
