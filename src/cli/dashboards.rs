//! `holdfast dashboards`: the dashboard, rules and scrape configuration that fit this version's metrics, as files.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::variables::{state_dir, variable};
use super::{Exit, output};
use crate::core::user_text::quoted;
use crate::platform::host::{Host as _, RealHost, System};
use crate::storage::instance_record::METRICS_FOLDER;

#[derive(Debug, Clone, Args)]
pub struct DashboardsArgs {
    /// Write the files into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub write: Option<PathBuf>,
    /// Replace files that are there and differ
    #[arg(long, requires = "write")]
    pub force: bool,
    /// The state folder of the gateways that Prometheus is to find
    #[arg(long, value_name = "DIR", env = "HOLDFAST_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../dashboards/", $name)))),*]
    };
}

/// Every file, by its path under the folder.
const FILES: [(&str, &str); 4] = files!(
    "grafana/connection-health.json"
    "prometheus/prometheus.yaml"
    "prometheus/recording.yaml"
    "prometheus/alerts.yaml"
);

/// The dashboards of earlier versions. The first of [`FILES`] replaces them.
const FORMER: [&str; 3] =
    ["grafana/overview.json", "grafana/link-and-reload.json", "grafana/supervision-and-resources.json"];

/// The place in the scrape configuration for the folder of the records.
const TARGETS: &str = "[targets/*.json]";

pub fn run(arguments: &DashboardsArgs) -> ExitCode {
    let Some(folder) = &arguments.write else {
        for (name, _) in FILES {
            output::line(name);
        }
        output::hung("", "Nothing was written. `holdfast dashboards --write DIR` writes these files into a folder.");
        return Exit::Ok.into();
    };
    let Some(state) = arguments.state_dir.clone().or_else(|| state_dir(System::HERE, variable)) else {
        output::complain(
            "holdfast dashboards: this system names no state folder, where the gateways leave their records; name one with \
             --state-dir. Nothing was written.",
        );
        return Exit::Usage.into();
    };
    let state = std::path::absolute(&state).unwrap_or(state);
    let Some(files) = files(&state.join(METRICS_FOLDER)) else {
        output::complain(&format!(
            "holdfast dashboards: the state folder {} cannot be written into a configuration, since its path is not UTF-8. Name \
             another with --state-dir. Nothing was written.",
            state.display()
        ));
        return Exit::Failed.into();
    };
    match write(folder, &files, arguments.force) {
        Ok(written) => {
            tell(folder, &files, written);
            Exit::Ok.into()
        }
        Err(why) => {
            output::complain(&format!("holdfast dashboards: {why}"));
            Exit::Failed.into()
        }
    }
}

/// Returns the files, with the folder of the records in the scrape configuration; `None` if its path is not UTF-8.
fn files(records: &Path) -> Option<Vec<(&'static str, String)>> {
    // Prometheus takes the path as a pattern, and allows no `*` before its last part. A `?` stands for any one
    // character, so it can replace a character that has a meaning in a pattern.
    let is_special = |letter: char| "*[".contains(letter) || letter == '\\' && !std::path::is_separator(letter);
    let folder = records.to_str()?.replace(is_special, "?");
    // Every JSON text is a YAML text too, whatever characters the path has.
    let targets = serde_json::json!([Path::new(&folder).join("*.json").to_str()?]).to_string();
    Some(FILES.iter().map(|(name, text)| (*name, text.replace(TARGETS, &targets))).collect())
}

/// Writes the files that do not exist yet. Returns how many were written.
fn write(folder: &Path, files: &[(&str, String)], force: bool) -> Result<usize, String> {
    let mut missing = Vec::new();
    let mut other = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        // A longer file differs in any case, so no more is read.
        match RealHost.read(&path, text.len()) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push((path, text)),
            _ if path.is_file() => other.push((path, text)),
            _ => return Err(format!("{} is there and is no file. Nothing was written.", path.display())),
        }
    }
    if !force && !other.is_empty() {
        let paths: Vec<String> = other.iter().map(|(path, _)| path.display().to_string()).collect();
        return Err(format!(
            "other files are there: {}. Nothing was written. --force replaces them; another folder keeps them.",
            paths.join(", ")
        ));
    }
    missing.append(&mut other);
    for (at, (path, text)) in missing.iter().enumerate() {
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| replace(path, text)).map_err(|error| {
            format!("{} could not be written ({error}); {at} of {} files are.", path.display(), missing.len())
        })?;
    }
    Ok(missing.len())
}

/// Writes a file that is whole at every moment, and that others may read: Grafana often runs as another user.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.holdfast"));
    let done = std::fs::write(&new, text).and_then(|()| RealHost.rename(&new, path));
    if done.is_err() {
        // A leftover of the file is replaced by the next attempt.
        let _ = std::fs::remove_file(&new);
    }
    done
}

fn tell(folder: &Path, files: &[(&str, String)], written: usize) {
    let config = quoted(&folder.join("prometheus").join("prometheus.yaml"));
    let former: Vec<&str> = FORMER.into_iter().filter(|name| folder.join(name).is_file()).collect();
    let folder = folder.display();
    match written {
        0 => output::line(&format!("{folder} has all of it already:")),
        all if all == files.len() => output::line(&format!("Wrote {all} files to {folder}:")),
        some => {
            output::line(&format!("Wrote {some} of {} files to {folder}; the others were there already:", files.len()));
        }
    }
    for (name, _) in files {
        output::line(&format!("  {name}"));
    }
    if !former.is_empty() {
        let former = former.join(", ");
        output::hung("", &format!("Of an earlier version: {former}. {} takes their place; remove them.", FILES[0].0));
    }
    output::hung(
        "Next: ",
        "give your AI client's entry the argument --metrics, so that its gateways can be scraped. Then",
    );
    output::line(&format!("  prometheus --config.file={config} --web.listen-address=127.0.0.1:9090"));
    output::hung(
        "",
        "and import the file of grafana/ into Grafana. Prometheus must run as the same user: no other one can read the records.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_finds_the_records_of_the_state_folder() {
        for (folder, written) in [
            ("/home/o'neil/metrics", r#"files: ["/home/o'neil/metrics/*.json"]"#),
            ("/a \"b\"\n: #", r#"files: ["/a \"b\"\n: #/*.json"]"#),
            ("/a*b/[c]?/metrics", r#"files: ["/a?b/?c]?/metrics/*.json"]"#),
        ] {
            let files = files(Path::new(folder)).expect("it is UTF-8");
            let (_, config) =
                files.iter().find(|(name, _)| name.ends_with("prometheus.yaml")).expect("it is among them");
            assert!(config.contains(written) && !config.contains(TARGETS), "{config}");
        }
    }
}
