#nullable enable
using System;
using System.Diagnostics;
using System.Text.RegularExpressions;

namespace Holdfast
{
    /// <summary>How a <see cref="TextFilter"/> compares.</summary>
    public enum TextMatch
    {
        /// <summary>The text is in it.</summary>
        Contains,

        /// <summary>It is the text.</summary>
        Exact,

        /// <summary>It begins with the text.</summary>
        StartsWith,

        /// <summary>The regular expression matches somewhere in it.</summary>
        Regex
    }

    /// <summary>
    /// A caller's text or regular expression. The expression is foreign and runs on the editor's main thread, so it has a
    /// time limit for one text and one for all of them.
    /// </summary>
    internal sealed class TextFilter
    {
        private readonly string text;
        private readonly TextMatch match;
        private readonly bool ignoreCase;
        private readonly Regex? regex;
        private readonly string parameter;
        private readonly Stopwatch spent = new();

        /// <exception cref="ToolParameterException">The expression cannot be read.</exception>
        public TextFilter(string parameter, string text, TextMatch match, bool ignoreCase)
        {
            this.parameter = parameter;
            this.text = text;
            this.match = match;
            this.ignoreCase = ignoreCase;
            if (match != TextMatch.Regex || text.Length == 0) return;
            RegexOptions options = RegexOptions.CultureInvariant | (ignoreCase ? RegexOptions.IgnoreCase : RegexOptions.None);
            try
            {
                regex = new Regex(text, options, TimeSpan.FromMilliseconds(Limits.RegexMatch));
            }
            catch (ArgumentException e)
            {
                throw new ToolParameterException($"{parameter} is no regular expression: {e.Message}");
            }
        }

        /// <summary>Does it let everything through?</summary>
        public bool IsEmpty => text.Length == 0;

        /// <exception cref="ToolParameterException">The expression takes too long.</exception>
        public bool Fits(string value)
        {
            if (IsEmpty) return true;
            StringComparison comparison = ignoreCase ? StringComparison.OrdinalIgnoreCase : StringComparison.Ordinal;
            return match switch
            {
                TextMatch.Exact => value.Equals(text, comparison),
                TextMatch.StartsWith => value.StartsWith(text, comparison),
                TextMatch.Regex => FitsRegex(value),
                _ => value.IndexOf(text, comparison) >= 0
            };
        }

        private bool FitsRegex(string value)
        {
            spent.Start();
            try
            {
                if (spent.ElapsedMilliseconds > Limits.RegexTotal) throw TooLong();
                return regex!.IsMatch(value);
            }
            catch (RegexMatchTimeoutException)
            {
                throw TooLong();
            }
            finally
            {
                spent.Stop();
            }
        }

        private ToolParameterException TooLong() =>
            new($"The regular expression in {parameter} takes too long; make it simpler, or its search narrower");
    }
}
