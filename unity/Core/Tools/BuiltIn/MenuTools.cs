#nullable enable
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading.Tasks;

namespace Holdfast
{
    /// <summary>How menu items are filtered. Names are uLoopMCP's.</summary>
    internal enum MenuItemFilterType
    {
        /// <summary>The path contains the text.</summary>
        contains,

        /// <summary>The path equals the text.</summary>
        exact,

        /// <summary>The path begins with the text.</summary>
        startswith
    }

    /// <summary>Parameters of <see cref="GetMenuItemsTool"/>.</summary>
    internal sealed class GetMenuItemsSchema : BaseToolSchema
    {
        /// <summary>Text to compare with the paths, ignoring case; empty matches all.</summary>
        [Description("Only items whose path fits this text, whatever its case; empty: all")]
        public string FilterText { get; set; } = "";

        /// <summary>How the text is compared.</summary>
        [Description("contains, exact, or startswith")]
        public MenuItemFilterType FilterType { get; set; } = MenuItemFilterType.contains;

        /// <summary>Whether to list validation functions.</summary>
        [Description("With the functions that say whether an item is enabled")]
        public bool IncludeValidation { get; set; }

        /// <summary>Maximum number of items to return.</summary>
        [Description("The first so many")]
        public int MaxCount { get; set; } = 200;
    }

    /// <summary>A menu item.</summary>
    internal sealed class MenuItemInfo
    {
        /// <summary>Path of the item, such as GameObject/Create Empty.</summary>
        public string Path { get; set; } = "";

        /// <summary>The number that orders the items in the menu.</summary>
        public int Priority { get; set; }

        /// <summary>Whether this is the function that decides whether the item is enabled.</summary>
        public bool IsValidateFunction { get; set; }

        /// <summary>Name of the method behind the item; empty for native items.</summary>
        public string MethodName { get; set; } = "";

        /// <summary>Name of the method's type.</summary>
        public string TypeName { get; set; } = "";

        /// <summary>Name of the method's assembly.</summary>
        public string AssemblyName { get; set; } = "";

        /// <summary>Whether the editor can execute the entry: false only for validation functions.</summary>
        public bool CanExecuteViaEditorApplication { get; set; }

        /// <summary>Whether the item is part of the editor's native menu, so that no C# method is known for it.</summary>
        public bool IsNative { get; set; }

        /// <summary>The item's shortcut; empty if there is none.</summary>
        public string Shortcut { get; set; } = "";
    }

    /// <summary>Result of <see cref="GetMenuItemsTool"/>.</summary>
    internal sealed class GetMenuItemsResponse : BaseToolResponse
    {
        /// <summary>The items, sorted by path.</summary>
        public IReadOnlyList<MenuItemInfo> MenuItems { get; set; } = Array.Empty<MenuItemInfo>();

        /// <summary>Number of all items.</summary>
        public int TotalCount { get; set; }

        /// <summary>Number of items that match.</summary>
        public int FilteredCount { get; set; }

        /// <summary>The text of the filter.</summary>
        public string AppliedFilter { get; set; } = "";

        /// <summary>The type of the filter.</summary>
        public string AppliedFilterType { get; set; } = "";
    }

    /// <summary>Lists the menu items.</summary>
    [McpTool(
        Description = "Lists the items of the editor's menu, with the methods behind them", Title = "Get menu items", ReadOnly = true,
        Parallel = true)]
    internal sealed class GetMenuItemsTool : AbstractUnityTool<GetMenuItemsSchema, GetMenuItemsResponse>
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
    internal sealed class ExecuteMenuItemSchema : BaseToolSchema
    {
        /// <summary>Path of the item to execute.</summary>
        [McpRequired]
        [Description("The item's path, such as GameObject/Create Empty")]
        public string MenuItemPath { get; set; } = "";

        /// <summary>Whether to call the method behind the item if the editor does not execute it.</summary>
        [Description("If the editor does not know the item, call the method that has it as its MenuItem")]
        public bool UseReflectionFallback { get; set; } = true;
    }

