//! The scripts of the project, and what the last compilation made of them.

use std::collections::BTreeMap;

use super::files::Files;
use super::source::{self, Class};

/// An error of the compiler in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    says: String,
}

impl Found {
    /// The error as Unity's compiler writes it.
    pub(crate) fn message(&self) -> String {
        format!("{}({},{}): {}", self.file, self.line, self.column, self.says)
    }
}

/// What is known about the scripts.
#[derive(Default)]
pub(super) struct Scripts {
    /// The classes of the last compilation without errors.
    classes: Vec<Class>,
    errors: Vec<Found>,
}

/// Longest script that is compiled, in bytes (the package's own bound of a script).
const SCRIPT_MAX_BYTES: usize = 1_000_000;

fn read(files: &Files) -> Result<Vec<Class>, Vec<Found>> {
    let scripts = files.all().into_iter().filter(|path| path.ends_with(".cs"));
    let (mut classes, mut errors) = (Vec::new(), Vec::new());
    for file in scripts {
        let Some(text) = files.text(&file).filter(|text| text.len() <= SCRIPT_MAX_BYTES) else { continue };
        match source::read(&text) {
            Ok(more) => classes.extend(more),
            Err(issues) => errors.extend(issues.into_iter().map(|issue| Found {
                file: file.clone(),
                line: issue.line,
                column: issue.column,
                says: issue.says,
            })),
        }
    }
    if errors.is_empty() { Ok(classes) } else { Err(errors) }
}

impl Scripts {
    /// Takes in the scripts that are there when the project opens.
    pub(super) fn opened(&mut self, files: &Files) {
        drop(self.compile(files));
    }

    /// Compiles all scripts. After errors, the old classes stay.
    pub(super) fn compile(&mut self, files: &Files) -> Vec<Found> {
        match read(files) {
            Ok(classes) => {
                self.classes = classes;
                self.errors.clear();
            }
            Err(errors) => self.errors = errors,
        }
        self.errors.clone()
    }

    pub(super) fn are_red(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The classes with this name, with or without namespace, that derive from `base` over any number of other classes.
    pub(super) fn named(&self, name: &str, base: &str) -> Vec<&Class> {
        let fits = |class: &&Class| class.name == name || super::node::short(&class.name) == name;
        self.classes.iter().filter(fits).filter(|class| self.derives(class, base)).collect()
    }

    fn derives(&self, class: &Class, base: &str) -> bool {
        let bases: BTreeMap<&str, &str> = self
            .classes
            .iter()
            .map(|class| (super::node::short(&class.name), super::node::short(&class.base)))
            .collect();
        let mut at = super::node::short(&class.base);
        // A circle has at most as many steps as there are classes.
        for _ in 0..=bases.len() {
            if at == base {
                return true;
            }
            match bases.get(at) {
                Some(next) => at = next,
                None => return false,
            }
        }
        false
    }

    /// The tests in scripts: their full names, and whether they are for play mode.
    pub(super) fn tests(&self) -> Vec<(String, bool)> {
        let of = |class: &Class| {
            let name = class.name.clone();
            class.tests.iter().map(move |(test, play)| (format!("{name}.{test}"), *play)).collect::<Vec<_>>()
        };
        self.classes.iter().flat_map(of).collect()
    }
}
