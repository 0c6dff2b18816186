#nullable enable
namespace Holdfast
{
    /// <summary>Reads Unity's GlobalObjectId as text, such as <c>GlobalObjectId_V1-1-GUID-FILE-PREFAB</c>.</summary>
    internal static class GlobalIds
    {
        private const int TypeAt = 1, GuidAt = 2, Parts = 5, GuidLength = 32;

        /// <summary>
        /// Returns the GUID of the asset that an id names. Returns an empty text if the id names something else, such as an object
        /// in a scene, or if it is no such id.
        /// </summary>
        public static string AssetGuid(string id)
        {
            string[] parts = id.Split('-');
            if (parts.Length != Parts || parts[0] != "GlobalObjectId_V1" || parts[GuidAt].Length != GuidLength) return "";
            // 1 is an imported asset, 3 is a source asset.
            return parts[TypeAt] == "1" || parts[TypeAt] == "3" ? parts[GuidAt] : "";
        }
    }
}
