//! A rule binds a tool under each name that it has in any package, through the program: every package, with deny and with allow.

use crate::binary::{Done, Place, Server, Unity, text, words};
use holdfast_fake_unity::{PACKAGES, Package, PackageVersion, Port};
use serde_json::{Value, json};

/// A tool of a package, arguments of a call, and names that such a tool has elsewhere, as rules with and without wildcards.
struct Known {
    tool: &'static str,
    arguments: String,
    elsewhere: Vec<String>,
}

fn known(package: &Package) -> Vec<Known> {
    let known = |(tool, others): &(&'static str, &'static [&'static str])| {
        let mut elsewhere: Vec<String> = others.iter().map(|name| (*name).to_owned()).collect();
        let (front, back) = others[0].split_at(others[0].len() / 2);
        elsewhere.extend([format!("{front}*"), format!("*{back}"), format!("{}?{}", &front[..front.len() - 1], back)]);
        Known { tool, arguments: arguments(tool).to_string(), elsewhere }
    };
    package.facts.other_names.iter().map(known).collect()
}

/// Arguments with which the tools of these roles do something.
fn arguments(tool: &str) -> Value {
    match tool {
        _ if tool.contains("menu") => json!({"path": "File/Save", "MenuItemPath": "File/Save"}),
        "query" => json!({"query": "Debug.Log(1)"}),
        "execute_code" => json!({"code": "Debug.Log(1)"}),
        "execute-dynamic-code" => json!({"Code": "return 1;"}),
        _ => json!({}),
    }
}

/// An editor of one package, and the flags that lead to it.
struct Stage {
    place: Place,
    unity: Unity,
    flags: Vec<String>,
}

impl Stage {
    async fn of(package: &Package) -> Self {
        Self::with(package, package.newest()).await
    }

    async fn with(package: &Package, version: PackageVersion) -> Self {
        let (dialect, version) = (package.name, version.to_string());
        let place = Place::new();
        let project = place.path("Castle");
        let editor = ["--project", text(&project), "--dialect", dialect, "--package-version", &version];
        let unity = Unity::start(&place, &editor).await;
        let mut flags: Vec<String> = ["--project", text(&project), "--dialect", dialect].map(str::to_owned).into();
        if !matches!(package.facts.port, Port::Record(..)) {
            flags.extend(["--port".to_owned(), unity.at()]);
        }
        Self { place, unity, flags }
    }

    fn flags(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).collect()
    }

    async fn run(&self, words: &[&str]) -> Done {
        self.place.run([words, &self.flags()].concat()).await
    }
}

/// Returns editors of a package, each with its tools that other packages have under other names: the newest version, and older ones
/// for the tools that it has no longer.
async fn editors(package: &Package) -> Vec<(Stage, Vec<Known>)> {
    let (mut missing, mut editors) = (known(package), Vec::new());
    let older = package.facts.versions.iter().rev().skip(1).copied();
    for version in std::iter::once(package.newest()).chain(older) {
        if missing.is_empty() {
            break;
        }
        let mut stage = Stage::with(package, version).await;
        stage.flags.push("--development".to_owned());
        let tools = stage.run(&["tools", "--json"]).await.json();
        let tools = tools["tools"].as_array().expect("a list");
        let (listed, others) =
            missing.into_iter().partition(|known: &Known| tools.iter().any(|tool| tool["name"] == known.tool));
        missing = others;
        editors.push((stage, listed));
    }
    let missing: Vec<&str> = missing.iter().map(|known| known.tool).collect();
    assert!(missing.is_empty(), "no version of {} lists {missing:?}", package.name);
    editors
}

/// A package with a tool `execute_menu_item`.
fn with_menu_item() -> &'static Package {
    Package::that(|facts| facts.other_names.iter().any(|(tool, _)| *tool == "execute_menu_item"))
}

fn is_refused(done: &Done) -> bool {
    done.code == Some(3) && done.err.contains("policy")
}

#[tokio::test]
async fn a_rule_that_refuses_binds_a_tool_under_its_names_in_every_package() {
    for package in PACKAGES {
        for (stage, tools) in editors(package).await {
            for Known { tool, arguments, elsewhere } in tools {
                let about = format!("{} {tool}", package.name);
                let called = stage.run(&["call", tool, &arguments]).await;
                assert!(!is_refused(&called) && called.code != Some(2), "{about}: {called:?}");
                for rule in elsewhere.iter().map(String::as_str).chain([tool]) {
                    let denied = stage.run(&["call", tool, &arguments, "--deny", rule]).await;
                    assert!(is_refused(&denied), "{about} --deny {rule}: {denied:?}");
                    assert!(denied.err.contains(&format!("deny \"{rule}\" (--deny")), "{denied:?}");
                }
                // What is hidden is refused by the same rules.
                let rule = elsewhere[0].as_str();
                let listed = stage.run(&["tools", "--json", "--hide-denied", "--deny", rule]).await.json();
                let has = |list: &str, member: &str| {
                    listed[list].as_array().expect("a list").iter().any(|one| one[member] == *tool)
                };
                assert!(has("hidden", "tool") && !has("tools", "name"), "{about} {rule}: {listed:#}");
                assert_eq!(listed["rules_without_tools"], json!([]), "{about} {rule}");
            }
            stage.unity.quit().await;
        }
    }
}

