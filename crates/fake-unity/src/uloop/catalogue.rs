//! The built-in tools of the uLoop package: names, parameters, types, defaults and enumerations as the package declares
//! them at v0.30.1 and v2.1.1, and the JSON shape in which the package lists tools. The descriptions are our own.

use crate::json::{self, Object, quoted};
use crate::package_version::PackageVersion;
use crate::spec::{Kind, MORE_PARAM, Param, Tool, ToolSpec, array, choice, flag, number, text};
use crate::tools::TIMEOUT_SECONDS;

const fn tool(name: &'static str, about: &'static str, params: &'static [Param], result: &'static str) -> ToolSpec {
    ToolSpec { name, about, development: false, params, timeout_seconds: TIMEOUT_SECONDS, result }
}

const fn development(tool: ToolSpec) -> ToolSpec {
    ToolSpec { development: true, ..tool }
}

const NO_TEXT: &str = "\"\"";
const HELLO: &str = "\"Hello from TypeScript MCP Server\"";
const TEST_FILTERS: &[&str] = &["all", "exact", "regex", "assembly"];
const TEST_MODES: &[&str] = &["EditMode", "PlayMode"];
const TEST_RESULT: &str = "Success:bool Message:string CompletedAt:string TestCount:int PassedCount:int FailedCount:int \
                           SkippedCount:int XmlPath:string";
const CONSOLE_RESULT: &str =
    "Success:bool ClearedLogCount:int ClearedCounts:ClearedLogCounts Message:string ErrorMessage:string";
const LOGS_RESULT: &str = "TotalCount:int DisplayedCount:int LogType:string MaxCount:int SearchText:string \
                           IncludeStackTrace:bool Logs:LogEntry[]";

