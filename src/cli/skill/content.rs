//! What the program carries of the skill, and the prompts as texts that last.

use holdfast_client_config::Skill;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::core::user_text::lasting_prompt;
use crate::protocol::mcp::Prompt;

/// The file that a client reads first. The others are read on demand.
pub const FIRST: &str = "SKILL.md";

/// The skill, as it is in the folder `skills/holdfast`.
pub const SKILL: Skill<'static> = Skill {
    name: "holdfast",
    version: env!("CARGO_PKG_VERSION"),
    files: &[
        (FIRST, include_str!("../../../skills/holdfast/SKILL.md")),
        ("references/calls.md", include_str!("../../../skills/holdfast/references/calls.md")),
        ("references/exit-codes.md", include_str!("../../../skills/holdfast/references/exit-codes.md")),
        ("references/outcome-unknown.md", include_str!("../../../skills/holdfast/references/outcome-unknown.md")),
    ],
};

/// Returns the skill's files and the prompts: what a plugin or an extension of a client is made of.
pub fn as_json() -> Value {
    let files: serde_json::Map<String, Value> =
        SKILL.files.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
    let now = Instant::now();
    let prompts = Prompt::ALL.iter().map(|prompt| {
        let arguments = prompt.arguments().iter();
        json!({
            "name": prompt.name(),
            "title": prompt.title(),
            "description": prompt.description(),
            "arguments": arguments.map(|(name, says)| json!({"name": name, "description": says})).collect::<Vec<_>>(),
            "text": lasting_prompt(*prompt, now),
        })
    });
    json!({"name": SKILL.name, "version": SKILL.version, "files": files, "prompts": prompts.collect::<Vec<_>>()})
}
