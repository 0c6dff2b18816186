//! The package's tools: each is in the list, does what it should, and refuses what the real one refuses, in its words.

use super::*;
use crate::holdfast::package;
use crate::holdfast::world::source;

/// A call: the tool, its arguments, and what its answer has: `+` for a success, `-` for a result that says it did nothing, `!` for a
/// refusal before anything ran; then a part of the answer.
type Row = (&'static str, &'static str, &'static str);

/// Plays calls in one editor, in order.
async fn play(editor: &Editor, rows: &[Row]) {
    let mut gateway = editor.gateway().await;
    let connection = editor.unity.stats().accepts;
    for (number, (tool, arguments, wanted)) in rows.iter().enumerate() {
        let answer = gateway.call(&format!("{connection}-{number}"), number as u64 + 1, tool, arguments).await;
        let verdict = match (&answer["error"], &answer["result"]["isError"]) {
            (Value::Null, Value::Bool(false)) => '+',
            (Value::Null, _) => '-',
            (error, _) if error["data"]["ran"] == false => '!',
            _ => '?',
        };
        let (sign, part) = wanted.split_at(1);
        assert!(
            sign.starts_with(verdict) && answer.to_string().contains(part),
            "{tool} {arguments}\n{wanted}\n{answer:#}"
        );
    }
}

async fn editor() -> Editor {
    Editor::with(FakeUnityConfig { compile_reload: Duration::ZERO, compile_time: Duration::ZERO, ..config() }).await
}

#[tokio::test]
async fn each_tool_does_what_it_should_and_refuses_what_is_wrong() {
    let rows: &[Row] = &[
        ("editor-state", "{}", r#"+"Name":"SampleScene""#),
        ("editor-state", r#"{"IncludePackages":true}"#, r#"+"com.unity.ugui":"2.0.0""#),
        ("editor-state", r#"{"Nothing":1}"#, "!editor-state has no argument Nothing; it has IncludePackages"),
        ("editor-state", r#"{"IncludePackages":1}"#, "!IncludePackages of editor-state must be true or false, not 1"),
        ("list-scenes", "{}", r#"+"ProjectScenes":["Assets/Scenes/SampleScene.unity"]"#),
        ("scene", r#"{"Action":"Create","Path":"Assets/Scenes/SampleScene.unity"}"#, "-it is not replaced"),
        (
            "scene",
            r#"{"Action":"Create","Path":"Assets/Scenes/Two.unity","Empty":true}"#,
            "+Saved Assets/Scenes/Two.unity",
        ),
        ("scene", r#"{"Action":"Open","Path":"Assets/Scenes/Nine.unity"}"#, "-There is no scene"),
        ("scene", r#"{"Action":"Open"}"#, "!Path is missing"),
        ("scene", r#"{"Path":"x"}"#, "!scene needs Action: Open or Create or Save or Close or Discard or Activate"),
        ("edit-game-object", r#"{"Action":"Create","Name":"World"}"#, r#"+Created World"#),
        (
            "edit-game-object",
            r#"{"action":"create","NAME":"Wall","Shape":"Cube","Parent":"World","Position":[0,1,0]}"#,
            "+World/Wall",
        ),
        (
            "edit-game-object",
            r#"{"Action":"Create","Name":"A","Positon":[0,1,0]}"#,
            "!no argument Positon; did you mean Position?",
        ),
        (
            "edit-game-object",
            r#"{"Action":"Mak","Name":"A"}"#,
            r#"!must be one of Create, Duplicate, Change, not \"Mak\""#,
        ),
        ("edit-game-object", r#"{"Action":"Create","Name":7}"#, "!Name of edit-game-object must be a text, not 7"),
        (
            "edit-game-object",
            r#"{"Action":"Create","Name":"A","Position":[0,true,0]}"#,
            "!Position[1] of edit-game-object must be a number, not true",
        ),
        ("edit-game-object", r#"{"Action":"Create","Name":"A","Position":[0,1]}"#, "!three numbers"),
        ("edit-game-object", r#"{"Action":"Change","Object":"Walls"}"#, "!No open scene has an object Walls (Object)"),
        (
            "edit-game-object",
            r#"{"Action":"Change","Object":"World","Parent":"World/Wall"}"#,
            "!lies below World itself",
        ),
        ("edit-game-object", r#"{"Action":"Change","Object":"World","Tag":"Nobody"}"#, "!no tag Nobody"),
        ("edit-game-object", r#"{"Action":"Duplicate","Object":"World/Wall"}"#, "+Duplicated as World/Wall (1)"),
        ("edit-game-object", r#"{"Action":"Change","Object":"World/Wall (1)","Name":"Wall"}"#, "+Changed World/Wall"),
        ("inspect", r#"{"Object":"World/Wall"}"#, "!Several objects have the path World/Wall"),
        ("undo", r#"{"Action":"Undo"}"#, "+AI: Change Wall"),
        ("undo", r#"{"Action":"Redo"}"#, "+Redid"),
        ("undo", r#"{"Action":"Undo","Steps":2}"#, "+AI: Duplicate"),
        ("undo", r#"{"Action":"Undo","Steps":0}"#, "!Steps must be 1 to 20"),
        ("inspect", r#"{"Object":"World/Wall"}"#, r#"+"m_LocalPosition""#),
        ("inspect", r#"{"Object":"World/Wall (BoxCollider)"}"#, r#"+"m_IsTrigger""#),
        (
            "inspect",
            r#"{"Object":"World/Wall","Components":["Rigidbody"]}"#,
            "!has no component Rigidbody (Components); it has Transform",
        ),
        (
            "edit-component",
            r#"{"Action":"Add","Object":"World/Wall","Component":"Rigidbody","Properties":{"mass":2}}"#,
            "+Added UnityEngine.Rigidbody to World/Wall",
        ),
        (
            "edit-component",
            r#"{"Action":"Add","Object":"World/Wall","Component":"Rigidbody"}"#,
            "-there may be one already",
        ),
        (
            "edit-component",
            r#"{"Action":"Add","Object":"World/Wall","Component":"Nobody"}"#,
            "!There is no component type Nobody",
        ),
        (
            "edit-component",
            r#"{"Action":"Set","Object":"World/Wall","Component":"Rigidbody","Properties":{"m_Mas":2}}"#,
            "!has no property m_Mas, but m_Mass",
        ),
        (
            "edit-component",
            r#"{"Action":"Set","Object":"World/Wall","Component":"BoxCollider","Properties":{"m_Size.x":4,"m_IsTrigger":true}}"#,
            "+Set m_Size.x, m_IsTrigger of Wall",
        ),
        (
            "edit-component",
            r#"{"Action":"Set","Object":"World/Wall","Component":"BoxCollider","Properties":{"m_Size":"x"}}"#,
            "!takes an object or a list with x, y, z",
        ),
        ("remove-component", r#"{"Object":"World/Wall","Component":"Transform"}"#, "!Every GameObject has a Transform"),
        ("remove-component", r#"{"Object":"World/Wall","Component":"Rigidbody"}"#, "+Removed UnityEngine.Rigidbody"),
        ("find-game-objects", r#"{"RequiredComponents":["Collider"]}"#, r#"+"totalFound":1"#),
        ("find-game-objects", r#"{"NamePattern":"^W.*l$","SearchMode":"Regex"}"#, r#"+"path":"World/Wall""#),
        ("find-game-objects", "{}", "!Give at least one of"),
        ("find-game-objects", r#"{"Tag":"Untagged","MaxResults":1,"IncludeProperties":false}"#, r#"+"nextPage":""#),
        ("find-game-objects", r#"{"Tag":"Untagged","Page":"none"}"#, "!begin again without Page"),
        ("find-game-objects", r#"{"MissingScripts":true}"#, r#"+"totalFound":0"#),
        ("find-game-objects", r#"{"ReferencesTo":"World"}"#, "!does not follow references"),
        ("get-hierarchy", "{}", r#"+"nodeCount":2"#),
        ("get-hierarchy", r#"{"MaxDepth":0}"#, r#"+"childrenCut":true"#),
        ("get-hierarchy", r#"{"MaxDepth":-2}"#, "!MaxDepth must not be below -1"),
        ("set-selection", r#"{"Objects":["World/Wall"]}"#, r#"+"SelectedCount":1"#),
        ("set-selection", r#"{"Objects":["Nobody"]}"#, "!No open scene has an object Nobody"),
        ("get-selection", "{}", r#"+"Path":"World/Wall""#),
        ("edit-asset", r#"{"Action":"CreateFolder","Path":"Assets/Art"}"#, "+Created Assets/Art"),
        ("edit-asset", r#"{"Action":"CreateMaterial","Path":"Assets/Art/Red.mat"}"#, "+UnityEngine.Material"),
        ("edit-asset", r#"{"Action":"CreateMaterial","Path":"Assets/None/Red.mat"}"#, "-There is no folder"),
        (
            "edit-asset",
            r#"{"Action":"CreateMaterial","Path":"Assets/../Red.mat"}"#,
            "!an empty part, or one that begins",
        ),
        (
            "edit-component",
            r#"{"Action":"Set","Object":"Assets/Art/Red.mat","Properties":{"_Color":[1,0,0,1]}}"#,
            "+Set _Color of Red",
        ),
        (
            "edit-component",
            r#"{"Action":"Set","Object":"World/Wall","Component":"MeshRenderer","Properties":{"material":"Assets/Art/Red.mat"}}"#,
            "+Set material",
        ),
        ("inspect", r#"{"Object":"World/Wall","Components":["MeshRenderer"]}"#, "+Assets/Art/Red.mat (Material)"),
        ("find-assets", r#"{"Filter":"t:Material red"}"#, r#"+"TotalCount":1"#),
        ("find-assets", r#"{"Folder":"Assets/None"}"#, "!There is no folder Assets/None"),
        ("find-assets", r#"{"MaxResults":1}"#, r#"+"NextPage":"Assets/"#),
        ("find-assets", r#"{"Page":"Assets/~"}"#, r#"+"Assets":[]"#),
        ("find-assets", r#"{"ReferencesTo":"Assets/Art/Red.mat"}"#, "!does not follow references"),
        (
            "edit-asset",
            r#"{"Action":"Move","Path":"Assets/Art","Destination":"Assets/Paint"}"#,
            "+Moved Assets/Art to Assets/Paint",
        ),
        ("inspect", r#"{"Object":"World/Wall","Components":["MeshRenderer"]}"#, "+Assets/Paint/Red.mat (Material)"),
        ("unity-search", r#"{"SearchQuery":"wall"}"#, r#"+"Provider":"scene""#),
        ("unity-search", r#"{"SearchQuery":" "}"#, "!SearchQuery is empty"),
        ("get-provider-details", "{}", r#"+"TotalCount":3"#),
        ("get-provider-details", r#"{"ProviderId":"none"}"#, "-There is no search provider 'none'"),
        ("delete-asset", r#"{"Path":"Assets/Scenes"}"#, "-is open; close it first"),
        ("delete-asset", r#"{"Path":"Assets/Paint"}"#, "+to the trash"),
        ("delete-game-object", r#"{"Object":"World/Wall"}"#, "+Deleted World/Wall"),
        ("get-selection", "{}", r#"+"SelectedCount":0"#),
        ("delete-game-object", r#"{"Object":""}"#, "!Object is empty"),
        ("screenshot", r#"{"Source":"Game"}"#, r#"+"type":"image""#),
        ("screenshot", r#"{"Source":"Camera"}"#, "-No camera has the tag MainCamera"),
        ("screenshot", r#"{"Source":"Object","Name":"World"}"#, "-whole pictures of its views"),
        ("screenshot", r#"{"Width":8}"#, "!Width and Height must be 16 to 2048"),
        ("get-menu-items", r#"{"FilterText":"file"}"#, r#"+"FilteredCount":2"#),
        ("get-menu-items", r#"{"FilterText":7}"#, "!must be a text"),
        ("execute-menu-item", r#"{"MenuItemPath":"GameObject/Create Empty"}"#, r#"+"Success":true"#),
        ("execute-menu-item", r#"{"MenuItemPath":"File/Exit"}"#, "-never executed for a client"),
        ("list-packages", r#"{"Search":"input"}"#, "+com.unity.inputsystem"),
        ("list-packages", r#"{"Search":1}"#, "!must be a text"),
        (
            "change-packages",
            r#"{"Action":"Add","Package":"com.unity.inputsystem@1.7.0"}"#,
            "+Added com.unity.inputsystem 1.7.0",
        ),
        ("change-packages", r#"{"Action":"Remove","Package":"com.none"}"#, "-The project has no package com.none"),
        ("list-tests", "{}", "+Game.Tests.Jumps"),
        ("list-tests", r#"{"MaxResults":0}"#, "!MaxResults must be 1 to 2000"),
        ("run-tests", "{}", "-There are scenes with unsaved changes"),
        ("run-tests", r#"{"SaveScenes":true}"#, "+2 passed, 0 failed, 0 skipped (EditMode)"),
        ("run-tests", r#"{"FilterType":"exact"}"#, "!FilterValue is empty"),
        ("execute-csharp", r#"{"Code":"return 1;"}"#, "-it runs no code"),
        ("execute-csharp", r#"{"Code":" "}"#, "!Code is empty"),
        ("clear-console", "{}", "+Cleared 0 console entries"),
        ("clear-console", r#"{"Add":1}"#, "!did you mean AddConfirmationMessage?"),
        ("get-logs", r#"{"LogType":"Log"}"#, "+Cleared 0 console entries"),
        ("get-logs", r#"{"MaxCount":-1}"#, "!MaxCount must not be below 0"),
        (
            "batch",
            r#"{"Calls":[{"Tool":"edit-game-object","Arguments":{"Action":"Create","Name":"P"}},{"tool":"edit-game-object","Arguments":{"Action":"Create","Name":"Q","Parent":"P"}}]}"#,
            "+All 2 calls are done",
        ),
        ("undo", r#"{"Action":"Undo"}"#, "+AI: 2 calls"),
        ("inspect", r#"{"Object":"P"}"#, "!No open scene has an object P"),
        (
            "batch",
            r#"{"Calls":[{"Tool":"compile"}]}"#,
            "!compile is called by itself, not in a batch (Calls, number 1)",
        ),
        (
            "batch",
            r#"{"Calls":[{"Tool":"inspect","Arguments":{"Objekt":1}}]}"#,
            "!did you mean Object? (Calls, number 1)",
        ),
        (
            "batch",
            r#"{"Calls":[{"Tool":"inspect","Args":{}}]}"#,
            "!batch has no argument Calls[0].Args; it has Tool, Arguments",
        ),
        ("batch", r#"{"Calls":[{"Tool":"inspect","Arguments":{"Object":"P"}}]}"#, "-Call 1 of 1 failed (inspect)"),
        ("compile", r#"{"RequestId":"x","toolCallId":"y"}"#, "+The scripts compile: 0 errors"),
        ("compile", r#"{"Forced":1}"#, "!compile has no argument Forced"),
        ("play-mode", r#"{"Action":"Pause"}"#, "-enter it first"),
        ("play-mode", r#"{"Action":"Enter"}"#, r#"+"IsPlaying":true"#),
        ("play-mode", r#"{"Action":"Step"}"#, r#"+"IsPaused":true"#),
        ("compile", "{}", "-leave it first, or set AllowInPlayMode"),
        ("play-mode", r#"{"Action":"Exit"}"#, "+The editor has left play mode"),
        ("play-mode", r#"{"Action":"Leave"}"#, "!must be one of Enter, Exit, Pause, Resume, Step"),
        ("edit-ui", r#"{"Kind":"Button","Name":"Start"}"#, "-The simulated editor has no user interface"),
        ("edit-ui", r#"{"Kind":"Slider"}"#, "!must be one of Canvas, EventSystem, Panel"),
        ("screenshot", r#"{"Sizes":["1920x1080"]}"#, "-gives whole pictures of its views and cameras only"),
        ("prefabs", r#"{"Action":"Save"}"#, "-No prefab is open"),
        ("prefabs", r#"{"Action":"Open","Path":"Assets/None.prefab"}"#, "!There is no prefab"),
        ("prefabs", r#"{"Action":"Save","Discard":true}"#, "!Discard is for Close only"),
        ("ping", r#"{"Message":"x"}"#, "+Unity MCP Bridge received: x"),
        ("debug-sleep", r#"{"SleepSeconds":0}"#, "+Slept for 0 seconds"),
        ("get-tool-details", "{}", r#"+"Tools""#),
        ("set-client-name", r#"{"ClientName":"x"}"#, "+Client name registered"),
    ];
    play(&editor().await, rows).await;
    let untested: Vec<&str> = package::tools()
        .iter()
        .map(|tool| tool.spec.name)
        .filter(|name| rows.iter().all(|(tool, ..)| tool != name))
        .collect();
    assert_eq!(untested, ["edit-script", "read-script"], "the next test has them");
    assert_eq!(package::tools().iter().filter(|tool| !tool.spec.development).count(), 35);
}

#[tokio::test]
async fn scripts_are_files_in_a_folder_of_the_fake_editors_own_and_what_no_parser_takes_is_red() {
    let editor = editor().await;
    play(&editor, &[
        ("edit-script", r#"{"Action":"Create","Path":"Assets/Scripts/A.cs","Text":"using UnityEngine;\npublic class A : MonoBehaviour { public int lives = 3; void Start() { Debug.Log(1) } }\n"}"#, "+Saved Assets/Scripts/A.cs"),
        ("edit-script", r#"{"Action":"Create","Path":"Assets/Scripts/A.cs","Text":"x"}"#, "-it is not replaced"),
        ("edit-script", r#"{"Action":"Create","Path":"Assets/A.unity","Text":"x"}"#, "!Path must end with one of .cs"),
        ("edit-script", r#"{"Action":"Create","Path":"../A.cs","Text":"x"}"#, "!must begin with Assets/ or Packages/"),
        ("compile", "{}", "-Assets/Scripts/A.cs(2,83): error CS1002: ; expected"),
        ("editor-state", "{}", r#"+"HasCompileErrors":true"#),
        ("play-mode", r#"{"Action":"Enter"}"#, "-The scripts do not compile"),
        ("run-tests", "{}", "-The scripts do not compile"),
        ("clear-console", "{}", "+1 stay, which Unity does not clear"),
        ("edit-script", r#"{"Action":"Replace","Path":"Assets/Scripts/A.cs","Edits":[{"OldText":"none","NewText":""}]}"#, "-OldText is not in"),
        ("edit-script", r#"{"Action":"Replace","Path":"Assets/Scripts/A.cs","Edits":[{"OldText":"Log(1)","NewText":"Log(1);"}]}"#, "+Saved"),
        ("read-script", r#"{"Path":"Assets/Scripts/A.cs","FirstLine":2,"MaxLines":1}"#, "+Log(1);"),
        ("read-script", r#"{"Path":"Assets/Scripts/B.cs"}"#, "!There is no file"),
        ("compile", "{}", "+The scripts compile"),
        ("edit-component", r#"{"Action":"Add","Object":"Main Camera","Component":"A"}"#, "+Added A to Main Camera"),
        ("inspect", r#"{"Object":"Main Camera","Components":["A"]}"#, r#"+"name":"lives""#),
        ("scene", r#"{"Action":"Save"}"#, "+Saved"),
    ]).await;
    let script = std::fs::read_to_string(editor.folder.path().join("Assets/Scripts/A.cs")).unwrap();
    assert!(script.contains("Log(1);"), "{script}");
    // What is saved outlives the process; what is not dies with it.
    play(&editor, &[("edit-game-object", r#"{"Action":"Create","Name":"Unsaved"}"#, "+Created")]).await;
    editor.unity.reload(Duration::from_millis(10)).await.unwrap();
    editor.back().await;
    let mut gateway = editor.gateway().await;
    let kept = gateway.call("k", 100, "inspect", r#"{"Object":"Unsaved"}"#).await;
    assert_eq!(kept["result"]["isError"], false, "a reload keeps it: {kept}");
    drop(gateway);
    editor.unity.crash().await.unwrap();
    editor.unity.up().await.unwrap();
    play(
        &editor,
        &[
            ("inspect", r#"{"Object":"Unsaved"}"#, "!No open scene"),
            ("inspect", r#"{"Object":"Main Camera","Components":["A"]}"#, "+lives"),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_instance_follows_its_prefab_but_for_what_it_has_changed() {
    let of = |object: &str| format!(r#"{{"Object":"{object}","Components":["Rigidbody"]}}"#);
    let (one, two) = (of("Box"), of("Two"));
    let (one, two): (&'static str, &'static str) = (one.leak(), two.leak());
    play(&editor().await, &[
        ("edit-game-object", r#"{"Action":"Create","Name":"Box","Shape":"Cube"}"#, "+Created"),
        ("edit-component", r#"{"Action":"Add","Object":"Box","Component":"Rigidbody"}"#, "+Added"),
        ("prefabs", r#"{"Action":"Create","Object":"Box","Path":"Assets/Box.prefab"}"#, "+Box is an instance of it now"),
        ("prefabs", r#"{"Action":"Instantiate","Path":"Assets/Box.prefab"}"#, "+is an instance of"),
        ("inspect", one, "!Several objects have the path Box"),
        ("undo", r#"{"Action":"Undo"}"#, "+AI: Instantiate Box"),
        ("edit-game-object", r#"{"Action":"Duplicate","Object":"Box","Name":"Two"}"#, "+Two"),
        ("edit-component", r#"{"Action":"Set","Object":"Two","Component":"Rigidbody","Properties":{"m_Mass":7}}"#, "+Set"),
        ("prefabs", r#"{"Action":"Open","Path":"Assets/Box.prefab"}"#, "+Opened"),
        ("get-hierarchy", "{}", r#"+"sceneType":"prefab""#),
        ("edit-game-object", r#"{"Action":"Change","Object":"Box","Name":"Other"}"#, "!The root of a prefab has the name of its file"),
        ("edit-component", r#"{"Action":"Set","Object":"Box","Component":"Rigidbody","Properties":{"m_Mass":3,"m_UseGravity":false}}"#, "+Set"),
        ("scene", r#"{"Action":"Open","Path":"Assets/Scenes/SampleScene.unity"}"#, "-A prefab with unsaved changes is open"),
        ("prefabs", r#"{"Action":"Save"}"#, "+Saved Assets/Box.prefab"),
        ("prefabs", r#"{"Action":"Close"}"#, "+Closed"),
        ("inspect", one, r#"+"name":"m_Mass","type":"float","value":3.0"#),
        ("inspect", two, r#"+"name":"m_Mass","type":"float","value":7.0"#),
        ("inspect", two, r#"+"name":"m_UseGravity","type":"bool","value":false"#),
        ("prefabs", r#"{"Action":"Apply","Object":"Two"}"#, "+Wrote the changes of Two into"),
        ("inspect", one, r#"+"name":"m_Mass","type":"float","value":7.0"#),
        ("edit-component", r#"{"Action":"Set","Object":"Two","Component":"Rigidbody","Properties":{"m_Mass":1}}"#, "+Set"),
        ("prefabs", r#"{"Action":"Revert","Object":"Two"}"#, "+Two is as Assets/Box.prefab again"),
        ("inspect", two, r#"+"name":"m_Mass","type":"float","value":7.0"#),
        ("prefabs", r#"{"Action":"Revert","Object":"Main Camera"}"#, "-is no instance of a prefab"),
    ]).await;
}

#[tokio::test]
async fn a_blocked_tool_is_refused_and_without_test_tools_the_list_is_the_packages() {
    let settings = FakeUnityConfig { blocked_tools: vec!["run-tests".to_owned()], test_tools: false, ..config() };
    let editor = Editor::with(settings).await;
    let mut gateway = editor.gateway().await;
    let listed = gateway.ask("holdfast/tools", r#"{"includeDevelopmentOnly":true}"#).await["result"]["tools"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|tool| text(tool, "name")).collect();
    assert_eq!(names, package::tools().iter().map(|tool| tool.spec.name).collect::<Vec<_>>());
    assert!(listed.as_array().unwrap().iter().all(|tool| tool["inputSchema"]["additionalProperties"] == false));
    assert_eq!(gateway.call("1", 1, "run-tests", "{}").await["error"]["data"]["type"], "security_blocked");
}

#[test]
fn only_what_no_parser_takes_is_an_error_of_the_compiler() {
    let body = |text: &str| format!("class A : B {{\n  void M() {{\n    {text}\n  }}\n}}\n");
    for (text, error) in [
        ("Foo.Bar()", "(3,14) error CS1002: ; expected"),
        ("Foo.Bar()\n    Foo.Bar();", "(3,14) error CS1002: ; expected"),
        ("int x = 5\n    int y = 6;", "(3,14) error CS1002: ; expected"),
        ("if (true) { return }", "(3,23) error CS1002: ; expected"),
        ("Foo.Bar(;", "(4,3) error CS1003: Syntax error, ')' expected"),
        ("var s = \"open;", "CS1010"),
        ("var c = 'a;", "CS1010"),
        ("/* open", "(3,5) error CS1035"),
        ("}", "(5,1) error CS1022"),
        ("{", "(5,2) error CS1513: } expected"),
        ("var s = $\"{a\";", "CS"),
    ] {
        let found = source::read(&body(text)).expect_err(text);
        let shown = format!("({},{}) {}", found[0].line, found[0].column, found[0].says);
        assert!(shown.contains(error), "{text}: {shown}");
    }
    for text in [
        "var a = new A() { B = C() };",
        "var a = x switch { 1 => F(), _ => G() };",
        "if (x is P(1, 2) p) { }",
        "var s = $\"{(a ? \"x\" : \"y\")} {{b}} {c:0}\" + @\"a\"\"{\" + $@\"{d}\n\";",
        "var q = from a in B.C() where a.D() select 1;",
        "var c = '\\'' + '\"' + '{'; // }",
        "for (int i = 0; i < 1; i++) { F(); }",
        "var o = 5 is int n ? 1 : 2; E.F() ; label: G();",
        "#if X\n{\n#else\n{\n#endif\n}",
        "void L() { M(); } L();",
        "Action a = () => { F(); }; a = delegate { G(); };",
        "double d = 1e-3f; var r = 0x1F_u; var x = 1..2;",
    ] {
        assert_eq!(source::read(&body(text)).map(|_| ()), Ok(()), "{text}");
    }
    // Every file of the real package compiles, so none may be an error here.
    let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../unity")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "cs") {
                assert_eq!(source::read(&std::fs::read_to_string(&path).unwrap()).map(|_| ()), Ok(()), "{path:?}");
                read += 1;
            }
        }
    }
    assert!(read > 200, "{read}");
}

#[test]
fn classes_have_their_fields_and_tests() {
    let text = "namespace Game { [Serializable] public class Hero : MonoBehaviour {\n [SerializeField] private float speed = -1.5f; public int Lives { get; set; }\n public string title = \"x\"; public static int Count; public int X => 5; private int hidden;\n [Test] public void Walks() { Assert.Pass(); } [UnityTest] public IEnumerator Plays() { yield return null; } } class Other { } }";
    let classes = source::read(text).unwrap();
    assert_eq!((classes[0].name.as_str(), classes[0].base.as_str()), ("Game.Hero", "MonoBehaviour"));
    assert_eq!(classes[0].tests, [("Walks".to_owned(), false), ("Plays".to_owned(), true)]);
    let component = classes[0].component(true);
    let fields: Vec<(&str, &Value)> = component.properties.iter().map(|one| (one.name.as_str(), &one.value)).collect();
    assert_eq!(fields, [("speed", &serde_json::json!(-1.5)), ("title", &serde_json::json!("x"))]);
    assert_eq!(classes[1].name, "Game.Other");
}