/// The tools at v0.30.1. `TimeoutSeconds` is added to each by [`entry`].
pub(crate) static EARLIER: [ToolSpec; 14] = [
    tool(
        "clear-console",
        "Empties the console.",
        &[flag("AddConfirmationMessage", "true", "Log a line that says so")],
        CONSOLE_RESULT,
    ),
    tool(
        "compile",
        "Compiles the project's scripts.",
        &[flag("ForceRecompile", "false", "Compile everything anew")],
        "",
    ),
    ToolSpec {
        timeout_seconds: 10,
        ..development(tool("debug-sleep", "Waits.", &[number("SleepSeconds", "15", "Seconds to wait")], ""))
    },
    tool(
        "execute-menu-item",
        "Runs an entry of the editor's menu.",
        &[
            text("MenuItemPath", NO_TEXT, "Path of the entry"),
            flag("UseReflectionFallback", "true", "Look the method up if the menu does not answer"),
        ],
        "MenuItemPath:string Success:bool ExecutionMethod:string ErrorMessage:string Details:string MenuItemFound:bool",
    ),
    tool(
        "find-game-objects",
        "Finds objects of the open scenes.",
        &[
            text("NamePattern", NO_TEXT, "Name or pattern"),
            choice("SearchMode", "0", &["Exact", "Path", "Regex", "Contains"], "How the name is compared"),
            array("RequiredComponents", "Components that must be present"),
            text("Tag", NO_TEXT, "Tag"),
            number("Layer", "null", "Layer"),
            flag("IncludeInactive", "false", "Inactive objects too"),
            number("MaxResults", "20", "Most objects to return"),
            flag("IncludeInheritedProperties", "false", "Properties of base classes too"),
        ],
        "results:FindGameObjectResult[] totalFound:int errorMessage:string",
    ),
    development(tool(
        "get-tool-details",
        "Lists the tools.",
        &[flag("IncludeDevelopmentOnly", "false", "Development tools too")],
        "",
    )),
    tool(
        "get-hierarchy",
        "Shows the tree of the open scenes.",
        &[
            flag("IncludeInactive", "true", "Inactive objects too"),
            number("MaxDepth", "-1", "Deepest level; -1 is all"),
            text("RootPath", "null", "Where to begin"),
            flag("IncludeComponents", "true", "Components too"),
            number("MaxResponseSizeKB", "100", "Larger trees go to a file"),
        ],
        "hierarchy:List<HierarchyNodeNested> context:HierarchyContext hierarchySavedToFile:bool \
         hierarchyFilePath:string saveToFileReason:string",
    ),
    tool(
        "get-logs",
        "Reads the console.",
        &[
            choice("LogType", "3", &["Log", "Warning", "Error", "All", "None"], "Kind of entries"),
            number("MaxCount", "100", "Most entries"),
            text("SearchText", NO_TEXT, "Text to look for"),
            flag("UseRegex", "false", "The text is a pattern"),
            flag("SearchInStackTrace", "false", "Look in stack traces too"),
            flag("IncludeStackTrace", "true", "Return stack traces"),
        ],
        LOGS_RESULT,
    ),
    tool(
        "get-menu-items",
        "Lists the editor's menu.",
        &[
            text("FilterText", NO_TEXT, "Text to look for"),
            choice("FilterType", "0", &["contains", "exact", "startswith"], "How it is compared"),
            flag("IncludeValidation", "false", "Validation functions too"),
            number("MaxCount", "200", "Most entries"),
        ],
        "MenuItems:List<MenuItemInfo> TotalCount:int FilteredCount:int AppliedFilter:string AppliedFilterType:string",
    ),
    development(tool("ping", "Answers.", &[text("Message", HELLO, "What to say")], "")),
    ToolSpec {
        timeout_seconds: 30,
        ..tool(
            "run-tests",
            "Runs the project's tests.",
            &[
                choice("TestMode", "0", TEST_MODES, "Where they run"),
                choice("FilterType", "0", TEST_FILTERS, "How the filter is compared"),
                text("FilterValue", NO_TEXT, "Filter"),
                flag("SaveXml", "false", "Write the results to a file"),
            ],
            TEST_RESULT,
        )
    },
    development(tool(
        "set-client-name",
        "Takes the client's name.",
        &[
            text("ClientName", "\"Unknown Client\"", "Name"),
            text("PushNotificationEndpoint", NO_TEXT, "Listener for push messages"),
            number("ClientPort", "0", "Port of the editor"),
        ],
        "",
    )),
    tool(
        "get-provider-details",
        "Lists the search providers.",
        &[
            text("ProviderId", NO_TEXT, "Only this one"),
            flag("ActiveOnly", "false", "Only active ones"),
            flag("SortByPriority", "true", "In order of priority"),
            flag("IncludeDescriptions", "true", "With descriptions"),
        ],
        "Providers:ProviderInfo[] TotalCount:int ActiveCount:int InactiveCount:int Success:bool ErrorMessage:string \
         AppliedFilter:string SortedByPriority:bool",
    ),
    tool(
        "unity-search",
        "Searches the project.",
        &[
            text("SearchQuery", NO_TEXT, "Query"),
            array("Providers", "Providers to ask"),
            number("MaxResults", "50", "Most results"),
            flag("IncludeDescription", "true", "With descriptions"),
            flag("IncludeMetadata", "false", "With metadata"),
            choice("SearchFlags", "0", &["Default", "Synchronous", "WantsMore", "Packages", "Sorted"], "Flags"),
            flag("SaveToFile", "false", "Write the results to a file"),
            choice("OutputFormat", "0", &["JSON", "CSV", "TSV"], "Format of that file"),
            number("AutoSaveThreshold", "100", "From so many results a file is written"),
            array("FileExtensions", "Only these extensions"),
            array("AssetTypes", "Only these kinds"),
            text("PathFilter", NO_TEXT, "Only below this path"),
        ],
        "Results:SearchResultItem[] TotalCount:int DisplayedCount:int SearchQuery:string ProvidersUsed:string[] \
         SearchDurationMs:long Success:bool ErrorMessage:string ResultsFilePath:string ResultsSavedToFile:bool \
         SavedFileFormat:string SaveToFileReason:string AppliedFilters:SearchFilterInfo",
    ),
];

