//! Other entries in the file that our entry is written to (of old servers, or an older one of ours), and the owner of the
//! file.

use std::fs;
#[cfg(unix)]
use std::path::Path;

use serde_json::{Value, json};

use super::program_in;
use super::table::CASES;
use crate::binary::{Place, finish, text};

/// Entries in the form in which the packages' windows and documents give them: the client, the content of its file, and the
/// entry's key.
const OLD: [(&str, &str, &str); 8] = [
    (
        "codex",
        "model = \"x\"\n\n[mcp_servers.uLoopMCP]\ncommand = \"node\"\nargs = [\"/p/Library/uLoopMCP/server.bundle.js\"]\n\n[mcp_servers.uLoopMCP.env]\nUNITY_TCP_PORT = \"8700\"\n\n# mine\n[mcp_servers.other]\ncommand = \"other\"\n",
        "uLoopMCP",
    ),
    (
        "windsurf",
        r#"{"mcpServers":{"uLoopMCP-8701":{"command":"node","args":["C:\\p\\Packages\\src\\TypeScriptServer~\\dist\\server.bundle.js"],"env":{"UNITY_TCP_PORT":"8701"}},"other":{"command":"other"}}}"#,
        "uLoopMCP-8701",
    ),
    (
        "cursor",
        "{\n  \"mcpServers\": {\n    \"uMCP\": { \"command\": \"node\", \"args\": [\"/p/Packages/umcp/TypeScriptServer/dist/server.bundle.js\"] },\n    // mine\n    \"other\": { \"command\": \"other\" }\n  }\n}\n",
        "uMCP",
    ),
    (
        "cursor",
        r#"{"mcpServers":{"unityMCP":{"url":"http://127.0.0.1:8080/mcp"},"other":{"command":"other"}}}"#,
        "unityMCP",
    ),
    (
        "windsurf",
        r#"{"mcpServers":{"unityMCP":{"command":"C:\\Users\\a\\uvx.exe","args":["--from","mcpforunityserver==10.3.0","mcp-for-unity","--transport","stdio"]},"other":{"command":"other"}}}"#,
        "unityMCP",
    ),
    (
        "claude-code",
        "{\n  \"mcpServers\": {\n    \"unity\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@turbokettle/unity-mcp\"]\n    },\n    \"other\": {\n      \"command\": \"other\"\n    }\n  }\n}\n",
        "unity",
    ),
    (
        "vscode",
        "{\n\t\"servers\": {\n\t\t\"other\": {\"command\": \"other\"},\n\t\t\"unity\": {\"command\": \"unity-mcp\"}\n\t}\n}\n",
        "unity",
    ),
    (
        "goose",
        "extensions:\n  other:\n    cmd: other\n  tsavo:\n    cmd: node\n    args:\n    - /p/dist/mcp-stdio-client.js\n    enabled: true\n",
        "tsavo",
    ),
];

fn file_of(client: &str) -> &'static str {
    CASES.iter().find(|case| case.client == client).expect("a client of the table").file
}

