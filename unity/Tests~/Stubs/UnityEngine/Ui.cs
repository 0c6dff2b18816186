// The components of Unity's user interface, of TextMesh Pro and of the Input System, which are packages. The package under test reaches
// them by name only, so these are not visible. What Unity does when one is added in the editor, it does here.
using System;
using UnityEngine.EventSystems;

namespace UnityEngine
{
    internal class Canvas : Behaviour
    {
    }
}

namespace UnityEngine.EventSystems
{
    [DisallowMultipleComponent]
    internal class EventSystem : MonoBehaviour
    {
    }

    internal abstract class BaseInputModule : MonoBehaviour
    {
    }

    internal class StandaloneInputModule : BaseInputModule
    {
    }
}

namespace UnityEngine.InputSystem.UI
{
    internal class InputSystemUIInputModule : BaseInputModule
    {
    }
}

namespace UnityEngine.UI
{
    internal class CanvasScaler : MonoBehaviour
    {
    }

    internal class GraphicRaycaster : MonoBehaviour
    {
    }

    [DisallowMultipleComponent]
    internal abstract class Graphic : MonoBehaviour
    {
    }

    internal class Image : Graphic
    {
    }

    internal class Text : Graphic
    {
    }

    internal class Button : MonoBehaviour
    {
        internal override void Added() => Values["m_TargetGraphic"] = Owner.GetComponents<Graphic>()[0];
    }

    [DisallowMultipleComponent]
    internal abstract class LayoutGroup : MonoBehaviour
    {
    }

    internal abstract class HorizontalOrVerticalLayoutGroup : LayoutGroup
    {
        internal override void Added() => (Values["m_ChildControlWidth"], Values["m_ChildControlHeight"]) = (false, false);
    }

    internal class HorizontalLayoutGroup : HorizontalOrVerticalLayoutGroup
    {
    }

    internal class VerticalLayoutGroup : HorizontalOrVerticalLayoutGroup
    {
    }

    internal class GridLayoutGroup : LayoutGroup
    {
    }
}

namespace TMPro
{
    internal class TMP_Settings : UnityEngine.ScriptableObject
    {
    }

    internal abstract class TMP_Text : UnityEngine.UI.Graphic
    {
        // Without its resources, it opens a window that asks for them.
        internal override void Added()
        {
            if (!Essentials()) Asked();
        }

        internal static Func<bool> Essentials { get; set; }

        internal static Action Asked { get; set; }
    }

    internal class TextMeshProUGUI : TMP_Text
    {
    }
}
