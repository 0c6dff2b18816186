// Stubs of what the inspector does for a material. Signatures are Unity's.
using UnityEngine;

namespace UnityEditor
{
    public class Editor : ScriptableObject
    {
    }

    public class MaterialEditor : Editor
    {
        // Properties that every object has here tell that this was done.
        public static void ApplyMaterialPropertyDrawers(Material material) => material.Values["exact"] = 4.0;
    }

    internal static class ShaderGUIUtility
    {
        internal static void ValidateMaterial(Material material)
        {
            if (material.Values.TryGetValue("title", out object set)) material.Values["speed"] = (float)set.ToString().Length;
            if (material.Values.TryGetValue("title", out set) && set.ToString() == "_Mode 13") throw new System.InvalidOperationException("the shader's own code fails");
        }
    }
}