#[tokio::test]
async fn an_old_servers_entry_is_named_and_replaced_and_the_rest_stays_byte_for_byte() {
    for (client, before, key) in OLD {
        let place = Place::new();
        let file = file_of(client);
        let path = place.write(file, before);
        let listed = place.run(["setup", "--list", "--json"]).await.json();
        let listed = listed["clients"].as_array().expect("a list").iter().find(|one| one["client"] == client);
        assert_eq!(listed.expect("known")["old_servers"][0]["entry"], key, "{client}");

        let doctor = place.run(["doctor"]).await.out;
        let fix = format!("holdfast setup {client} --replace");
        assert!(doctor.contains(&format!("the entry \"{key}\" starts the server of ")), "{client}: {doctor}");
        assert!(doctor.contains(&fix), "{client}: {doctor}");

        let beside = place.run(["setup", client]).await;
        assert!(beside.out.contains("so the AI sees every tool twice") && beside.out.contains(&fix), "{beside:?}");
        assert!(fs::read_to_string(&path).expect("there").contains(key), "{client}: it stays without --replace");
        let with_both = fs::read_to_string(&path).expect("there");

        let shown = place.run(["setup", client, "--replace", "--dry-run"]).await;
        assert!(shown.out.lines().any(|line| line.starts_with('-') && line.contains(key)), "{client}: {shown:?}");
        assert_eq!(fs::read_to_string(&path).expect("there"), with_both, "{client}: a dry run writes nothing");

        let replaced = place.run(["setup", client, "--replace"]).await;
        assert_eq!(replaced.code, Some(0), "{client}: {replaced:?}");
        assert!(replaced.out.contains(&format!("entry \"{key}\", which started ")), "{client}: {replaced:?}");
        let after = fs::read_to_string(&path).expect("there");
        assert!(
            !after.contains(key) && after.contains("other") && after.contains(&program_in(&after)),
            "{client}: {after}"
        );
        assert_eq!(after.contains("mine"), before.contains("mine"), "{client}: comments stay: {after}");
        let copy = fs::read_to_string(place.path(&format!("{file}.holdfast-backup"))).expect("a copy");
        assert_eq!(copy, before, "{client}");

        let again = place.run(["setup", client, "--replace"]).await;
        assert!(again.out.contains("is already set up") && !again.out.contains("twice"), "{client}: {again:?}");

        // The old server's entry is not restored automatically. The backup is kept, because only the backup still has that
        // entry.
        let removed = place.run(["setup", client, "--remove"]).await;
        assert!(removed.code == Some(0) && removed.out.contains("The rest of "), "{client}: {removed:?}");
        let bare = fs::read_to_string(&path).expect("there");
        assert!(!bare.contains(key) && !bare.contains("holdfast") && bare.contains("other"), "{client}: {bare}");
        assert!(place.path(&format!("{file}.holdfast-backup")).exists(), "{client}");
    }
}

#[tokio::test]
async fn another_programs_entry_is_no_old_server() {
    let place = Place::new();
    let entries = json!({"mcpServers": {
        "unityMCP": {"command": "uvx", "args": ["--from", "another-server", "another"]},
        "mcp-unity": {"command": "node", "args": ["/p/Packages/com.gamelovers.mcp-unity/Server~/build/index.js"]},
        "web": {"url": "http://localhost:8080/mcp"},
        "uLoopMCP": {"command": "my-own-server"},
        "odd": 7,
    }});
    let path = place.write(".cursor/mcp.json", entries.to_string());
    let done = place.run(["setup", "cursor", "--replace"]).await;
    assert!(done.code == Some(0) && !done.out.contains("started"), "{done:?}");
    let after: Value = serde_json::from_slice(&fs::read(path).expect("there")).expect("JSON");
    for (key, entry) in entries["mcpServers"].as_object().expect("a map") {
        assert_eq!(&after["mcpServers"][key], entry);
    }
}

#[tokio::test]
async fn an_old_server_in_the_projects_own_file_is_named_with_the_command_for_that_file() {
    let place = Place::new();
    let project = place.project("Castle");
    let entry = json!({"mcpServers": {"uLoopMCP": {"command": "node", "args": ["Library/uLoopMCP/server.bundle.js"]}}});
    place.write("Castle/.mcp.json", entry.to_string());
    place.write(".claude.json", "{}");
    let fix = format!("holdfast setup claude-code --project {} --replace", text(&project));
    let doctor = place.run(["doctor", "--project", text(&project)]).await.out;
    assert!(doctor.contains(&fix), "{doctor}");
    let mut command = place.command(["setup", "claude-code"]);
    command.current_dir(&project);
    let done = finish(command, b"").await;
    assert!(done.code == Some(0) && done.out.contains(&fix), "{done:?}");
    let words: Vec<&str> = fix.split(' ').skip(1).collect();
    let replaced = place.run(words).await;
    assert!(replaced.code == Some(0) && replaced.out.contains("which started node"), "{replaced:?}");
    let after = fs::read_to_string(project.join(".mcp.json")).expect("there");
    assert!(!after.contains("uLoopMCP") && after.contains(&program_in(&after)), "{after}");
}

