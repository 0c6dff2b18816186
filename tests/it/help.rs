//! What a person reads first: help that fits on a screen, and a proposal for each misspelt word.

use crate::binary::{Done, Place, Unity, finish, text};

/// The words of every subcommand, as the program's own help and completions know them.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["setup"],
    &["skill"],
    &["skill", "install"],
    &["skill", "remove"],
    &["skill", "list"],
    &["skill", "show"],
    &["unity"],
    &["unity", "install"],
    &["unity", "status"],
    &["unity", "remove"],
    &["doctor"],
    &["demo"],
    &["status"],
    &["logs"],
    &["report"],
    &["dashboards"],
    &["tools"],
    &["call"],
    &["serve"],
    &["hub"],
    &["completions"],
    &["fake-unity"],
];

async fn help(place: &Place, words: &[&str], flag: &str, columns: &str) -> String {
    let mut command = place.command(words.iter().copied().chain([flag]));
    command.env("COLUMNS", columns);
    let done = finish(command, b"").await;
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{words:?} {flag}: {done:?}");
    done.out
}

#[tokio::test]
async fn short_help_fits_on_a_screen_and_no_help_is_wider_than_the_terminal() {
    let place = Place::new();
    for words in COMMANDS {
        let short = help(&place, words, "-h", "80").await;
        assert!(short.lines().count() <= 30, "{words:?}: {} lines\n{short}", short.lines().count());
        assert!(short.contains("Usage: holdfast"), "{words:?}: {short}");
        let long = help(&place, words, "--help", "80").await;
        for (flag, shown) in [("-h", &short), ("--help", &long)] {
            for line in shown.lines() {
                assert!(line.chars().count() <= 80, "{words:?} {flag}: {line}");
            }
            // Links and paths of the source say nothing to a user.
            assert!(!shown.contains("[`") && !shown.contains("::"), "{words:?} {flag}: {shown}");
        }
        // An example is a line to copy. A wrapped one cannot be copied.
        for example in long.lines().filter(|line| line.starts_with("  holdfast ")) {
            let narrow = help(&place, words, "--help", "100").await;
            assert!(narrow.lines().any(|line| line == example), "{words:?}: {example} is wrapped");
        }
    }
}

#[tokio::test]
async fn help_names_every_command_the_first_ones_first() {
    let place = Place::new();
    for flag in ["-h", "--help"] {
        let shown = help(&place, &[], flag, "80").await;
        let at = |word: &str| shown.find(word).unwrap_or_else(|| panic!("no {word:?} in {shown}"));
        for words in COMMANDS.iter().filter(|words| words.len() == 1) {
            at(words[0]);
        }
        assert!(at("\n  setup") < at("\n  status") && at("\n  status") < at("\n  serve"), "{shown}");
        // The options of `serve` are those of the program too; its own help lists them.
        assert!(!shown.contains("--patience"), "{shown}");
    }
    let long = help(&place, &["serve"], "--help", "80").await;
    for word in ["--patience", "[env: HOLDFAST_PATIENCE]", "Editor:", "Rules on tools:", "TSavo/Unity-MCP only:"] {
        assert!(long.contains(word), "no {word} in {long}");
    }
}

#[tokio::test]
async fn a_misspelt_word_gets_a_proposal() {
    let place = Place::new();
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    let proposes = |done: &Done, word: &str| {
        assert!(done.code == Some(2) && done.err.to_lowercase().contains("did you mean"), "{word}: {done:?}");
        assert!(done.err.contains(word), "{word}: {done:?}");
    };
    let command = place.run(["stauts"]).await;
    assert!(
        command.code == Some(2) && command.err.contains("similar subcommand") && command.err.contains("'status'"),
        "{command:?}"
    );
    proposes(&place.run(["setup", "cursr"]).await, "holdfast setup cursor");
    proposes(&place.run(["doctor", "--clients", "claude-cod"]).await, "claude-code");
    proposes(&place.run(["call", "compil", "--project", text(&project)]).await, "compile");
    proposes(&place.run(["call", "echo", "--editor", "Castl"]).await, "Castle");
    unity.quit().await;
}

/// Asks for completions of the last word, as the script of a shell does.
async fn completed(place: &Place, words: &[&str]) -> Vec<String> {
    let mut command = place.command(["--", "holdfast"].into_iter().chain(words.iter().copied()));
    command
        .env("HOLDFAST_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n");
    let done = finish(command, b"").await;
    assert_eq!((done.code, &*done.err), (Some(0), ""), "{words:?}: {done:?}");
    done.out.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn completions_know_clients_tools_and_editors() {
    let place = Place::new();
    assert!(completed(&place, &["sta"]).await.contains(&"status".to_owned()));
    for words in [&["setup", "c"][..], &["tools", "--client", "c"], &["doctor", "--clients", "c"]] {
        let clients = completed(&place, words).await;
        assert!(clients.contains(&"claude-code".to_owned()) && clients.contains(&"cursor".to_owned()), "{clients:?}");
    }
    let own = completed(&place, &["call", ""]).await;
    assert!(own.contains(&"holdfast_status".to_owned()) && !own.contains(&"compile".to_owned()), "{own:?}");

    // A session leaves its editor's tools on disk. Then they are known without an editor.
    let project = place.path("Castle");
    let unity = Unity::of(&place, &project).await;
    assert_eq!(place.run(["tools", "--project", text(&project)]).await.code, Some(0));
    unity.quit().await;
    let tools = completed(&place, &["call", "com"]).await;
    assert!(tools.contains(&"compile".to_owned()), "{tools:?}");
    assert_eq!(completed(&place, &["status", "--editor", "Ca"]).await, ["Castle"]);
}

#[tokio::test]
async fn completions_are_for_the_shell_that_is_used() {
    let place = Place::new();
    let mut command = place.command(["completions"]);
    command.env("SHELL", "/usr/bin/zsh");
    let zsh = finish(command, b"").await;
    assert!(
        zsh.code == Some(0) && zsh.out.contains("#compdef holdfast") && zsh.out.contains("HOLDFAST_COMPLETE"),
        "{zsh:?}"
    );
    let unknown = place.run(["completions"]).await;
    assert!(unknown.code == Some(2) && unknown.err.contains("name one: bash"), "{unknown:?}");
    let fixed = place.run(["completions", "fish", "--static"]).await;
    assert!(
        fixed.code == Some(0) && !fixed.out.contains("HOLDFAST_COMPLETE") && fixed.out.contains("setup"),
        "{fixed:?}"
    );
}

#[tokio::test]
async fn a_command_that_people_expect_leads_to_the_one_that_there_is() {
    let place = Place::new();
    for (words, leads_to) in [
        (&["install"][..], "holdfast unity install"),
        (&["init"], "holdfast setup"),
        (&["uninstall"], "holdfast unity remove"),
        (&["update"], "holdfast unity install"),
        (&["version"], "holdfast --version"),
        (&["unity", "uninstall"], "holdfast unity remove"),
        (&["unity", "check"], "holdfast unity status"),
    ] {
        let done = place.run(words.iter().copied()).await;
        let tips: Vec<&str> = done.err.lines().filter(|line| line.contains("tip:")).collect();
        assert!(done.code == Some(2) && tips.iter().any(|tip| tip.contains(leads_to)), "{words:?}: {done:?}");
        assert!(!done.err.contains("similar"), "{words:?}: {done:?}");
    }
    let demo = place.run(["demo", "--help"]).await;
    assert!(demo.out.contains("Examples:"), "{demo:?}");
}
