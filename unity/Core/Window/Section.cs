#nullable enable
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Holdfast
{
    /// <summary>Draws one section of the window or of a settings page. A view makes no decisions.</summary>
    /// <typeparam name="TState">Everything that the view draws, as values.</typeparam>
    internal interface IView<in TState>
    {
        /// <summary>Draws this state and replaces what was drawn before.</summary>
        void Show(TState state);
    }

    /// <summary>
    /// The presenter of one section. It reads the model, and updates the view if something has changed. It subscribes to nothing:
    /// the owner of the view calls <see cref="Refresh"/> several times a second. Main thread.
    /// </summary>
    internal abstract class Section<TState> where TState : class
    {
        private readonly IView<TState> view;
        private TState? shown;

        /// <summary>Creates a presenter for this view.</summary>
        protected Section(IView<TState> view) => this.view = view;

        /// <summary>Reads the current state, and shows it if it has changed.</summary>
        public void Refresh()
        {
            TState now = Look();
            if (now.Equals(shown)) return;
            shown = now;
            view.Show(now);
        }

        /// <summary>Reads the current state. Must be cheap, since it is called ten times a second.</summary>
        protected abstract TState Look();
    }

    /// <summary>A list that equals any other one with equal items, so that whole states can be compared.</summary>
    internal sealed class Rows<T> : IReadOnlyList<T>, IEquatable<Rows<T>>
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

    /// <summary>Formats times for the window.</summary>
    internal static class LocalTime
    {
        /// <summary>The local time of day, to the second.</summary>
        public static string Of(DateTime utc) => utc.ToLocalTime().ToString("HH:mm:ss", System.Globalization.CultureInfo.InvariantCulture);

        /// <summary>
        /// Returns the local time of day for a UTC time given as text. If the text is not a time, returns it unchanged.
        /// </summary>
        public static string Of(string utc) => DateTime.TryParse(
            utc, System.Globalization.CultureInfo.InvariantCulture,
            System.Globalization.DateTimeStyles.AssumeUniversal | System.Globalization.DateTimeStyles.AdjustToUniversal, out DateTime at)
            ? Of(at)
            : utc;
    }
}