#[tokio::test]
async fn remove_takes_an_older_holdfast_out_too() {
    let place = Place::new();
    let older = r#"{"mcpServers":{"holdfast":{"command":"/old/holdfast","args":[]},"other":{"command":"other"}}}"#;
    let path = place.write(".cursor/mcp.json", older);
    assert_eq!(place.run(["setup", "cursor"]).await.code, Some(0));
    let removed = place.run(["setup", "cursor", "--remove"]).await;
    assert!(removed.code == Some(0) && removed.out.contains("no longer starts holdfast"), "{removed:?}");
    assert!(!removed.out.contains("is as it was before"), "{removed:?}");
    let after = fs::read_to_string(&path).expect("there");
    assert_eq!(after, r#"{"mcpServers":{"other":{"command":"other"}}}"#);
    let listed = place.run(["setup", "--list", "--json"]).await.json();
    let cursor = listed["clients"].as_array().expect("a list").iter().find(|one| one["client"] == "cursor");
    assert_eq!(cursor.expect("known")["state"], "not_configured");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_with_several_names_keeps_them_all() {
    use std::os::unix::fs::MetadataExt as _;
    let place = Place::new();
    let path = place.write(".cursor/mcp.json", "{\"mcpServers\": {\"a-long-name-that-goes\": {}}}\n");
    let other = place.path("dotfiles.json");
    fs::hard_link(&path, &other).expect("one disk");
    for words in [&["setup", "cursor"][..], &["setup", "cursor", "--remove"]] {
        assert_eq!(place.run(words.iter().copied()).await.code, Some(0), "{words:?}");
        let (a, b) = (fs::metadata(&path).expect("there"), fs::metadata(&other).expect("there"));
        assert_eq!((a.ino(), a.nlink()), (b.ino(), 2), "{words:?}");
        assert_eq!(fs::read(&path).expect("there"), fs::read(&other).expect("there"));
    }
    assert_eq!(fs::read_to_string(&other).expect("there"), "{\"mcpServers\": {\"a-long-name-that-goes\": {}}}\n");
    let left: Vec<_> =
        fs::read_dir(place.path(".cursor")).expect("there").flatten().map(|file| file.file_name()).collect();
    assert_eq!(left, ["mcp.json"], "no temporary file and no copy is left");
}

/// Only root can give files to another user. For other users, this test shows only that mode and owner stay the same.
#[cfg(unix)]
#[tokio::test]
async fn who_owned_a_file_still_does() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let owner = |path: &Path| {
        let meta = fs::metadata(path).expect("there");
        (meta.uid(), meta.gid())
    };
    let place = Place::new();
    let home = place.path("");
    let path = place.write(".cursor/mcp.json", "{}\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("ours");
    for given in [&home, &place.path(".cursor"), &path] {
        // The system refuses this for any user but root.
        let _ = chown(given, Some(12_345), Some(23_456));
    }
    let his = owner(&path);
    assert_eq!(place.run(["setup", "cursor"]).await.code, Some(0));
    assert_eq!((owner(&path), fs::metadata(&path).expect("there").mode() & 0o777), (his, 0o640));
    assert_eq!(owner(&place.path(".cursor/mcp.json.holdfast-backup")), his, "he can remove the copy");
    assert_eq!(place.run(["setup", "codex", "--create"]).await.code, Some(0));
    for made in [".codex", ".codex/config.toml"] {
        assert_eq!(owner(&place.path(made)), owner(&home), "what is new in his home is his: {made}");
    }
}

#[tokio::test]
async fn an_entry_in_the_projects_own_file_counts_and_is_found_again() {
    let place = Place::new();
    let project = place.project("Castle");
    place.write(".cursor/mcp.json", "{}");
    let there = async |words: &[&str]| {
        let mut command = place.command(words.iter().copied());
        command.current_dir(&project);
        finish(command, b"").await
    };
    let done = there(&["setup", "cursor", "--project", text(&project)]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let doctor: Value = serde_json::from_str(&there(&["doctor", "--json"]).await.out).expect("JSON");
    let says: Vec<&str> =
        doctor["findings"].as_array().into_iter().flatten().filter_map(|one| one["says"].as_str()).collect();
    assert!(says.iter().any(|says| says.starts_with("Cursor starts this program")), "{says:?}");
    assert!(!says.iter().any(|says| says.contains("has no entry") || says.contains("no AI client")), "{says:?}");
    // The user's file has none, and says where there is one.
    let other = there(&["setup", "cursor", "--remove"]).await;
    assert!(other.out.contains("has no entry") && other.out.contains("--remove --project"), "{other:?}");
    let removed = there(&["setup", "cursor", "--remove", "--project", text(&project)]).await;
    assert!(removed.out.contains("no longer starts holdfast"), "{removed:?}");
    assert!(!there(&["setup", "cursor", "--remove"]).await.out.contains("--project"), "nothing is left to name");
}
