#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>How menu items are filtered. Names as uLoopMCP writes them.</summary>
    public enum MenuItemFilterType
    {
        /// <summary>The text is in the path.</summary>
        contains,

        /// <summary>It is the path.</summary>
        exact,

        /// <summary>The path begins with it.</summary>
        startswith
    }

    /// <summary>Parameters of <see cref="GetMenuItemsTool"/>.</summary>
    public sealed class GetMenuItemsSchema : BaseToolSchema
    {
        /// <summary>What to look for.</summary>
        [Description("Only items whose path fits this text, whatever its case; empty: all")]
        public string FilterText { get; set; } = "";

        /// <summary>How.</summary>
        [Description("contains, exact, or startswith")]
        public MenuItemFilterType FilterType { get; set; } = MenuItemFilterType.contains;

        /// <summary>With validation.</summary>
        [Description("With the functions that say whether an item is enabled")]
        public bool IncludeValidation { get; set; }

        /// <summary>Bound.</summary>
        [Description("The first so many")]
        public int MaxCount { get; set; } = 200;
    }

    /// <summary>A menu item.</summary>
    public sealed class MenuItemInfo
    {
        /// <summary>Its path, such as GameObject/Create Empty.</summary>
        public string Path { get; set; } = "";

        /// <summary>Its place in the menu.</summary>
        public int Priority { get; set; }

        /// <summary>It only says whether the item is enabled.</summary>
        public bool IsValidateFunction { get; set; }

        /// <summary>The method behind it; empty for native items.</summary>
        public string MethodName { get; set; } = "";

        /// <summary>The method's type.</summary>
        public string TypeName { get; set; } = "";

        /// <summary>The assembly.</summary>
        public string AssemblyName { get; set; } = "";

        /// <summary>The editor's own execution knows it.</summary>
        public bool CanExecuteViaEditorApplication { get; set; }

        /// <summary>It is part of the editor's native menu.</summary>
        public bool IsNative { get; set; }

        /// <summary>Its keys; empty if none.</summary>
        public string Shortcut { get; set; } = "";
    }

    /// <summary>Result of <see cref="GetMenuItemsTool"/>.</summary>
    public sealed class GetMenuItemsResponse : BaseToolResponse
    {
        /// <summary>By path.</summary>
        public IReadOnlyList<MenuItemInfo> MenuItems { get; set; } = Array.Empty<MenuItemInfo>();

        /// <summary>Items in all.</summary>
        public int TotalCount { get; set; }

        /// <summary>Items that fit.</summary>
        public int FilteredCount { get; set; }

        /// <summary>As asked.</summary>
        public string AppliedFilter { get; set; } = "";

        /// <summary>As asked.</summary>
        public string AppliedFilterType { get; set; } = "";
    }

    /// <summary>Lists the menu.</summary>
    [McpTool(
        Description = "Lists the items of the editor's menu, with the methods behind them", Title = "Get menu items", ReadOnly = true,
        Parallel = true)]
    public sealed class GetMenuItemsTool : AbstractUnityTool<GetMenuItemsSchema, GetMenuItemsResponse>
    {
        /// <inheritdoc/>
        public override string ToolName => "get-menu-items";

        /// <inheritdoc/>
        protected override Task<GetMenuItemsResponse> ExecuteAsync(GetMenuItemsSchema parameters, IToolContext context)
        {
            if (parameters.MaxCount < 0) throw new ToolParameterException("MaxCount must not be below 0");
            var filter = new TextFilter(nameof(parameters.FilterText), parameters.FilterText, parameters.FilterType switch
            {
                MenuItemFilterType.exact => TextMatch.Exact,
                MenuItemFilterType.startswith => TextMatch.StartsWith,
                _ => TextMatch.Contains
            }, true);
            List<MenuEntry> all = context.Get<IMenu>().Items().Where(i => parameters.IncludeValidation || !i.IsValidation).ToList();
            List<MenuEntry> fitting = all.Where(i => filter.Fits(i.Path)).OrderBy(i => i.Path, StringComparer.Ordinal)
                .ThenBy(i => i.IsValidation).ToList();
            return Task.FromResult(new GetMenuItemsResponse
            {
                MenuItems = fitting.Take(parameters.MaxCount).Select(Describe).ToList(),
                TotalCount = all.Count,
                FilteredCount = fitting.Count,
                AppliedFilter = parameters.FilterText,
                AppliedFilterType = parameters.FilterType.ToString()
            });
        }

        private static MenuItemInfo Describe(MenuEntry entry)
        {
            int dot = entry.Method.LastIndexOf('.');
            return new MenuItemInfo
            {
                Path = entry.Path, Priority = entry.Priority, IsValidateFunction = entry.IsValidation, Shortcut = entry.Shortcut,
                MethodName = entry.Method.Substring(dot + 1), TypeName = dot < 0 ? "" : entry.Method.Substring(0, dot),
                AssemblyName = entry.Assembly, IsNative = entry.IsNative, CanExecuteViaEditorApplication = !entry.IsValidation
            };
        }
    }

    /// <summary>Parameters of <see cref="ExecuteMenuItemTool"/>.</summary>
    public sealed class ExecuteMenuItemSchema : BaseToolSchema
    {
        /// <summary>Which.</summary>
        [McpRequired]
        [Description("The item's path, such as GameObject/Create Empty")]
        public string MenuItemPath { get; set; } = "";

        /// <summary>Another way.</summary>
        [Description("If the editor does not know the item, call the method that has it as its MenuItem")]
        public bool UseReflectionFallback { get; set; } = true;
    }

    /// <summary>Result of <see cref="ExecuteMenuItemTool"/>.</summary>
    public sealed class ExecuteMenuItemResponse : BaseToolResponse
    {
        /// <summary>As asked.</summary>
        public string MenuItemPath { get; set; } = "";

        /// <summary>It was executed.</summary>
        public bool Success { get; set; }

        /// <summary>EditorApplication, Reflection, or empty.</summary>
        public string ExecutionMethod { get; set; } = "";

        /// <summary>Why not; else empty.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>What to do about it.</summary>
        public string Details { get; set; } = "";

        /// <summary>There is such an item.</summary>
        public bool MenuItemFound { get; set; }
    }

    /// <summary>Executes a menu item, if the user allows it.</summary>
    [McpTool(
        Description = "Executes an item of the editor's menu. Items that end the editor, change the project or open a dialog that " +
            "blocks it are refused",
        Title = "Execute menu item", RequiredSecuritySetting = SecuritySettings.AllowMenuItemExecution, OpenWorld = true)]
    public sealed class ExecuteMenuItemTool : AbstractUnityTool<ExecuteMenuItemSchema, ExecuteMenuItemResponse>
    {
        // They end or block the editor that would have to answer.
        private static readonly HashSet<string> Blocked = new(StringComparer.OrdinalIgnoreCase)
        {
            "File/Exit", "File/Quit", "Unity/Quit Unity", "Unity/Quit", "File/New Project", "File/Open Project", "File/Open Recent Project",
            "File/Open Scene", "File/Save As", "File/Build And Run", "File/Build", "Assets/Import New Asset",
            "Assets/Import Package/Custom Package", "Assets/Export Package", "Assets/Delete"
        };

        /// <inheritdoc/>
        public override string ToolName => "execute-menu-item";

        /// <summary>Is it an item that is never executed, or one that changes what clients may do? Dots at the end, blanks and case do not count.</summary>
        public static bool IsBlocked(string path)
        {
            string plain = Plain(path);
            return Blocked.Contains(plain) || plain.StartsWith("File/Open Recent", StringComparison.OrdinalIgnoreCase) ||
                plain.StartsWith("Window/Holdfast", StringComparison.OrdinalIgnoreCase);
        }

        /// <inheritdoc/>
        protected override Task<ExecuteMenuItemResponse> ExecuteAsync(ExecuteMenuItemSchema parameters, IToolContext context)
        {
            string path = parameters.MenuItemPath.Trim().Trim('/');
            if (path.Length == 0) throw new ToolParameterException("MenuItemPath is empty");
            var response = new ExecuteMenuItemResponse { MenuItemPath = parameters.MenuItemPath };
            IMenu menu = context.Get<IMenu>();
            if (IsBlocked(path))
            {
                return Fail(response, "This item is never executed for a client",
                    "It ends or blocks the editor, so no answer could come, or it is the user's own switch");
            }
            response.MenuItemFound = menu.Exists(path);
            if (response.MenuItemFound && !menu.IsEnabled(path))
            {
                return Fail(response, "The item is disabled now", "It mostly wants something selected, or another mode of the editor");
            }
            if (menu.Execute(path))
            {
                response.MenuItemFound = true;
                return Done(response, "EditorApplication");
            }
            if (parameters.UseReflectionFallback && menu.Invoke(path))
            {
                response.MenuItemFound = true;
                return Done(response, "Reflection");
            }
            return Fail(response, response.MenuItemFound ? "The editor did not execute the item" : "There is no such item",
                "get-menu-items lists them");
        }

        private static string Plain(string path) => string.Join("/", path.Trim().TrimEnd('.', '\u2026').Split('/')
            .Select(part => part.Trim().TrimEnd('.', '\u2026').TrimEnd()).Where(part => part.Length > 0));

        private static Task<ExecuteMenuItemResponse> Done(ExecuteMenuItemResponse response, string method)
        {
            response.Success = true;
            response.ExecutionMethod = method;
            return Task.FromResult(response);
        }

        private static Task<ExecuteMenuItemResponse> Fail(ExecuteMenuItemResponse response, string why, string details)
        {
            response.ErrorMessage = why;
            response.Details = details;
            return Task.FromResult(response);
        }
    }
}
