using System;
using UnityEngine;
using UnityEngine.EventSystems;
using UnityEngine.UI;
using TMPro;

namespace UnityEditor
{
    /// <summary>The serialised properties of what a user interface is made of: names and first values are those of the packages.</summary>
    internal static class UiKinds
    {
        private static readonly string[] Corners =
        {
            "UpperLeft", "UpperCenter", "UpperRight", "MiddleLeft", "MiddleCenter", "MiddleRight", "LowerLeft", "LowerCenter", "LowerRight"
        };

        /// <summary>Returns false for what is no part of one.</summary>
        public static bool Fill(PropertyKinds.Maker made, UnityEngine.Object one)
        {
            void Flag(string name, bool value = true) => made.Add(0, name, "bool", SerializedPropertyType.Boolean, value);
            void Number(int depth, string name, float value) => made.Add(depth, name, "float", SerializedPropertyType.Float, value);
            switch (one)
            {
                case RectTransform:
                    made.Vector(0, "m_LocalScale", 1, 1, 1);
                    made.Pair("m_AnchorMin", 0.5f, 0.5f);
                    made.Pair("m_AnchorMax", 0.5f, 0.5f);
                    made.Pair("m_AnchoredPosition", 0, 0);
                    made.Pair("m_SizeDelta", 100, 100);
                    made.Pair("m_Pivot", 0.5f, 0.5f);
                    return true;
                case Canvas:
                    made.Add(0, "m_RenderMode", "int", SerializedPropertyType.Integer, 2);
                    return true;
                case CanvasScaler:
                    made.Choice(0, "m_UiScaleMode", 0, "ConstantPixelSize", "ScaleWithScreenSize", "ConstantPhysicalSize");
                    made.Pair("m_ReferenceResolution", 800, 600);
                    made.Choice(0, "m_ScreenMatchMode", 0, "MatchWidthOrHeight", "Expand", "Shrink");
                    Number(0, "m_MatchWidthOrHeight", 0);
                    return true;
                case TMP_Text:
                    made.Color("m_Color");
                    made.Add(0, "m_text", "string", SerializedPropertyType.String, "");
                    made.Color("m_fontColor");
                    Number(0, "m_fontSize", 36);
                    Number(0, "m_fontSizeBase", 36);
                    made.Choice(0, "m_HorizontalAlignment", 1, "None", "Left", "Center");
                    made.Choice(0, "m_VerticalAlignment", 256, "Top");
                    return true;
                case Text:
                    made.Color("m_Color");
                    made.Add(0, "m_FontData", "FontData", SerializedPropertyType.Generic);
                    made.Add(1, "m_FontSize", "int", SerializedPropertyType.Integer, 14);
                    made.Choice(1, "m_Alignment", 0, Corners);
                    made.Choice(1, "m_VerticalOverflow", 0, "Truncate", "Overflow");
                    made.Add(0, "m_Text", "string", SerializedPropertyType.String, "");
                    return true;
                case Image:
                    made.Color("m_Color");
                    made.Add(0, "m_Sprite", "PPtr<$Sprite>", SerializedPropertyType.ObjectReference);
                    made.Choice(0, "m_Type", 0, "Simple", "Sliced", "Tiled", "Filled");
                    return true;
                case UnityEngine.UI.Button:
                    Flag("m_Interactable");
                    made.Add(0, "m_TargetGraphic", "PPtr<$Graphic>", SerializedPropertyType.ObjectReference);
                    return true;
                case LayoutGroup:
                    made.Choice(0, "m_ChildAlignment", 0, Corners);
                    if (one is GridLayoutGroup)
                    {
                        made.Pair("m_CellSize", 100, 100);
                        made.Pair("m_Spacing", 0, 0);
                        return true;
                    }
                    Number(0, "m_Spacing", 0);
                    foreach (string name in new[] { "m_ChildForceExpandWidth", "m_ChildForceExpandHeight", "m_ChildControlWidth", "m_ChildControlHeight" }) Flag(name);
                    return true;
                case GraphicRaycaster:
                    Flag("m_IgnoreReversedGraphics");
                    return true;
                case EventSystem or BaseInputModule:
                    Flag("m_sendNavigationEvents");
                    return true;
                default:
                    return false;
            }
        }

        /// <summary>Whether the project has this type: its packages are there or not, by the editor's flags.</summary>
        public static bool IsThere(Type type) => type.Namespace switch
        {
            "UnityEngine.UI" or "UnityEngine.EventSystems" or "TMPro" => !EditorHost.Native.Current.Flag("noUserInterface"),
            "UnityEngine.InputSystem.UI" => EditorHost.Native.Current.Flag("inputSystem"),
            _ => true
        };
    }
}
