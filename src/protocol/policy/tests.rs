//! Tests of rules and policies.

use super::pattern::matches;
use super::*;
use crate::limits::POLICY_RULE_MAX_BYTES;

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
}

fn tool<'a>(names: &[&'a str], annotations: &'a Annotations) -> ToolFacts<'a> {
    ToolFacts::new(names.to_vec(), annotations, None)
}

fn policy(deny: &[&str], allow: &[&str]) -> Policy {
    let mut policy = Policy::default();
    policy.deny(patterns(deny), "--deny");
    policy.allow(patterns(allow), "--allow");
    policy
}

fn reads() -> Annotations {
    Annotations { read_only_hint: true, ..unstated() }
}

#[test]
fn a_pattern_is_all_of_a_name_in_its_own_case() {
    for (pattern, name, is) in [
        ("compile", "compile", true),
        ("compile", "Compile", false),
        ("compile", "compile2", false),
        ("*", "", true),
        ("get-*", "get-logs", true),
        ("get-*", "get-", true),
        ("get-*", "forget-logs", false),
        ("*logs", "get-logs", true),
        ("*-*-*", "get-all-logs", true),
        ("*-*-*", "get-logs", false),
        ("get-log?", "get-logs", true),
        ("get-log?", "get-log", false),
        ("*a*b*c", "aXbXbXc", true),
        ("*a*b*c", "aXbXbXcX", false),
        ("Größe-?", "Größe-ß", true),
    ] {
        assert_eq!(matches(&pattern.chars().collect::<Vec<_>>(), name), is, "{pattern} {name}");
    }
}

#[test]
fn many_stars_take_no_more_than_the_product_of_the_lengths() {
    let pattern: Vec<char> = "*a".repeat(POLICY_RULE_MAX_BYTES / 2).chars().collect();
    assert!(!matches(&pattern, &"a".repeat(POLICY_RULE_MAX_BYTES / 2 - 1)));
    assert!(!matches(&pattern, &format!("{}b", "a".repeat(4096))));
}

#[test]
fn deny_beats_allow_and_an_allow_list_admits_only_what_it_names() {
    let policy = policy(&["get-secrets"], &["get-*", "compile"]);
    let refused = |name: &str| {
        policy.refusal(&tool(&[name, name], &unstated()), &Asker::default()).and_then(|grounds| grounds.rule)
    };
    assert_eq!(refused("get-logs"), None);
    assert_eq!(refused("compile"), None);
    assert_eq!(refused("get-secrets").unwrap(), "deny \"get-secrets\" (--deny)");
    assert_eq!(refused("run-tests").unwrap(), "it is not among what is allowed (--allow)");
    assert_eq!(Policy::default().refusal(&tool(&["x", "x"], &unstated()), &Asker::default()), None);
    assert!(Policy::default().is_empty() && !policy.is_empty());
}

#[test]
fn a_tool_is_known_by_both_of_its_names() {
    let policy = policy(&["run.code", "run_tests"], &[]);
    assert!(policy.refusal(&tool(&["run_code", "run.code"], &reads()), &Asker::default()).is_some());
    assert!(policy.refusal(&tool(&["run_tests", "run.tests"], &reads()), &Asker::default()).is_some());
    assert!(policy.refusal(&tool(&["run_all", "run.all"], &reads()), &Asker::default()).is_none());
}

#[test]
fn a_rule_on_any_name_of_a_tool_binds_it() {
    let names = ["play-mode", "play-mode", "control-play-mode"];
    assert!(policy(&["control-*"], &[]).refusal(&tool(&names, &reads()), &Asker::default()).is_some());
    assert!(policy(&["play-mode"], &[]).refusal(&tool(&names, &reads()), &Asker::default()).is_some());
    assert!(policy(&[], &["control-play-mode"]).refusal(&tool(&names, &reads()), &Asker::default()).is_none());
}

#[test]
fn every_allow_list_must_name_a_tool() {
    let mut policy = policy(&[], &["get-*"]);
    policy.allow(patterns(&["*-logs"]), "holdfast.toml");
    let refused = |name: &str| policy.refusal(&tool(&[name, name], &reads()), &Asker::default()).is_some();
    assert_eq!(["get-logs", "get-all", "clear-logs"].map(refused), [false, true, true]);
}

