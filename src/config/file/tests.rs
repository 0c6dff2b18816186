use super::*;
use crate::platform::host::RealHost;
use crate::protocol::policy::{Asker, unstated_tool};

/// Reads a user's file with this text. Also returns the folder that it is in.
fn user(text: &str) -> UserFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    let places = Places { home: Some("/home/u".into()), config: None };
    let mut file = read_user(&RealHost, Some(&path), &places);
    let shown = path.display().to_string();
    for complaint in file.complaints.iter_mut().chain(&mut file.grave) {
        *complaint = complaint.replace(&shown, "FILE");
    }
    file
}

fn project(text: &str) -> ProjectRules {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
    read_project(&RealHost, folder.path())
}

#[test]
fn every_section_is_read() {
    let file = user(
        "[policy]\nallow = ['get-*']\ndeny = ['@destructive', 'x']\n[audit]\nfile = '~/a.jsonl'\n[gateway]\nmetrics = '127.0.0.1:9464'\n[hub]\nstart = true\n",
    );
    assert_eq!(file.complaints, [""; 0]);
    assert_eq!((file.rules.allow.len(), file.rules.deny.len()), (1, 2));
    assert_eq!(file.audit, Some("/home/u/a.jsonl".into()));
    assert_eq!(file.gateway.metrics.and_then(|metrics| metrics.address), Some("127.0.0.1:9464".parse().unwrap()));
    assert!(file.found && file.hub.start && file.grave.is_empty());
}

#[test]
fn what_is_wrong_is_told_with_file_line_key_and_fix() {
    for (text, says, grave) in [
        ("a = ", "FILE, line 1: ", true),
        ("\n[policy]\ndenny = []\n", "FILE, line 3: [policy] has no key \"denny\"; write deny if that is", true),
        ("[policy]\nzzz = 1\n", "FILE, line 2: [policy] has no key \"zzz\"; remove it: its keys are allow, deny", true),
        (
            "[policy]\nallow = ['a',\n '@reed-only']\n",
            "FILE, line 3: [policy] allow: \"@reed-only\" is not an annotation",
            true,
        ),
        (
            "[policy]\ndeny = 'a'\n",
            "FILE, line 2: [policy] deny: invalid type: string \"a\", expected a sequence; write it as in: deny",
            true,
        ),
        ("policy = 1\n", "FILE, line 1: [policy] must be a section with keys; write [policy]", true),
        ("[polcy]\n", "FILE, line 1: there is no section [polcy]; write [policy] if that is", true),
        ("\ndeny = ['x']\n", "FILE, line 2: there is no section [deny]; write [policy]", true),
        ("[tools]\ndeny = ['x']\n", "FILE, line 1: there is no section [tools]; write [policy]", true),
        ("[xyz]\n", "FILE, line 1: there is no section [xyz]; remove it: there are [policy], [audit]", false),
        ("[gateway]\nmetrics = 'on'\ndeny = ['x']\n", "FILE, line 3: [gateway] has no key \"deny\"", true),
        ("[clients.codex]\ndeny = ['x']\n", "FILE, line 2: [clients.codex] has no key \"deny\"", true),
        ("[audit]\nfile = 1\n", "FILE, line 2: [audit] file: invalid type", true),
        ("tools = ['x']\n", "FILE, line 1: there is no section [tools]; write it below [clients.NAME] or", true),
        ("['clients.x']\n", "FILE, line 1: there is no section [clients.x]; write [clients.NAME] on a line", false),
        ("[projects.'*']\n", "FILE, line 1: [projects.\"*\"] names no project; write the whole name of", true),
        (
            "[audit]\nfile = 'a.jsonl'\n",
            "FILE, line 1: [audit] file \"a.jsonl\" would be another file in each folder; write its",
            true,
        ),
        ("[hub]\nstart = 'yes'\n", "FILE, line 2: [hub] start: invalid type: string", false),
        ("[gateway]\nmetric = 'on'\n", "FILE, line 2: [gateway] has no key \"metric\"; write metrics", false),
        ("[gateway]\nmetrics = '0.0.0.0:1'\n", "FILE, line 2: [gateway] metrics: only loopback addresses", false),
    ] {
        let file = user(text);
        assert!(file.complaints.iter().any(|complaint| complaint.starts_with(says)), "{text}: {:?}", file.complaints);
        assert_eq!(!file.grave.is_empty(), grave, "{text}");
    }
}

#[test]
fn a_section_that_is_wrong_takes_no_other_with_it() {
    let file = user("[policy]\ndeny = ['x']\n[gateway]\nmetrics = 1\n");
    assert_eq!((file.rules.deny.len(), file.gateway, file.grave.len()), (1, GatewaySection::default(), 0));
    let audit = if cfg!(windows) { r"C:\a" } else { "/a" };
    let file = user(&format!("[policy]\nalow = ['x']\n[audit]\nfile = '{audit}'\n"));
    assert_eq!((file.rules, file.audit, file.grave.len()), (PolicySection::default(), Some(audit.into()), 1));
}

