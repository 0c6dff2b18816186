//! The record that gives Prometheus this process's address: `<state>/metrics/<pid>.json` in the format of `file_sd`.
//! The record is removed at the end; after a kill, the next gateway removes it. With `--metrics-records` the same
//! record, readable for every user, stands in a folder that the user names.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::pages::Shown;
use crate::limits::METRICS_RECORD_RETRY;
use crate::platform::host::Host;
use crate::protocol::text::clean;
use crate::storage::instance_record::METRICS_FOLDER;
use crate::storage::locked_record::{self, Readers, StateRecord};
use crate::telemetry::metrics::project_label;

/// The label that tells Prometheus which hubs succeed one another: they have the same name, each with its own pid and
/// port.
const HUB_LABEL: &str = "__meta_holdfast_hub";
/// The beginning of the names of records in a folder that the user names. The folder may have files of other programs,
/// which must stay.
const SHARED_PREFIX: &str = "holdfast-";
/// How much of a hub's name is in the label. Editors recognise the hub by the whole name, so that is not published.
const HUB_NAME_LENGTH: usize = 8;

/// Returns the folder of the record; `None` if nothing is kept on disk.
pub(super) fn folder(shown: &impl Shown) -> Option<PathBuf> {
    shown.state_dir().map(|state| state.join(METRICS_FOLDER))
}

/// Writes the record, and writes it again when the project changes: in the state folder, and in the folder for other
/// users if there is one. The records are removed when this future is dropped.
pub(super) async fn keep(shown: Arc<impl Shown>, address: SocketAddr) {
    let keep_in = async |folder: Option<PathBuf>, readers| {
        if let Some(folder) = folder {
            keep_in(&*shown, address, folder, readers).await;
        }
    };
    tokio::join!(keep_in(folder(&*shown), Readers::Owner), keep_in(shown.metrics_records(), Readers::All));
}

/// Keeps the record in one folder. A write that fails is tried again.
async fn keep_in(shown: &impl Shown, address: SocketAddr, folder: PathBuf, readers: Readers) {
    let host = shown.host();
    let mut told = None;
    // Each try sets the problem or clears it. The log has a line only if the problem is a new one.
    let mut tried = |error: Option<&io::Error>| {
        let problem = error.map(|error| problem(&folder, readers, error));
        if let Some(problem) = problem.as_ref().filter(|problem| told.as_ref() != Some(*problem)) {
            shown.events().exporter_trouble(&format!("{problem}. It is tried again"));
        }
        let part = if readers == Readers::All { "metrics_records" } else { "metrics_record" };
        shown.set_record_problem(part, problem.clone());
        told = problem;
    };
    let record = loop {
        match claim(host, &folder, readers).await {
            Ok(record) => break record,
            Err(error) => tried(Some(&error)),
        }
        sleep(METRICS_RECORD_RETRY).await;
    };
    let mut written = None;
    loop {
        let project = shown.project();
        if written.as_ref() != Some(&project) {
            let text = describe(address, std::process::id(), project.as_deref(), shown.hub()).to_string();
            let outcome = record.write_for(host, readers, text.into_bytes()).await;
            tried(outcome.as_ref().err());
            written = outcome.is_ok().then(|| project.clone());
        }
        tokio::select! {
            () = shown.project_other_than(project.as_deref()) => {}
            () = sleep(METRICS_RECORD_RETRY), if written.is_none() => {}
        }
    }
}

/// Takes the record of this process in a folder, after the records of dead processes were removed. A folder for other
/// users must exist: nobody else could read a folder that is made here.
async fn claim(host: &Arc<dyn Host>, folder: &Path, readers: Readers) -> io::Result<StateRecord> {
    let (there, below) = (Arc::clone(host), folder.to_path_buf());
    let prefix = if readers == Readers::All { SHARED_PREFIX } else { "" };
    let swept = crate::platform::host::run(&**host, move || {
        if readers == Readers::All {
            std::fs::metadata(&below)?;
        }
        locked_record::living_with(&*there, &below, prefix);
        Ok::<(), io::Error>(())
    });
    swept.await.unwrap_or(Ok(()))?;
    StateRecord::claim(host, folder.join(format!("{prefix}{}.json", std::process::id()))).await
}

/// Says why a folder has no record, and what to do.
fn problem(folder: &Path, readers: Readers, error: &io::Error) -> String {
    let folder = clean(&folder.display().to_string());
    match readers {
        Readers::All if error.kind() == io::ErrorKind::NotFound => format!(
            "metrics_records: there is no folder {folder}; create it, so that the users who are to read the records may enter it"
        ),
        Readers::All => format!(
            "metrics_records: other users do not find the metrics, because the record cannot be written in {folder}: {error}; let \
             the gateway's user write there, or name another folder"
        ),
        Readers::Owner => format!(
            "Prometheus does not find the metrics, because the record cannot be written in {folder}: {error}; let the gateway's \
             user write there"
        ),
    }
}

fn describe(address: SocketAddr, pid: u32, project: Option<&Path>, hub: Option<&str>) -> Value {
    let name = project.and_then(Path::file_name).map(|name| project_label(&name.to_string_lossy())).unwrap_or_default();
    let mut labels = json!({"project": name, "pid": pid.to_string()});
    if let Some(hub) = hub {
        // Prometheus drops labels with this prefix after it has relabelled a target, so the label does not reach the
        // series.
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