#[test]
fn annotations_are_what_mcp_says_of_them() {
    let names =
        |rule: &str, annotations: &Annotations| Pattern::parse(rule).unwrap().matches(&tool(&["t", "t"], annotations));
    let all = ["@read-only", "@destructive", "@idempotent", "@open-world"];
    assert_eq!(all.map(|rule| names(rule, &unstated())), [false, true, false, true]);
    // A read-only tool is never destructive, whatever its other hints say.
    assert_eq!(all.map(|rule| names(rule, &reads())), [true, false, true, true]);
    for rule in all {
        assert_ne!(names(rule, &reads()), names(&format!("!{rule}"), &reads()), "{rule}");
    }
}

#[test]
fn what_is_no_rule_is_told_with_the_fix() {
    for (text, says) in [
        ("", "empty"),
        ("@readonly", "@read-only"),
        ("!@", "not an annotation"),
        ("!compile", "other list"),
        (" compile", "spaces"),
        ("a\u{7}", "control"),
        (&"x".repeat(POLICY_RULE_MAX_BYTES + 1), "longer"),
    ] {
        let bad = Pattern::parse(text).unwrap_err().to_string();
        assert!(bad.contains(says) && !bad.contains('\u{7}'), "{text}: {bad}");
    }
}

#[test]
fn what_cannot_be_read_refuses_everything() {
    let mut policy = policy(&[], &["*"]);
    policy.refuse_all("config.toml, line 1: no TOML".to_owned());
    assert!(policy.refusal(&tool(&["t", "t"], &reads()), &Asker::default()).unwrap().says.contains("line 1"));
    let mut many = Policy::default();
    many.deny(vec![Pattern::parse("x").unwrap(); POLICY_RULES_MAX + 1], "--deny");
    assert!(many.refusal_of_all().unwrap().says.contains("--deny has more than"));
}

#[test]
fn the_rules_can_be_read_back() {
    assert_eq!(
        policy(&["a*", "@destructive"], &["b"]).lines(None),
        ["deny a*, @destructive (--deny)", "allow only b (--allow)"]
    );
}

#[test]
fn a_rule_on_a_group_binds_the_tools_of_that_group() {
    let reads = reads();
    let of = |group| ToolFacts::new(vec!["inspect"], &reads, group);
    let names = |rule: &str, group| Pattern::parse(rule).unwrap().matches(&of(group));
    for (group, is, is_not) in [(Some("Scenes"), true, false), (Some("Assets"), false, true), (None, false, true)] {
        assert_eq!((names("@group:scenes", group), names("!@group:Scenes", group)), (is, is_not), "{group:?}");
    }
    assert!(Pattern::parse("@group:").is_err());
    // Only the first prefix counts. The rest belongs to the name.
    for (group, is) in [(Some("Scenes"), false), (Some("group:scenes"), true), (Some(""), false)] {
        assert_eq!(names("@group:group:scenes", group), is, "{group:?}");
    }
    assert!(!names("@group:group:", Some("")) && names("@group:group:", Some("group:")));
}

#[test]
fn only_the_choices_that_mean_a_client_or_a_project_hold() {
    let mut policy = Policy::default();
    policy.choose_for_client("codex".to_owned(), patterns(&["a", "b"]), "[clients.codex]");
    policy.choose_for_client("Some*".to_owned(), patterns(&["c"]), "[clients.Some*]");
    policy.choose_for_client("Something".to_owned(), Vec::new(), "[clients.Something]");
    policy.choose_in_project("Castle".to_owned(), patterns(&["a", "c", "d"]), "[projects.Castle]");
    policy.choose_in_project("/games/Keep".to_owned(), patterns(&["d"]), "[projects.'/games/Keep']");
    let left = |client: &str, project: Option<&str>| {
        let asker = Asker { client, project: project.map(Path::new) };
        let is_left = |name: &&str| policy.refusal(&unstated_tool(&[name]), &asker).is_none();
        ["a", "b", "c", "d"].into_iter().filter(is_left).collect::<String>()
    };
    for (client, project, are_left) in [
        ("codex-mcp-client", None, "ab"),
        ("Someone", None, "c"),
        ("something", None, "abcd"),
        ("another", None, "abcd"),
        ("", Some("/games/castle"), "acd"),
        ("codex-mcp-client", Some("/games/Castle"), "a"),
        ("", Some("/other/Keep"), "abcd"),
        ("", Some("/games/Keep"), "d"),
        ("Someone", Some("/games/Keep"), ""),
    ] {
        assert_eq!(left(client, project), are_left, "{client} {project:?}");
    }
    let asker = Asker { client: "Someone", project: Some(Path::new("/games/Keep")) };
    assert_eq!(
        policy.lines(Some(&asker)),
        ["client Some* has only c ([clients.Some*])", "project /games/Keep has only d ([projects.'/games/Keep'])"]
    );
    assert_eq!(policy.lines(None).len(), 5);
    assert!(policy.left_out(&unstated_tool(&["a"]), &asker).unwrap().says.ends_with("add its name to that list"));
}

