// This must not compile as a part of the package, whose package.json does not declare the module of Collider.
internal static class UsesPhysics
{
    public static bool IsOn(UnityEngine.Collider collider) => collider.enabled;
}
