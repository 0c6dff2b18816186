// Stubs of the part of UI Toolkit that the window uses. Signatures are Unity's. The tree of elements is simulated: parents and
// children, what is visible and enabled, and the callbacks for changes. Nothing is drawn.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;

[assembly: InternalsVisibleTo("UnityEditor")]

namespace UnityEngine.UIElements
{
    public enum DisplayStyle
    {
        Flex,
        None
    }

    public struct StyleEnum<T> where T : struct, IConvertible
    {
        internal T Value { get; private set; }

        public static implicit operator StyleEnum<T>(T v) => new() { Value = v };
    }

    public interface IStyle
    {
        StyleEnum<DisplayStyle> display { get; set; }
    }

    internal sealed class ModelStyle : IStyle
    {
        public StyleEnum<DisplayStyle> display { get; set; }
    }

    public class StyleSheet : ScriptableObject
    {
    }

    public struct VisualElementStyleSheetSet
    {
        internal List<StyleSheet> Sheets { get; set; }

        public void Add(StyleSheet styleSheet) => Sheets.Add(styleSheet ?? throw new ArgumentNullException(nameof(styleSheet)));
    }

    public class VisualElement
    {
        private readonly List<VisualElement> children = new();
        private readonly List<string> classes = new();
        private readonly VisualElementStyleSheetSet sheets = new() { Sheets = new List<StyleSheet>() };

        public string name { get; set; } = "";

        public string tooltip { get; set; }

        public string viewDataKey { get; set; }

        public IStyle style { get; } = new ModelStyle();

        public VisualElementStyleSheetSet styleSheets => sheets;

        public virtual VisualElement contentContainer => this;

        internal VisualElement Above { get; private set; }

        /// <summary>How often the element was put into another one or taken out of it.</summary>
        internal int Moves { get; private set; }

        /// <summary>The same, for this element and all that it is in.</summary>
        internal int MovesOfAll => Moves + (Above?.MovesOfAll ?? 0);

        internal bool Enabled { get; private set; } = true;

        internal List<Delegate> Changed { get; } = new();

        public void Add(VisualElement child)
        {
            VisualElement into = contentContainer;
            if (into != this)
            {
                into.Add(child);
                return;
            }
            Insert(children.Count, child);
        }

        public void Insert(int index, VisualElement element)
        {
            if (element.Above != null) element.Above.Remove(element);
            element.Above = this;
            element.Moves++;
            children.Insert(Math.Min(index, children.Count), element);
        }

        public void Remove(VisualElement element)
        {
            children.Remove(element);
            element.Above = null;
            element.Moves++;
        }

        public int IndexOf(VisualElement element) => children.IndexOf(element);

        public void Clear()
        {
            VisualElement of = contentContainer;
            foreach (VisualElement child in of.children)
            {
                child.Above = null;
                child.Moves++;
            }
            of.children.Clear();
        }

        public void AddToClassList(string className) => EnableInClassList(className, true);

        public void RemoveFromClassList(string className) => EnableInClassList(className, false);

        public void EnableInClassList(string className, bool enable)
        {
            classes.Remove(className);
            if (enable) classes.Add(className);
        }

        public void SetEnabled(bool value) => Enabled = value;

        internal void Hold(VisualElement child)
        {
            child.Above = this;
            children.Add(child);
        }

        /// <summary>Returns the visible elements: this one and its descendants, without those inside a hidden element.</summary>
        internal IEnumerable<VisualElement> Seen() => style.display.Value == DisplayStyle.None
            ? Enumerable.Empty<VisualElement>()
            : new[] { this }.Concat(children.ToArray().Where(c => Unfolded || this is not Foldout).SelectMany(c => c.Seen()));

        internal bool CanBeUsed()
        {
            for (VisualElement one = this; one != null; one = one.Above)
            {
                if (!one.Enabled) return false;
            }
            return true;
        }

        internal virtual bool Unfolded => true;

        /// <summary>The text that the element shows.</summary>
        internal virtual string Shown => "";

        internal IEnumerable<string> Classes => classes;

        internal void Raise<T>(T before, T after)
        {
            foreach (Delegate one in Changed.ToArray())
            {
                if (one is EventCallback<ChangeEvent<T>> callback) callback(new ChangeEvent<T> { previousValue = before, newValue = after });
            }
        }
    }

    public delegate void EventCallback<in TEventType>(TEventType evt);

    public class ChangeEvent<T>
    {
        public T previousValue { get; internal set; }

        public T newValue { get; internal set; }
    }

    public interface INotifyValueChanged<T>
    {
        T value { get; set; }

        void SetValueWithoutNotify(T newValue);
    }

    public static class INotifyValueChangedExtensions
    {
        public static bool RegisterValueChangedCallback<T>(this INotifyValueChanged<T> control, EventCallback<ChangeEvent<T>> callback)
        {
            if (control is not VisualElement element) return false;
            element.Changed.Add(callback);
            return true;
        }
    }

    public interface ITextSelection
    {
        bool isSelectable { get; set; }
    }

    internal sealed class ModelSelection : ITextSelection
    {
        public bool isSelectable { get; set; }
    }

    public class TextElement : VisualElement
    {
        public ITextSelection selection { get; } = new ModelSelection();

        public virtual string text { get; set; } = "";

        public bool enableRichText { get; set; } = true;

        internal override string Shown => text;
    }

    public class Label : TextElement
    {
        public Label(string text) => this.text = text;
    }

    public class Button : TextElement
    {
        private readonly Action clicked;

        public Button(Action clickEvent) => clicked = clickEvent;

        internal void Click() => clicked();
    }

    public abstract class BaseField<TValueType> : VisualElement, INotifyValueChanged<TValueType>
    {
        private TValueType held;

        internal BaseField(string label) => Title = label;

        internal string Title { get; }

        public virtual TValueType value
        {
            get => held;
            set
            {
                TValueType before = held;
                if (EqualityComparer<TValueType>.Default.Equals(before, value)) return;
                SetValueWithoutNotify(value);
                Raise(before, value);
            }
        }

        public virtual void SetValueWithoutNotify(TValueType newValue) => held = newValue;
    }

    public abstract class BaseBoolField : BaseField<bool>
    {
        public BaseBoolField(string label) : base(label)
        {
        }

        public string text { get; set; }

        internal override string Shown => text + (value ? " [on]" : " [off]");
    }

    public class Toggle : BaseBoolField
    {
        public Toggle() : base(null)
        {
        }
    }

    public class TextField : BaseField<string>
    {
        public TextField(string label) : base(label)
        {
        }

        internal override string Shown => Title + " [" + value + "]";
    }

    public class Foldout : VisualElement, INotifyValueChanged<bool>
    {
        private readonly VisualElement content = new();
        private bool open = true;

        public Foldout() => Hold(content);

        public string text { get; set; }

        public override VisualElement contentContainer => content;

        public bool value
        {
            get => open;
            set => SetValueWithoutNotify(value);
        }

        public void SetValueWithoutNotify(bool newValue) => open = newValue;

        internal override bool Unfolded => open;

        internal override string Shown => text;
    }

    public class ScrollView : VisualElement
    {
        private readonly VisualElement content = new();

        public ScrollView() => Hold(content);

        public override VisualElement contentContainer => content;
    }
}
