#nullable enable
namespace Holdfast
{
    /// <summary>A menu item's text: its path and, after a blank, its keys (<c>%</c>, <c>#</c>, <c>&amp;</c> or <c>_</c>, then a key).</summary>
    public static class MenuPath
    {
        /// <summary>The two parts; the keys are empty if there are none.</summary>
        public static (string Path, string Keys) Split(string text)
        {
            int blank = text.LastIndexOf(' ');
            bool keys = blank > 0 && blank + 2 <= text.Length - 1 && "%#&_^".IndexOf(text[blank + 1]) >= 0;
            return keys ? (text.Substring(0, blank), text.Substring(blank + 1)) : (text, "");
        }
    }
}
