// Stubs of windows and settings pages. Signatures are Unity's. The open windows are simulated; they are created again after a
// reload.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using EditorHost;
using UnityEditor;
using UnityEngine;
using UnityEngine.UIElements;

namespace UnityEditor
{
    public class EditorWindow : ScriptableObject
    {
        public Vector2 minSize { get; set; }

        public VisualElement rootVisualElement { get; } = new();

        public GUIContent titleContent { get; set; } = new("");

        public Rect position { get; set; } = new(0, 0, 800, 450);

        public bool hasFocus => Windows.Front == this;

        internal HostView m_Parent;

        public EditorWindow() => m_Parent = new HostView { Of = this };

        public void Focus() => Windows.Front = this;

        // Only a window whose tab is in front is drawn.
        public void Repaint()
        {
            if (hasFocus || Windows.Popups.Contains(this)) m_Parent.Draw();
        }

        public void ShowPopup()
        {
            Counted.Popups++;
            Windows.Popups.Add(this);
        }

        public void Close() => Windows.Popups.Remove(this);

        public static T GetWindow<T>(string title) where T : EditorWindow => (T)Windows.Open(typeof(T));
    }

    internal class View : ScriptableObject
    {
        internal EditorWindow Of { get; set; }

        // The tabs are above the window, and a border is below it. A popup has neither.
        internal float Top => Windows.Popups.Contains(Of) ? 0 : 24;

        public Rect position => new(0, 0, Of.position.width, Of.position.height + Top + (Top > 0 ? 2 : 0));
    }

    internal class GUIView : View
    {
        internal static GUIView Drawn { get; private set; }

        private bool isDrawn;

        /// <summary>What the window drew itself, the last on top.</summary>
        internal List<(Rect Place, Color Color)> Drawing { get; } = new();

        internal float GetBackingScaleFactor() => Windows.Scale;

        internal void Draw()
        {
            isDrawn = true;
            Drawing.Clear();
            Drawn = this;
            Windows.Message(Of, "OnGUI");
            (Of as GameView)?.Render();
        }

        /// <summary>
        /// Nobody outside knows what the real one does. By its flags, the editor here takes points or pixels, turns the picture upside
        /// down, or encodes the colours of a texture that is not linear once more.
        /// </summary>
        internal void GrabPixels(RenderTexture rd, Rect rect)
        {
            bool pixels = Native.Current.Flag("grabsPixels"), turned = Native.Current.Flag("grabsUpsideDown");
            float unit = pixels ? Windows.Scale : 1, width = rect.width / unit, height = rect.height / unit;
            Color[] seen = new[] { (1, 1), (7, 1), (1, 7), (7, 7) }.Select(at => At(width * at.Item1 / 8, height * at.Item2 / 8)).ToArray();
            if (turned) seen = seen.Skip(2).Concat(seen.Take(2)).ToArray();
            if (Native.Current.Flag("grabsEncoded") && rd.Mode != RenderTextureReadWrite.Linear) seen = seen.Select(Encoded).ToArray();
            rd.Corners = Native.Current.Flag("grabsNothing") ? new Color[4] : seen;
        }

        private Color At(float x, float y)
        {
            if (!isDrawn || x >= position.width || y >= position.height) return default;
            foreach ((Rect place, Color color) in Enumerable.Reverse(Drawing))
            {
                if (x >= place.x && x < place.x + place.width && y - Top >= place.y && y - Top < place.y + place.height) return color;
            }
            float grey = (0x40 + (x < position.width / 2 ? 0 : 0x10) + (y < position.height / 2 ? 0 : 0x20)) / 255f;
            return new Color(grey, grey, grey, 1);
        }

        private static Color Encoded(Color color)
        {
            float Part(float part) => (float)Math.Pow(part, 1 / 2.2);
            return new Color(Part(color.r), Part(color.g), Part(color.b), 1);
        }
    }

    internal class HostView : GUIView
    {
    }

    public sealed class EditorGUI
    {
        public static void DrawRect(Rect rect, Color color) => GUIView.Drawn.Drawing.Add((rect, color));
    }

