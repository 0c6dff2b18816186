// Stub of the part of Unity's code loading that the package uses. Signatures are Unity's.
#if UNITY_6000_5_OR_NEWER
using System;
using System.Reflection;

namespace UnityEngine.Assemblies
{
    public static class CurrentAssemblies
    {
        /// <summary>Loads into the context of the scripts, while there are any.</summary>
        internal static Func<byte[], Assembly> Loader { get; set; }

        public static Assembly LoadFromBytes(byte[] rawAssembly) => Loader(rawAssembly);
    }
}
#endif
