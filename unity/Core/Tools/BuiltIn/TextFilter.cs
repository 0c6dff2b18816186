#nullable enable
using System;
using System.Diagnostics;
using System.Text.RegularExpressions;

namespace Holdfast
{
    /// <summary>How a <see cref="TextFilter"/> compares values with its text.</summary>
    internal enum TextMatch
    {
        /// <summary>The value contains the text.</summary>
        Contains,

        /// <summary>The value equals the text.</summary>
        Exact,

        /// <summary>The value begins with the text.</summary>
        StartsWith,

        /// <summary>The regular expression matches somewhere in the value.</summary>
        Regex
    }

    /// <summary>
    /// Filters values by a caller's text or regular expression. The expression runs on the editor's main thread and may be slow
    /// on purpose, so there is a time limit for each value (<see cref="Limits.RegexMatch"/>) and one for all values (<see
    /// cref="Limits.RegexTotal"/>).
    /// </summary>
    internal sealed class TextFilter
    {
        private readonly string text;
        private readonly TextMatch match;
        private readonly bool ignoreCase;
        private readonly Regex? regex;
        private readonly string parameter;
        private readonly Stopwatch spent = new();

        /// <exception cref="ToolParameterException">The regular expression is invalid.</exception>
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

        /// <summary>Whether the filter accepts every value.</summary>
        public bool IsEmpty => text.Length == 0;

        /// <exception cref="ToolParameterException">The regular expression takes too long.</exception>
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
