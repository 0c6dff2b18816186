// No part of the package may use this module: a project can switch it off. It is here for the test of that.
namespace UnityEngine
{
    public class Collider : Component
    {
        public bool enabled { get; set; }
    }
}