#[test]
fn a_conventional_file_need_not_be_there_and_a_named_one_must() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { home: None, config: Some(folder.path().to_path_buf()) };
    let file = read_user(&RealHost, None, &places);
    assert_eq!(file.path, Some(folder.path().join("holdfast/config.toml")));
    assert!(!file.found && file.grave.is_empty());
    let file = read_user(&RealHost, Some(&folder.path().join("none.toml")), &places);
    assert!(file.grave.iter().any(|why| why.contains("none.toml: it cannot be read")), "{:?}", file.grave);
    assert_eq!(read_user(&RealHost, None, &Places::default()), UserFile::default());
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_the_users_file_and_never_to_a_projects() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let real = elsewhere.path().join("real.toml");
    std::fs::write(&real, "[policy]\ndeny = ['x']\n").unwrap();
    let link = folder.path().join(PROJECT_FILE);
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(read_user(&RealHost, Some(&link), &Places::default()).rules.deny.len(), 1);
    let rules = read_project(&RealHost, folder.path());
    assert!(rules.found && rules.policy.refusal_of_all().is_some(), "{rules:?}");
}

#[test]
fn a_file_that_is_no_text_or_too_large_refuses_everything() {
    for bytes in [vec![0xff; 8], vec![b'#'; CONFIG_FILE_MAX_BYTES + 1]] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PROJECT_FILE), bytes).unwrap();
        let rules = read_project(&RealHost, folder.path());
        assert!(rules.policy.refusal_of_all().is_some() && rules.complaints.len() == 1, "{rules:?}");
    }
}

#[test]
fn a_projects_file_narrows_and_does_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read_project(&RealHost, folder.path()), ProjectRules::default());
    let rules = project("[policy]\nallow = ['get-*']\n[audit]\nfile = '/etc/passwd'\n[gateway]\nmetrics = 'on'\n");
    assert!(rules.policy.refusal(&unstated_tool(&["run", "run"]), &Asker::default()).is_some());
    assert!(
        rules.policy.refusal(&unstated_tool(&["get-x", "get-x"]), &Asker::default()).is_none(),
        "what else is wrong refuses nothing"
    );
    assert_eq!(rules.complaints.len(), 2);
    assert!(rules.complaints.iter().all(|complaint| complaint.contains("may only narrow")), "{:?}", rules.complaints);
    let rules = project("[gateway]\ndeny = ['x']\n");
    assert!(
        rules.policy.refusal(&unstated_tool(&["get-x", "get-x"]), &Asker::default()).is_some(),
        "a rule under another header"
    );
    let rules = project("[policy]\nallow = 1\n");
    assert!(rules.policy.refusal(&unstated_tool(&["get-x", "get-x"]), &Asker::default()).is_some());
}

#[test]
fn what_a_file_says_reaches_no_terminal_as_it_is() {
    let file = user("[\"a\\u001b[31mb\"]\n");
    assert!(file.complaints.iter().all(|complaint| !complaint.contains('\u{1b}')), "{:?}", file.complaints);
}

/// docs/configuration.md names every section and every key, and its example can be read.
#[test]
fn the_documentation_has_every_key_and_an_example_that_is_right() {
    let page = include_str!("../../../docs/configuration.md");
    let sections = [
        (PolicySection::NAME, keys_of::<PolicySection>()),
        (AuditSection::NAME, keys_of::<AuditSection>()),
        (GatewaySection::NAME, keys_of::<GatewaySection>()),
        (HubSection::NAME, keys_of::<HubSection>()),
        (ClientSettings::NAME, keys_of::<ClientSettings>()),
        (ProjectSection::NAME, keys_of::<ProjectSection>()),
    ];
    assert_eq!(sections.map(|(name, _)| name), SECTIONS, "the sections of this test are all that there are");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    for (name, keys) in sections {
        let headed = ["]", "."].iter().any(|end| example.contains(&format!("\n[{name}{end}")));
        assert!(!keys.is_empty() && headed, "{name}");
        for key in keys {
            assert!(page.contains(&format!("| `{key}` |")), "the table of [{name}] has no row for {key}");
            assert!(example.contains(&format!("\n{key} = ")), "the example of [{name}] has no {key}");
        }
    }
    assert_eq!(user(example).complaints, [""; 0]);
}

#[test]
fn the_examples_in_the_fixes_are_right() {
    fn check<T: Section>() {
        assert_eq!(user(&format!("[{}]\n{}\n", T::NAME, T::EXAMPLE)).complaints, [""; 0]);
    }
    check::<PolicySection>();
    check::<AuditSection>();
    check::<GatewaySection>();
    check::<HubSection>();
    assert_eq!(user(&format!("[clients.codex]\n{}\n", ClientSettings::EXAMPLE)).complaints, [""; 0]);
    assert_eq!(user(&format!("[projects.Castle]\n{}\n", ProjectSection::EXAMPLE)).complaints, [""; 0]);
}