    /// <summary>Result of <see cref="ExecuteMenuItemTool"/>.</summary>
    internal sealed class ExecuteMenuItemResponse : BaseToolResponse
    {
        /// <summary>The path that the caller gave.</summary>
        public string MenuItemPath { get; set; } = "";

        /// <summary>Whether the item was executed.</summary>
        public bool Success { get; set; }

        /// <summary>How the item was executed: EditorApplication or Reflection; empty if it was not.</summary>
        public string ExecutionMethod { get; set; } = "";

        /// <summary>Why the item was not executed; empty if it was.</summary>
        public string ErrorMessage { get; set; } = "";

        /// <summary>What the caller can do about the error; empty if there is no error.</summary>
        public string Details { get; set; } = "";

        /// <summary>Whether the item exists.</summary>
        public bool MenuItemFound { get; set; }
    }

    /// <summary>Executes a menu item, if the user allows it.</summary>
    [McpTool(
        Description = "Executes an item of the editor's menu. Items that end the editor, change the project or open a dialog that " +
            "blocks it are refused",
        Title = "Execute menu item", RequiredSecuritySetting = SecuritySettings.AllowMenuItemExecution, OpenWorld = true)]
    internal sealed class ExecuteMenuItemTool : AbstractUnityTool<ExecuteMenuItemSchema, ExecuteMenuItemResponse>
    {
        // Items that end or block the editor, so that it could not answer, or that change the project.
        private static readonly HashSet<string> Blocked = new(StringComparer.OrdinalIgnoreCase)
        {
            "File/Exit", "File/Quit", "Unity/Quit Unity", "Unity/Quit", "File/New Project", "File/Open Project", "File/Open Recent Project",
            "File/New Scene", "File/Open Scene", "File/Save As", "File/Save As Scene Template", "File/Build And Run", "File/Build", "Assets/Import New Asset",
            "Assets/Import Package/Custom Package", "Assets/Export Package", "Assets/Open", "Assets/Delete", "Assets/Reimport All",
            "Help/Reset Packages to defaults"
        };

        /// <inheritdoc/>
        public override string ToolName => "execute-menu-item";

        /// <summary>
        /// Whether the item is never executed: because it is in the list above, or because it opens our own window, where the
        /// user decides what clients may do. Trailing dots, blanks and case are ignored.
        /// </summary>
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
            if (Asks(path, context) is { } question) return Fail(response, question.Why, question.Details);
            response.MenuItemFound = menu.Exists(path);
            // The item may change the open prefab.
            OpenPrefab.WhyNotChanged(context);
            if (menu.Execute(path))
            {
                response.MenuItemFound = true;
                return Done(response, "EditorApplication");
            }
            // Asked only now: Unity may answer with the state that the item had when its menu was last open.
            if (response.MenuItemFound && !menu.IsEnabled(path))
            {
                return Fail(response, "The item is disabled now", "It mostly wants something selected, or another mode of the editor");
            }
            if (parameters.UseReflectionFallback && menu.Invoke(path))
            {
                response.MenuItemFound = true;
                return Done(response, "Reflection");
            }
            return Fail(response, response.MenuItemFound ? "The editor did not execute the item" : "There is no such item",
                "get-menu-items lists them");
        }

        // Unity asks for a file, or says what is wrong, in a dialog.
        private static (string Why, string Details)? Asks(string path, IToolContext context)
        {
            if (!string.Equals(Plain(path), "File/Save", StringComparison.OrdinalIgnoreCase)) return null;
            if (context.Get<IPrefabs>().OpenPath.Length > 0) return ("Unity may ask about the open prefab", "use prefabs with Save");
            if (context.Get<IEditorState>().Read().IsPlaying) return ("Unity saves no scene while the game runs", "leave play mode first");
            IReadOnlyList<SceneFile> open = context.Get<ISceneFiles>().Open();
            if (open.Any(s => s.Path.Length == 0)) return ("Unity would ask for the file of a scene that was never saved", "use scene with Save and a Path");
            return open.FirstOrDefault(s => s.IsDirty && AssetPaths.IsReadOnly(context.Get<IBridgeInfo>().Editor, s.Path)) is { } locked
                ? ($"Unity would ask about {locked.Path}, which is read-only", "check it out or make it writable first")
                : null;
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