/// The tools at v2.1.1, which has no `TimeoutSeconds`.
pub(crate) static LATER: [ToolSpec; 20] = [
    tool(
        "clear-console",
        "Empties the console.",
        &[flag("AddConfirmationMessage", "false", "Log a line that says so")],
        CONSOLE_RESULT,
    ),
    tool(
        "compile",
        "Compiles the project's scripts.",
        &[
            flag("ForceRecompile", "false", "Compile everything anew"),
            flag("WaitForDomainReload", "false", "Keep the result over the reload that follows"),
        ],
        "",
    ),
    tool(
        "control-play-mode",
        "Starts, stops or pauses play mode.",
        &[choice("Action", "0", &["Play", "Stop", "Pause"], "What to do")],
        "",
    ),
    development(tool("debug-sleep", "Waits.", &[number("SleepSeconds", "15", "Seconds to wait")], "")),
    tool(
        "execute-dynamic-code",
        "Compiles and runs C# in the editor.",
        &[
            text("Code", NO_TEXT, "Statements to run"),
            text("Parameters", "{}", "Values for them"),
            flag("CompileOnly", "false", "Do not run"),
            flag("YieldToForegroundRequests", "false", "Let other requests pass"),
        ],
        "Success:bool Result:string Logs:List<string> CompilationErrors:List<CompilationErrorDto> ErrorMessage:string \
         SecurityLevel:string UpdatedCode:string DiagnosticsSummary:string Diagnostics:List<CompilationErrorDto> \
         Timings:List<string>",
    ),
    tool(
        "find-game-objects",
        "Finds objects of the open scenes.",
        &[
            text("NamePattern", NO_TEXT, "Name or pattern"),
            choice("SearchMode", "0", &["Exact", "Path", "Regex", "Contains", "Selected"], "How the name is compared"),
            array("RequiredComponents", "Components that must be present"),
            text("Tag", NO_TEXT, "Tag"),
            number("Layer", "null", "Layer"),
            flag("IncludeInactive", "false", "Inactive objects too"),
            number("MaxResults", "20", "Most objects to return"),
            flag("IncludeInheritedProperties", "false", "Properties of base classes too"),
        ],
        "results:FindGameObjectResult[] totalFound:int errorMessage:string resultsFilePath:string message:string \
         processingErrors:ProcessingError[]",
    ),
    tool("focus-window", "Brings the editor to the front.", &[], "Success:bool Message:string ErrorMessage:string"),
    development(tool(
        "get-tool-details",
        "Lists the tools.",
        &[flag("IncludeDevelopmentOnly", "false", "Development tools too")],
        "",
    )),
    tool(
        "get-hierarchy",
        "Shows the tree of the open scenes.",
        &[
            flag("IncludeInactive", "true", "Inactive objects too"),
            number("MaxDepth", "-1", "Deepest level; -1 is all"),
            text("RootPath", "null", "Where to begin"),
            flag("IncludeComponents", "true", "Components too"),
            flag("IncludePaths", "false", "Paths too"),
            text("UseComponentsLut", "\"auto\"", "Write component names once"),
            flag("UseSelection", "false", "Begin at the selection"),
        ],
        "message:string hierarchyFilePath:string",
    ),
    tool(
        "get-logs",
        "Reads the console.",
        &[
            text("LogType", "\"All\"", "Kind of entries"),
            number("MaxCount", "100", "Most entries"),
            text("SearchText", NO_TEXT, "Text to look for"),
            flag("UseRegex", "false", "The text is a pattern"),
            flag("SearchInStackTrace", "false", "Look in stack traces too"),
            flag("IncludeStackTrace", "false", "Return stack traces"),
        ],
        LOGS_RESULT,
    ),
    development(tool(
        "get-version",
        "Tells the editor's version.",
        &[],
        "UnityVersion:string Platform:string DataPath:string PersistentDataPath:string TemporaryCachePath:string \
         IsEditor:bool ProductName:string CompanyName:string",
    )),
    development(tool("ping", "Answers.", &[text("Message", HELLO, "What to say")], "")),
    tool(
        "record-input",
        "Records the player's input.",
        &[
            choice("Action", "0", &["Start", "Stop"], "What to do"),
            text("OutputPath", NO_TEXT, "File to write"),
            text("Keys", NO_TEXT, "Only these keys"),
            number("DelaySeconds", "3", "Pause before it begins"),
            flag("ShowOverlay", "true", "Show that it records"),
        ],
        "Success:bool Message:string Action:string OutputPath:string? TotalFrames:int? DurationSeconds:float?",
    ),
    tool(
        "replay-input",
        "Replays recorded input.",
        &[
            choice("Action", "0", &["Start", "Stop", "Status"], "What to do"),
            text("InputPath", NO_TEXT, "File to read"),
            flag("ShowOverlay", "true", "Show that it replays"),
            flag("Loop", "false", "Begin again at the end"),
        ],
        "Success:bool Message:string Action:string InputPath:string? CurrentFrame:int? TotalFrames:int? \
         Progress:float? IsReplaying:bool?",
    ),
    tool(
        "run-tests",
        "Runs the project's tests.",
        &[
            choice("TestMode", "0", TEST_MODES, "Where they run"),
            choice("FilterType", "0", TEST_FILTERS, "How the filter is compared"),
            text("FilterValue", NO_TEXT, "Filter"),
            flag("SaveBeforeRun", "false", "Save the open scenes first"),
        ],
        TEST_RESULT,
    ),
    tool(
        "screenshot",
        "Takes a picture of a window.",
        &[
            text("WindowName", "\"Game\"", "Window"),
            number("ResolutionScale", "1.0", "Scale"),
            choice("MatchMode", "0", &["exact", "prefix", "contains"], "How the window's name is compared"),
            text("OutputDirectory", NO_TEXT, "Where to write"),
            choice("CaptureMode", "0", &["window", "rendering"], "What is captured"),
            flag("AnnotateElements", "false", "Mark elements of the user interface"),
            flag("ElementsOnly", "false", "Only list them"),
        ],
        "Screenshots:List<ScreenshotInfo>",
    ),
    development(tool(
        "set-client-name",
        "Takes the client's name.",
        &[text("ClientName", "\"Unknown Client\"", "Name")],
        "",
    )),
    tool(
        "simulate-keyboard",
        "Presses keys.",
        &[
            choice("Action", "0", &["Press", "KeyDown", "KeyUp"], "What to do"),
            text("Key", NO_TEXT, "Key"),
            number("Duration", "0.0", "Seconds"),
        ],
        "Success:bool Message:string Action:string KeyName:string?",
    ),
    tool(
        "simulate-mouse-input",
        "Moves the mouse of the player.",
        &[
            choice("Action", "0", &["Click", "LongPress", "MoveDelta", "SmoothDelta", "Scroll"], "What to do"),
            number("X", "0.0", "Place"),
            number("Y", "0.0", "Place"),
            choice("Button", "0", &["Left", "Right", "Middle"], "Button"),
            number("Duration", "0.0", "Seconds"),
            number("DeltaX", "0.0", "Way"),
            number("DeltaY", "0.0", "Way"),
            number("ScrollX", "0.0", "Scroll"),
            number("ScrollY", "0.0", "Scroll"),
        ],
        "Success:bool Message:string Action:string Button:string? PositionX:float? PositionY:float?",
    ),
    tool(
        "simulate-mouse-ui",
        "Clicks and drags on the user interface.",
        &[
            choice("Action", "0", &["Click", "Drag", "DragStart", "DragMove", "DragEnd", "LongPress"], "What to do"),
            number("X", "0.0", "Place"),
            number("Y", "0.0", "Place"),
            number("FromX", "0.0", "Where the way begins"),
            number("FromY", "0.0", "Where the way begins"),
            number("DragSpeed", "2000.0", "Pixels per second"),
            number("Duration", "0.5", "Seconds"),
            choice("Button", "0", &["Left", "Right", "Middle"], "Button"),
            flag("BypassRaycast", "false", "Ignore what is in front"),
            text("TargetPath", NO_TEXT, "Object"),
            text("DropTargetPath", NO_TEXT, "Object to drop on"),
        ],
        "Success:bool Message:string Action:string HitGameObjectName:string? PositionX:float PositionY:float \
         EndPositionX:float? EndPositionY:float?",
    ),
];

