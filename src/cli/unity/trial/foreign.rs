//! The steps of a trial that only a package of another maker has. Its tools are named by their roles.

use holdfast_mcp_client::answer::Verdict;
use serde_json::json;

use super::steps::{Trial, UNKNOWN_ARGUMENT};

impl Trial<'_> {
    /// Lists the tools, and calls what only reads.
    pub(super) async fn listed_and_read(&mut self) -> Result<(), String> {
        self.listed = self.session.tools().await.map_err(|why| why.to_string())?;
        let of_the_editor: Vec<&String> = self.listed.iter().filter(|name| !name.starts_with("holdfast_")).collect();
        let count = of_the_editor.len();
        self.results.step("the tools are listed", count > 0, "none is");
        self.results.fact(&format!("{count} tools"));
        let roles = self.tried.dialect.properties().roles;
        for names in [roles.editor_state, roles.console] {
            let tool = self.named(names);
            let answer = self.call(tool, json!({})).await?;
            self.results.step(tool, answer.verdict == Verdict::Ok, &answer.text);
        }
        let tool = self.named(roles.editor_state);
        let answer = self.call(tool, json!({ (UNKNOWN_ARGUMENT): 1 })).await?;
        let good = answer.verdict != Verdict::Ok && answer.text.contains(UNKNOWN_ARGUMENT);
        self.results.step("an argument that a tool does not have is refused", good, &answer.text);
        Ok(())
    }
}