    public class SceneView : EditorWindow
    {
        public static SceneView lastActiveSceneView => Windows.Views.OfType<SceneView>().FirstOrDefault();
    }

    public enum SettingsScope
    {
        User,
        Project
    }

    [AttributeUsage(AttributeTargets.Method)]
    public sealed class SettingsProviderAttribute : Attribute
    {
    }

    public class SettingsProvider
    {
        public SettingsProvider(string path, SettingsScope scopes, IEnumerable<string> keywords = null) => settingsPath = path;

        public string settingsPath { get; }

        public string label { get; set; }

        public virtual void OnActivate(string searchContext, VisualElement rootElement)
        {
        }

        public virtual void OnDeactivate()
        {
        }

        public virtual void OnInspectorUpdate()
        {
        }
    }

    public static class SettingsService
    {
        public static EditorWindow OpenUserPreferences(string settingsPath = null)
        {
            Windows.OpenSettings(settingsPath);
            return null;
        }
    }

    public class EditorGUIUtility
    {
        public static float pixelsPerPoint => Windows.Scale;

        public static UnityEngine.Object Load(string path) => null;

        public static string systemCopyBuffer
        {
            get => Native.Current.GetSession("clipboard") ?? "";
            set => Native.Current.SetSession("clipboard", value);
        }
    }
}

namespace EditorHost
{
    /// <summary>The open windows. They can be operated as a person would operate them.</summary>
    internal static class Windows
    {
        private const string Kept = "windows", InFront = "windows:front";
        private static readonly List<EditorWindow> Shown = new();
        private static (SettingsProvider Page, VisualElement Root)? settings;

        /// <summary>The windows without a tab.</summary>
        public static List<EditorWindow> Popups { get; } = new();

        /// <summary>How many pixels a point is.</summary>
        public static float Scale => Native.Current.Flag("scale150") ? 1.5f : Native.Current.Flag("scale200") ? 2 : 1;

        private static int ticked;

        /// <summary>The windows of Unity itself, of which one is behind the other.</summary>
        public static EditorWindow[] Views { get; } = Native.Current.Flag("batchMode") ? Array.Empty<EditorWindow>() : new EditorWindow[]
        {
            new SceneView { titleContent = new GUIContent("Scene") }, new GameView { titleContent = new GUIContent("Game") }
        };

        /// <summary>The window whose tab is in front; the first one, unless another one was in front before a reload.</summary>
        public static EditorWindow Front
        {
            get => Views.FirstOrDefault(v => v.titleContent.text == Native.Current.GetSession(InFront)) ?? Views.FirstOrDefault();
            set => Native.Current.SetSession(InFront, value.titleContent.text);
        }

        public static EditorWindow Open(Type type)
        {
            if (Shown.Find(w => w.GetType() == type) is { } there) return there;
            var window = (EditorWindow)Activator.CreateInstance(type);
            Shown.Add(window);
            Message(window, "OnEnable");
            Message(window, "CreateGUI");
            foreach (Foldout fold in window.rootVisualElement.Seen().OfType<Foldout>().Where(Persists))
            {
                if (Native.Current.GetSession("view:" + fold.viewDataKey) is { } open) fold.value = open == "True";
            }
            return window;
        }

        public static void OpenSettings(string path)
        {
            CloseSettings();
            SettingsProvider page = Menus.Methods().Where(m => m.IsDefined(typeof(SettingsProviderAttribute), false))
                .Select(m => (SettingsProvider)m.Invoke(null, null)).First(p => p.settingsPath == path);
            var root = new VisualElement();
            settings = (page, root);
            page.OnActivate("", root);
        }

        /// <summary>Creates again the windows that were open before the reload.</summary>
        public static void Load()
        {
            Resources.All = () => Shown.Concat(Views).Concat(Popups).ToArray<UnityEngine.Object>();
            foreach (string name in (Native.Current.GetSession(Kept) ?? "").Split('\n').Where(n => n.Length > 0))
            {
                Type type = Engine.Types.FirstOrDefault(t => t.FullName == name);
                if (type != null) Engine.Guard(() => Open(type));
            }
        }