#[tokio::test]
async fn a_rule_that_allows_admits_nothing_under_a_name_of_another_package() {
    for package in PACKAGES {
        for (stage, tools) in editors(package).await {
            for Known { tool, arguments, elsewhere } in tools {
                let about = format!("{} {tool}", package.name);
                let allowed = stage.run(&["call", tool, &arguments, "--allow", tool]).await;
                assert!(!is_refused(&allowed), "{about}: {allowed:?}");
                let rule = elsewhere[0].as_str();
                let other = stage.run(&["call", tool, &arguments, "--allow", rule]).await;
                // Only our own package announces that its tools take other names; then either name allows the tool.
                assert_eq!(is_refused(&other), !package.facts.journal, "{about} --allow {rule}: {other:?}");
            }
            stage.unity.quit().await;
        }
    }
}

#[tokio::test]
async fn the_rules_of_every_file_bind_under_other_names_and_the_stricter_one_wins() {
    let stage = Stage::of(with_menu_item()).await;
    let file = stage.place.write("rules.toml", "[policy]\ndeny = ['execute-*']\n");
    let call = ["call", "execute_menu_item", r#"{"path":"File/Save"}"#];
    let by_file = stage.run(&[&call[..], &["--config", text(&file), "--allow", "execute_menu_item"]].concat()).await;
    assert!(is_refused(&by_file) && by_file.err.contains("rules.toml"), "{by_file:?}");
    let of_project = stage.place.write("Castle/holdfast.toml", "[policy]\ndeny = ['execute-menu-item']\n");
    let by_project = stage.run(&[&call[..], &["--allow", "execute_menu_item"]].concat()).await;
    assert!(is_refused(&by_project) && by_project.err.contains("holdfast.toml"), "{by_project:?}");
    std::fs::remove_file(of_project).expect("it was written");
    // A choice is a list of what is allowed: the name of another package chooses nothing.
    let chosen = "[projects.Castle]\ntools = ['execute-menu-item', 'read_console_logs']\n";
    let chosen = stage.place.write("chosen.toml", chosen);
    let left_out = stage.run(&[&call[..], &["--config", text(&chosen)]].concat()).await;
    assert!(left_out.code == Some(3) && left_out.err.contains("not among the tools chosen"), "{left_out:?}");
    stage.unity.quit().await;
}

#[tokio::test]
async fn a_batch_calls_no_tool_that_a_call_may_not() {
    let stage = Stage::of(Package::that(|facts| facts.journal)).await;
    let flags = stage.flags();
    let count = |key: &str| json!({"Calls": [{"Tool": "echo"}, {"tool": "count", "Arguments": {"key": key}}]});
    let runs = async |server: &mut Server, key: &str| {
        let result = server.call("runs", json!({"key": key})).await;
        serde_json::from_str::<Value>(words(&result)).expect("JSON")["Runs"].clone()
    };
    let mut free = Server::start(&stage.place, &flags).await;
    free.status_that("ready", |status| status["editor"]["ready"] == true).await;
    free.call("batch", count("free")).await;
    assert_eq!(runs(&mut free, "free").await, 1, "the batch runs what is in it");
    let rules = [["--deny", "count"], ["--deny", "c*t"], ["--allow", "batch,runs,echo"], ["--deny", "count,nothing"]];
    for rules in rules {
        let rule = rules.join(" ");
        let mut bound = Server::start(&stage.place, &[&flags[..], &rules].concat()).await;
        let result = bound.call("batch", count(&rule)).await;
        assert_eq!(result["isError"], true, "{rule}: {result}");
        let says = words(&result);
        assert!(says.starts_with("Not executed") && says.contains("policy refuses it"), "{rule}: {says}");
        assert_eq!(runs(&mut free, &rule).await, 0, "{rule}");
        bound.end().await;
    }
    free.end().await;
    stage.unity.quit().await;
}

#[tokio::test]
async fn a_rule_that_matches_nothing_is_told_by_each_command_and_by_the_log_once() {
    let stage = Stage::of(PACKAGES[0]).await;
    let flags = stage.flags();
    let deny = ["--deny", "nothing-*", "--deny", "get_logs", "--deny", "count", "--deny", "@group:Scenes"];
    let told = stage.run(&[&["tools"][..], &deny].concat()).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    let said = told.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in
        ["deny \"nothing-*\" (--deny", "matches none of this project's", "did you mean \"get-logs\"?", "in no groups"]
    {
        assert!(said.contains(says), "{says}: {said}");
    }
    assert!(!said.contains("! deny \"count\""), "{said}");
    let found = stage.run(&[&["doctor", "--json"][..], &deny].concat()).await.json();
    let list = found["findings"].as_array().expect("a list");
    let rules: Vec<&Value> = list.iter().filter(|one| one["about"] == "rules").collect();
    assert_eq!(rules.len(), 3, "{found:#}");
    assert!(rules.iter().any(|one| one["mend"].as_str().is_some_and(|fix| fix.contains("get-logs"))), "{rules:#?}");

    let mut server = Server::start(&stage.place, &[&flags[..], &deny, &["--log", "info"]].concat()).await;
    server.status_that("ready", |status| status["editor"]["ready"] == true).await;
    for _ in 0..2 {
        server.request("tools/list", json!({})).await;
    }
    let (_, log) = server.end().await;
    assert_eq!(log.matches("rule_matches_nothing").count(), 3, "{log}");
    assert_eq!(log.matches("nothing-*").count(), 1, "{log}");
    stage.unity.quit().await;

    let empty = Place::new();
    let project = empty.project("Empty");
    for command in [&["tools"][..], &["doctor", "-v"]] {
        let done = empty.run([command, &["--deny", "nothing-*", "--project", text(&project)]].concat()).await;
        let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("rules could not be compared"), "{command:?}: {said}");
    }
}
