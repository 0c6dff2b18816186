#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Draws one section of the window, or of a settings page. Decides nothing.</summary>
    /// <typeparam name="TState">All that it draws, as values.</typeparam>
    public interface IView<in TState>
    {
        /// <summary>Draws this instead of what it drew before.</summary>
        void Show(TState state);
    }

    /// <summary>
    /// The presenter of one section: looks at the model and shows what has changed. It subscribes to nothing; whoever owns
    /// the view calls <see cref="Refresh"/> some times a second. Main thread.
    /// </summary>
    public abstract class Section<TState> where TState : class
    {
        private readonly IView<TState> view;
        private TState? shown;

        /// <summary>One that shows itself in this view.</summary>
        protected Section(IView<TState> view) => this.view = view;

        /// <summary>Shows what is true now, if it is not what is shown.</summary>
        public void Refresh()
        {
            TState now = Look();
            if (now.Equals(shown)) return;
            shown = now;
            view.Show(now);
        }

        /// <summary>What is true now. Cheap: asked ten times a second.</summary>
        protected abstract TState Look();
    }

    /// <summary>A list that equals another one with equal items, so that a state can be compared as a whole.</summary>
    public sealed class Rows<T> : IReadOnlyList<T>, IEquatable<Rows<T>>
    {
        private readonly T[] items;

        /// <summary>Copies the items.</summary>
        public Rows(IEnumerable<T> items) => this.items = items.ToArray();

        /// <inheritdoc/>
        public int Count => items.Length;

        /// <inheritdoc/>
        public T this[int index] => items[index];

        /// <inheritdoc/>
        public bool Equals(Rows<T>? other) => other != null && (ReferenceEquals(this, other) || items.SequenceEqual(other.items));

        /// <inheritdoc/>
        public override bool Equals(object? other) => Equals(other as Rows<T>);

        /// <inheritdoc/>
        public override int GetHashCode() => items.Length == 0 ? 0 : items.Length * 31 + items[0]!.GetHashCode();

        /// <inheritdoc/>
        public IEnumerator<T> GetEnumerator() => ((IEnumerable<T>)items).GetEnumerator();

        IEnumerator IEnumerable.GetEnumerator() => items.GetEnumerator();
    }

    /// <summary>Times as the window shows them.</summary>
    public static class LocalTime
    {
        /// <summary>The time of day here, to the second.</summary>
        public static string Of(DateTime utc) => utc.ToLocalTime().ToString("HH:mm:ss", System.Globalization.CultureInfo.InvariantCulture);

        /// <summary>The same of a time that is a text; the text itself if it is none.</summary>
        public static string Of(string utc) => DateTime.TryParse(
            utc, System.Globalization.CultureInfo.InvariantCulture,
            System.Globalization.DateTimeStyles.AssumeUniversal | System.Globalization.DateTimeStyles.AdjustToUniversal, out DateTime at)
            ? Of(at)
            : utc;
    }
}
