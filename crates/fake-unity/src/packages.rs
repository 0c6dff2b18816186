//! The list of the simulated packages.

use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::config::FakeUnityConfig;
use super::face::Face;
use super::package::{Facts, Package};
use super::{coplay, holdfast, pipeline, turbokettle, uloop, umcp, unity_cli_loop, unity_mcp};
#[cfg(feature = "toy")]
use super::{toy, toy_arrives, toy_jobs};

/// Makes the package's side of an editor.
type MakeFace = fn(&FakeUnityConfig) -> Arc<dyn Face>;

/// The list. The first package is played where none is named. The order is that of the turns in which the suites share their work.
const LIST: &[(&Package, MakeFace)] = &[
    (&uloop::PACKAGE, uloop::face),
    (&holdfast::PACKAGE, holdfast::face),
    (&turbokettle::PACKAGE, turbokettle::face),
    (&umcp::PACKAGE, uloop::face),
    (&unity_mcp::PACKAGE, unity_mcp::face),
    (&pipeline::PACKAGE, pipeline::face),
    (&unity_cli_loop::PACKAGE, unity_cli_loop::face),
    (&coplay::PACKAGE, coplay::face),
    (&coplay::HTTP, coplay::face),
    #[cfg(feature = "toy")]
    (&toy::PACKAGE, toy::face),
    #[cfg(feature = "toy")]
    (&toy_arrives::PACKAGE, toy_arrives::face),
    #[cfg(feature = "toy")]
    (&toy_jobs::PACKAGE, toy_jobs::face),
];

/// All packages, in the order of their turns.
pub const PACKAGES: &[&Package] = &{
    let mut all = [LIST[0].0; LIST.len()];
    let mut nth = 0;
    while nth < LIST.len() {
        all[nth] = LIST[nth].0;
        nth += 1;
    }
    all
};

/// Makes the side of the package that is in an editor with these settings.
pub(crate) fn face(config: &FakeUnityConfig) -> Arc<dyn Face> {
    let listed = LIST.iter().find(|(package, _)| *package == config.package);
    listed.map_or(LIST[0].1, |(_, make)| *make)(config)
}

impl Package {
    /// Returns the package with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PACKAGES.iter().copied().find(|package| package.name == name)
    }

    /// Parses the name of a package, for flags.
    pub fn parser() -> impl TypedValueParser<Value = &'static Self> {
        let names = PACKAGES.iter().map(|package| PossibleValue::new(package.name).help(package.title));
        PossibleValuesParser::new(names).try_map(|name| Self::named(&name).ok_or("no package has this name"))
    }

    /// Returns the first package of which this holds.
    ///
    /// # Panics
    /// There is none.
    pub fn that(is: impl Fn(&Facts) -> bool) -> &'static Self {
        PACKAGES.iter().copied().find(|package| is(&package.facts)).expect("a package with these facts")
    }

    /// The package whose editor remembers what became of calls.
    pub fn with_a_journal() -> &'static Self {
        Self::that(|facts| facts.journal)
    }

    /// The first package whose editor does not.
    pub fn without_a_journal() -> &'static Self {
        Self::that(|facts| !facts.journal)
    }
}

impl Default for &'static Package {
    fn default() -> Self {
        PACKAGES[0]
    }
}
