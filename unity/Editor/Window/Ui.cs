#nullable enable
using System;
using System.Collections.Generic;
using System.Linq;
using UnityEngine.UIElements;

namespace Holdfast.Editor
{
    /// <summary>One section of a page. It reads the model when <see cref="Refresh"/> is called.</summary>
    internal abstract class SectionView : VisualElement
    {
        public abstract void Refresh();
    }

    /// <summary>Creates the elements of the sections. The style sheet Holdfast.uss defines their look.</summary>
    internal static class Ui
    {
        public const string StyleSheet = "Packages/dev.holdfast.unity/Editor/Window/Holdfast.uss";

        public static T Styled<T>(this T element, params string[] classes) where T : VisualElement
        {
            foreach (string one in classes) element.AddToClassList("holdfast-" + one);
            return element;
        }

        public static T Named<T>(this T element, string name) where T : VisualElement
        {
            element.name = name;
            return element;
        }

        public static T With<T>(this T parent, params VisualElement[] children) where T : VisualElement
        {
            foreach (VisualElement child in children) parent.Add(child);
            return parent;
        }

        public static VisualElement Row(params VisualElement[] children) => new VisualElement().Styled("row").With(children);

        /// <summary>Creates a label for a text from any source. Markup in the text is not interpreted.</summary>
        public static Label Text(string text, params string[] classes) => new Label(text) { enableRichText = false }.Styled(classes);

        /// <summary>Lets the user select and copy the label's text.</summary>
        public static Label Selectable(this Label label)
        {
            label.selection.isSelectable = true;
            return label;
        }

        public static Button Button(string name, string text, Action clicked) =>
            new Button(clicked) { text = text, enableRichText = false }.Named(name).Styled("button");

        public static TextField Search(string name, string tooltip, Action<string> changed)
        {
            TextField field = new TextField("Search") { tooltip = tooltip }.Named(name).Styled("field", "search");
            field.RegisterValueChangedCallback(e => changed(e.newValue ?? ""));
            return field;
        }

        public static void Show(this VisualElement element, bool shown) =>
            element.style.display = shown ? DisplayStyle.Flex : DisplayStyle.None;

        /// <summary>Shows a text in the label, or hides the label if there is no text.</summary>
        public static void ShowText(this TextElement label, string? text)
        {
            label.text = text ?? "";
            label.Show(!string.IsNullOrEmpty(text));
        }
    }

    /// <summary>
    /// A list that keeps the element of a row for as long as the row exists. So an unfolded row stays unfolded, and a button is
    /// not replaced while it is clicked.
    /// </summary>
    internal sealed class RowList<TKey, TRow, TView> : VisualElement where TView : VisualElement, IView<TRow> where TKey : notnull
    {
        private readonly Func<TRow, TKey> keyOf;
        private readonly Func<TKey, TView> make;
        private Dictionary<TKey, TView> views = new();
        private TKey[] order = Array.Empty<TKey>();

        public RowList(Func<TRow, TKey> keyOf, Func<TKey, TView> make)
        {
            this.keyOf = keyOf;
            this.make = make;
        }

        public void Show(IReadOnlyList<TRow> rows)
        {
            TKey[] keys = rows.Select(keyOf).ToArray();
            if (!keys.SequenceEqual(order)) Arrange(keys);
            for (int i = 0; i < keys.Length; i++) views[keys[i]].Show(rows[i]);
        }

        // Rows that stay are not taken out and put in again: a button loses its click and a field its focus by that.
        private void Arrange(TKey[] keys)
        {
            var next = new Dictionary<TKey, TView>();
            foreach (TKey key in keys) next[key] = views.TryGetValue(key, out TView known) ? known : make(key);
            foreach (TKey key in order.Where(k => !next.ContainsKey(k))) Remove(views[key]);
            for (int i = 0; i < keys.Length; i++)
            {
                if (IndexOf(next[keys[i]]) != i) Insert(i, next[keys[i]]);
            }
            views = next;
            order = keys;
        }
    }
}