#[test]
fn clients_are_treated_as_the_user_says_and_one_that_is_wrong_takes_no_other_with_it() {
    let file = user(
        "[clients.codex]\npatience = 300\n[clients.'my editor*']\nlist_changed = true\n[clients.zed]\npatience = 2\n\
         [clients.goose]\npatiense = 9\n",
    );
    assert_eq!(file.clients.traits_of("codex-mcp-client").patience.as_secs(), 300);
    assert!(file.clients.traits_of("My Editor 7").list_changed && !file.clients.traits_of("another").list_changed);
    assert_eq!(file.clients.traits_of("Zed").patience.as_secs(), 60, "what is known of it");
    let told = |says: &str| file.complaints.iter().any(|complaint| complaint.starts_with(says));
    assert!(told("FILE, line 5: clients.zed.patience is 2, and must be"), "{:?}", file.complaints);
    assert!(told("FILE, line 8: [clients.goose] has no key \"patiense\"; write patience"), "{:?}", file.complaints);
    assert_eq!((file.complaints.len(), file.grave.len()), (2, 0));
    let file = user("clients = 3\n");
    assert!(
        file.complaints.iter().any(|complaint| complaint.contains("write [clients.NAME]")),
        "{:?}",
        file.complaints
    );
    let rules = project("[clients.codex]\npatience = 300\n");
    assert!(rules.complaints.iter().any(|complaint| complaint.contains("may only narrow")), "{:?}", rules.complaints);
}

#[test]
fn tools_can_be_chosen_for_clients_and_projects_and_a_mistake_there_refuses_everything() {
    let file =
        user("[clients.codex]\ntools = ['a']\n[projects.Castle]\ntools = ['b']\n[projects.'/x/../y']\ntools = ['c']\n");
    assert_eq!(file.complaints, [""; 0]);
    assert_eq!(
        file.clients.tools().map(|(name, tools)| (name, tools.len())).collect::<Vec<_>>(),
        [("codex".to_owned(), 1)]
    );
    assert_eq!(file.projects.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["Castle", "/x/../y"]);
    for wrong in [
        "[clients.codex]\ntools = 'a'\n",
        "[clients.codex]\ntool = ['a']\n",
        "[clients.codex]\ntools = ['a']\npatiense = 9\n",
        "[clients.codex]\ntools = ['a']\npatience = 2\n",
        "[projects.Castle]\ntolls = ['a']\n",
        "[projects.Castle]\ntools = ['@nothing']\n",
        "[projects]\ntools = ['a']\n",
        "[projects.'games/Castle']\ntools = ['a']\n",
        "[project.Castle]\ntools = ['a']\n",
        "[[projects]]\ntools = ['a']\n",
        "projects = ['a']\n",
        "[[projects.Castle]]\ntools = ['a']\n",
        "[projects]\nCastle = ['a']\n",
        "projects.Castle = 'a'\n",
        "[projects.My.Castle]\ntools = ['a']\n",
        "[projects.'Cast*']\ntools = ['a']\n",
        "[projects.'*']\ntools = ['a']\n",
        "[projects.'/x/*']\ntools = ['a']\n",
        "[projects.'']\ntools = ['a']\n",
        "[projects.'.']\ntools = ['a']\n",
        "[project]\nCastle = ['a']\n",
        "[['projects.Castle']]\ntools = ['a']\n",
        "[[clients.codex]]\ntools = ['a']\n",
        "[clients]\ncodex = ['a']\n",
        "[clients.my.editor]\ntools = ['a']\n",
        "[clients.'*']\ntools = ['a']\n",
        "['clients.codex']\ntools = ['a']\n",
        "'clients.codex' = ['a']\n",
        "[gateway.clients.codex]\ntools = ['a']\n",
        "[[gateway.clients.codex]]\ntools = ['a']\n",
        "[gateway.clients]\ncodex = ['a']\n",
        "[gateway]\nclients = ['a']\n",
        "[[gateway]]\nclients.codex.tools = ['a']\n",
        "[gateway]\ntools = ['a']\n",
        "[gateway.policy]\ndeny = ['a']\n",
        "[settings.here.clients.codex]\ntools = ['a']\n",
        "tools = ['a']\n",
        "tool = ['a']\n",
    ] {
        let file = user(wrong);
        assert_eq!((file.complaints.len(), file.grave.len()), (1, 1), "{wrong}: {:?}", file.complaints);
        assert!(file.projects.is_empty() && file.clients.tools().next().is_none(), "{wrong}");
    }
    for wrong in [
        "[clients.codex]\ntools_mx = 3\n",
        "[clients.codex]\npatience = 2\n",
        "[client.codex]\npatience = 300\n",
        "[gateway]\npatience = 300\n",
        "[gateway.clients.codex]\npatience = 300\n",
    ] {
        let file = user(wrong);
        assert_eq!((file.complaints.len(), file.grave.len()), (1, 0), "{wrong}: {:?}", file.complaints);
    }
    for choice in
        ["[clients.codex]\ntools = ['a']\n", "[[clients.codex]]\ntools = ['a']\n", "[projects]\nCastle = ['a']\n"]
    {
        let rules = project(choice);
        assert!(rules.policy.refusal_of_all().is_some(), "it chooses tools, and does not do so there: {choice}");
    }
    let rules = project("[policy]\ndeny = ['a']\nhide_denied = true\n");
    assert!(rules.policy.hides_denied() && rules.complaints.is_empty());
}