/// The parameter that versions before v0.43 add to every tool.
const TIMEOUT: &str = "TimeoutSeconds";

/// Returns a tool in the form in which `get-tool-details` lists it: names in camelCase, the schema inside in PascalCase.
pub(crate) fn entry(tool: &Tool, version: PackageVersion, blocked: bool) -> String {
    let mut properties = tool.spec.params.iter().fold(Object::new(), |properties, param| {
        let (kind, words) = match param.kind {
            Kind::Text => ("string", None),
            Kind::Flag => ("boolean", None),
            Kind::Number => ("number", None),
            Kind::Array => ("array", None),
            Kind::Choice(words) => ("string", Some(words)),
        };
        properties.raw(param.name, &property(kind, param.about, param.default, words))
    });
    let one_more = property("string", MORE_PARAM.about, MORE_PARAM.default, None);
    properties = tool.more_params().fold(properties, |properties, name| properties.raw(&name, &one_more));
    if version.tool_timeouts() {
        let default = tool.spec.timeout_seconds.to_string();
        properties = properties.raw(TIMEOUT, &property("number", "Seconds until the editor gives up", &default, None));
    }
    let about = tool.spec.about;
    let about = if blocked { format!("[BLOCKED] {about} - Blocked by security settings") } else { about.to_owned() };
    let schema = Object::new().raw("Properties", &properties.finish()).raw("Required", "[]");
    Object::new()
        .text("name", &tool.name)
        .text("description", &about)
        .raw("parameterSchema", &schema.finish())
        .flag("displayDevelopmentOnly", tool.spec.development)
        .finish()
}

fn property(kind: &str, about: &str, default: &str, words: Option<&[&str]>) -> String {
    let words = words.map_or_else(|| "null".to_owned(), |words| json::array(words.iter().map(|word| quoted(word))));
    Object::new()
        .text("Type", kind)
        .text("Description", about)
        .raw("DefaultValue", default)
        .raw("Enum", &words)
        .finish()
}
