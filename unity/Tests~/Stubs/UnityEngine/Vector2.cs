namespace UnityEngine
{
    public struct Vector2
    {
        public Vector2(float x, float y)
        {
        }
    }
}
