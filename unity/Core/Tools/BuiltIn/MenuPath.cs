#nullable enable
namespace Holdfast
{
    /// <summary>
    /// Splits the text of a menu item into its path and, after a blank, its shortcut (<c>%</c>, <c>#</c>, <c>&amp;</c>, <c>_</c>
    /// or <c>^</c>, then a key).
    /// </summary>
    internal static class MenuPath
    {
        /// <summary>Splits the text; the shortcut is empty if there is none.</summary>
        public static (string Path, string Keys) Split(string text)
        {
            int blank = text.LastIndexOf(' ');
            bool keys = blank > 0 && blank + 2 <= text.Length - 1 && "%#&_^".IndexOf(text[blank + 1]) >= 0;
            return keys ? (text.Substring(0, blank), text.Substring(blank + 1)) : (text, "");
        }
    }
}
