//! Makes the report of a run from the records of its scenarios: `report.json`, `junit.xml` and `report.html`.

mod histogram;
mod html;
mod junit;
mod run;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use self::run::OWN;

pub use self::run::{RECOVERY_P50_MS, RECOVERY_P99_MS, Report, percentile};

impl Report {
    /// Writes the three files of the report.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(OWN), serde_json::to_vec_pretty(self)?)?;
        fs::write(folder.join("junit.xml"), junit::junit(self))?;
        fs::write(folder.join("report.html"), html::page(self))
    }
}