#[test]
fn a_policy_hides_what_was_not_chosen_and_what_it_denies_only_if_that_is_wanted() {
    let mut policy = policy(&["a"], &[]);
    let hides = |policy: &Policy, name: &str| {
        hidden([policy].into_iter(), &unstated_tool(&[name]), &Asker::default()).is_some()
    };
    assert!(!hides(&policy, "a"));
    policy.hide_denied("--hide-denied");
    assert!(hides(&policy, "a") && !hides(&policy, "b"));
    policy.refuse_all("a mistake".to_owned());
    assert!(!hides(&policy, "b"), "a mistake hides nothing");
}

#[test]
fn a_rule_that_refuses_binds_a_tool_under_its_name_in_a_union() {
    let project = Path::new("/home/me/games/Castle");
    let in_castle = Asker { project: Some(project), ..Asker::default() };
    let refused =
        |deny: &str, asker: &Asker<'_>| policy(&[deny], &[]).refusal(&unstated_tool(&["look"]), asker).is_some();
    for name in ["look_Castle", "look_games_Castle", "*_Castle"] {
        assert!(refused(name, &in_castle), "{name}");
        assert!(!refused(name, &Asker::default()), "{name}: no such editor");
    }
    assert!(!refused("look_Forest", &in_castle));
    let allows = policy(&[], &["look_Castle"]);
    assert!(
        allows.refusal(&unstated_tool(&["look"]), &in_castle).is_some(),
        "a list of what is allowed counts what it counted"
    );
}

#[test]
fn a_rule_without_a_tool_says_what_may_be_meant() {
    let mut policy =
        policy(&["get-logs", "RUN-*", "nothing-*", "holdfast_*", "!@group:Scens", "@idempotent"], &["run_tests", "x"]);
    policy.choose_in_project("Castle".to_owned(), patterns(&["get_log?"]), "config.toml");
    let annotations = unstated();
    let tools = [
        ToolFacts::new(vec!["get-logs"], &annotations, Some("Scenes")),
        ToolFacts::new(vec!["run-tests"], &annotations, None),
    ];
    let asker = Asker { project: Some(Path::new("/Castle")), ..Asker::default() };
    let idle = policy.idle(&tools, &asker);
    let said: Vec<String> = idle.iter().map(idle::Idle::sentence).collect();
    assert_eq!(
        said,
        [
            "deny \"RUN-*\" (--deny) matches none of this project's 2 tools; did you mean \"run-*\"?",
            "deny \"nothing-*\" (--deny) matches none of this project's 2 tools",
            "deny \"holdfast_*\" (--deny) is about holdfast's own tools, which rules neither refuse nor hide",
            "deny \"!@group:Scens\" (--deny) means every tool, because there is no such group; there are Scenes; did you mean \
             \"!@group:Scenes\"?",
            "deny \"@idempotent\" (--deny) matches none of this project's 2 tools",
            "allow \"run_tests\" (--allow) matches none of this project's 2 tools; did you mean \"run-tests\"?",
            "allow \"x\" (--allow) matches none of this project's 2 tools",
            "tools \"get_log?\" (config.toml) matches none of this project's 2 tools; did you mean \"get-log?\"?",
        ]
    );
}
