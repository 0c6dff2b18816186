//! The record that gives Prometheus this process's address: `<state>/metrics/<pid>.json` in the format of `file_sd`. The record
//! is removed at the end; after a kill, the next gateway removes it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::shown::Shown;
use crate::storage::instance_record::METRICS_FOLDER;
use crate::storage::locked_record::{self, StateRecord};
use crate::telemetry::metrics::project_label;

/// The label that tells Prometheus which hubs follow each other: they have the same name, each with its own pid and port.
const HUB_LABEL: &str = "__meta_holdfast_hub";
/// How much of a hub's name stands in the label. The whole name is for editors only, which recognise the hub by it.
const HUB_NAME_LENGTH: usize = 8;

/// Returns the folder of the record; `None` if nothing is kept on disk.
pub(super) fn folder(shown: &impl Shown) -> Option<PathBuf> {
    shown.state_dir().map(|state| state.join(METRICS_FOLDER))
}

/// Writes the record, and writes it again when the project changes. The record is removed when this future is dropped.
pub(super) async fn keep(shown: Arc<impl Shown>, address: SocketAddr) {
    let Some(folder) = folder(&*shown) else { return };
    let host = shown.host();
    let (there, below) = (Arc::clone(host), folder.clone());
    crate::platform::host::run(&**host, move || locked_record::living(&*there, &below)).await;
    let problem = |error: std::io::Error| {
        shown.events().exporter_trouble(&format!("Prometheus is not told where to scrape: {error}"));
    };
    let record = match StateRecord::claim(host, locked_record::path_in(&folder)).await {
        Ok(record) => record,
        Err(error) => return problem(error),
    };
    let mut survey = shown.survey();
    let mut told = None;
    loop {
        let project = survey.borrow_and_update().as_ref().and_then(|survey| survey.project.clone());
        if told.as_ref() != Some(&project) {
            let text = describe(address, std::process::id(), project.as_deref(), shown.hub()).to_string();
            if let Err(error) = record.write(host, text.into_bytes()).await {
                problem(error);
            }
            told = Some(project);
        }
        if survey.changed().await.is_err() {
            return;
        }
    }
}

fn describe(address: SocketAddr, pid: u32, project: Option<&Path>, hub: Option<&str>) -> Value {
    let name = project.and_then(Path::file_name).map(|name| project_label(&name.to_string_lossy())).unwrap_or_default();
    let mut labels = json!({"project": name, "pid": pid.to_string()});
    if let Some(hub) = hub {
        // Prometheus drops labels with this prefix once it has relabelled a target, so it does not come onto the series.
        let short: String = project_label(hub).chars().take(HUB_NAME_LENGTH).collect();
        labels[HUB_LABEL] = short.into();
    }
    json!([{"targets": [address.to_string()], "labels": labels}])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PROJECT_LABEL_MAX_BYTES;

    #[test]
    fn the_record_is_what_file_sd_reads_and_names_no_path() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9464));
        assert_eq!(
            describe(address, 7, Some(Path::new("/home/ann/games/Castle \"2\"\n")), None).to_string(),
            r#"[{"targets":["127.0.0.1:9464"],"labels":{"project":"Castle _2__","pid":"7"}}]"#
        );
        assert_eq!(describe(address, 7, None, None)[0]["labels"]["project"], "");
        let hub = describe(address, 7, None, Some("6f9619ff-8b86-d011-b42d-00cf4fc964ff"));
        assert_eq!(hub[0]["labels"], json!({"project": "", "pid": "7", "__meta_holdfast_hub": "6f9619ff"}));
        assert!(project_label(&"ü".repeat(1000)).len() <= PROJECT_LABEL_MAX_BYTES);
    }
}