        /// <summary>Calls OnInspectorUpdate ten times a second, as Unity does.</summary>
        public static void Tick()
        {
            foreach (EditorWindow popup in Popups.ToArray()) Engine.Guard(popup.m_Parent.Draw);
            if (unchecked(Environment.TickCount - ticked) < 100) return;
            ticked = Environment.TickCount;
            foreach (EditorWindow window in Shown.ToArray()) Engine.Guard(() => Message(window, "OnInspectorUpdate"));
            if (settings is { } shown) Engine.Guard(() => shown.Page.OnInspectorUpdate());
        }

        public static void Unload()
        {
            Native.Current.SetSession(Kept, string.Join("\n", Shown.Select(w => w.GetType().FullName)));
            foreach (EditorWindow window in Shown) Engine.Guard(() => Message(window, "OnDisable"));
            Shown.Clear();
            Engine.Guard(CloseSettings);
        }

        private static Button pressed;
        private static int moves;

        /// <summary>Carries out a command of the user and returns what is visible afterwards.</summary>
        /// <param name="line">One of: menu PATH, settings PATH, click NAME, press NAME, release, type NAME TEXT, set NAME on|off, fold TITLE, look, close.</param>
        public static string Order(string line)
        {
            string[] words = line.Split(new[] { ' ' }, 3);
            string argument = line.Substring(words[0].Length).Trim();
            switch (words[0])
            {
                case "menu":
                    EditorApplication.ExecuteMenuItem(argument);
                    break;
                case "settings":
                    OpenSettings(argument);
                    break;
                case "click":
                    Find<Button>(words[1]).Click();
                    break;
                // As in Unity, a button that is taken out and put in again while it is pressed is not clicked.
                case "press":
                    pressed = Find<Button>(words[1]);
                    moves = pressed.MovesOfAll;
                    break;
                case "release":
                    Button button = pressed;
                    pressed = null;
                    if (button.MovesOfAll != moves) throw new ArgumentException("the button was moved while it was pressed");
                    button.Click();
                    break;
                case "type":
                    Find<TextField>(words[1]).value = words.Length > 2 ? words[2] : "";
                    break;
                case "set":
                    Find<Toggle>(words[1]).value = words[2] == "on";
                    break;
                case "fold":
                    Foldout fold = Seen().OfType<Foldout>().First(f => f.text == argument);
                    fold.value = !fold.value;
                    if (Persists(fold)) Native.Current.SetSession("view:" + fold.viewDataKey, fold.value.ToString());
                    break;
                case "close":
                    foreach (EditorWindow window in Shown) Message(window, "OnDisable");
                    Shown.Clear();
                    CloseSettings();
                    break;
                case "look":
                    break;
                default:
                    throw new ArgumentException("unknown order " + line);
            }
            return string.Join("\n", Seen().Select(e => (e.name.Length > 0 ? e.name + ": " : "") + e.Shown).Where(l => l.Trim().Length > 0));
        }

        // As in Unity, nothing is kept of what is below an element that has a container for its content and no key.
        private static bool Persists(VisualElement one)
        {
            for (VisualElement above = one.Above; above != null; above = above.Above)
            {
                if (above.contentContainer != above && string.IsNullOrEmpty(above.viewDataKey)) return false;
            }
            return !string.IsNullOrEmpty(one.viewDataKey);
        }

        private static IEnumerable<VisualElement> Seen()
        {
            IEnumerable<VisualElement> roots = Shown.Select(w => w.rootVisualElement);
            if (settings is { } shown) roots = roots.Concat(new[] { shown.Root });
            return roots.SelectMany(r => r.Seen());
        }

        private static T Find<T>(string name) where T : VisualElement
        {
            T found = Seen().OfType<T>().FirstOrDefault(e => e.name == name) ?? throw new ArgumentException("nothing to be seen is named " + name);
            if (!found.CanBeUsed()) throw new ArgumentException(name + " is greyed out");
            return found;
        }

        private static void CloseSettings()
        {
            settings?.Page.OnDeactivate();
            settings = null;
        }

        internal static void Message(EditorWindow window, string name) => window.GetType()
            .GetMethod(name, BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)?.Invoke(window, null);
    }
}
