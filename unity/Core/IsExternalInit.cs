namespace System.Runtime.CompilerServices
{
    /// <summary>Lets C# 9 <c>init</c> accessors and records compile against Unity's class library, which lacks it.</summary>
    internal static class IsExternalInit
    {
    }
}
