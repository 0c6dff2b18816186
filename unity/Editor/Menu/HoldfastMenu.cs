#nullable enable
using UnityEditor;

namespace Holdfast.Editor
{
    /// <summary>
    /// <c>Window > Holdfast</c>: what clients may do, and the bridge itself. No client can execute these items: they are
    /// the user's.
    /// </summary>
    internal static class HoldfastMenu
    {
        private const string Root = "Window/Holdfast/";
        private const string MenuItems = Root + "Allow Clients To Execute Menu Items";
        private const string Tests = Root + "Allow Clients To Run Tests";
        private const string OtherTools = Root + "Allow Tools Of This Project";
        private const string Unproven = Root + "Allow Clients That Cannot Prove Themselves";
        private const string StartBridge = Root + "Start";
        private const string StopBridge = Root + "Stop";

        private static HoldfastSettings Settings => HoldfastSettings.instance;

        [MenuItem(MenuItems)]
        private static void ToggleMenuItems() => Toggle(SecuritySettings.AllowMenuItemExecution);

        [MenuItem(MenuItems, true)]
        private static bool ShowMenuItems() => Show(MenuItems, IsOn(SecuritySettings.AllowMenuItemExecution));

        [MenuItem(Tests)]
        private static void ToggleTests() => Toggle(SecuritySettings.EnableTestsExecution);

        [MenuItem(Tests, true)]
        private static bool ShowTests() => Show(Tests, IsOn(SecuritySettings.EnableTestsExecution));

        [MenuItem(OtherTools)]
        private static void ToggleOtherTools() => Toggle(SecuritySettings.AllowThirdPartyTools);

        [MenuItem(OtherTools, true)]
        private static bool ShowOtherTools() => Show(OtherTools, IsOn(SecuritySettings.AllowThirdPartyTools));

        [MenuItem(Unproven)]
        private static void ToggleUnproven() => Settings.AllowUnprovenClients = !Settings.AllowUnprovenClients;

        [MenuItem(Unproven, true)]
        private static bool ShowUnproven() => Show(Unproven, Settings.AllowUnprovenClients);

        [MenuItem(StartBridge)]
        private static void Start() => Controller.Start();

        [MenuItem(StartBridge, true)]
        private static bool CanStart() => Controller.Bridge == null;

        [MenuItem(StopBridge)]
        private static void Stop() => Controller.Stop();

        [MenuItem(StopBridge, true)]
        private static bool CanStop() => Controller.Bridge != null;

        private static bool IsOn(SecuritySettings setting) => Settings.Security.IsOn(setting);

        private static void Toggle(SecuritySettings setting) => Settings.SetSwitch(setting, !IsOn(setting));

        private static bool Show(string path, bool on)
        {
            Menu.SetChecked(path, on);
            return true;
        }
    }
}
