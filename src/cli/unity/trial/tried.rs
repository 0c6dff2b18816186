//! The package that is tried: holdfast's own, or one that the editor gets from Unity's registry.

use super::super::embedded::{self, About};
use crate::protocol::dialect::{self, Dialect};

/// The package that is tried, with its version.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub(super) dialect: &'static dyn Dialect,
    pub(super) version: String,
    /// Its id in Unity's registry; `None` for our own package.
    id: Option<&'static str>,
}

impl Tried {
    /// Returns the names of the packages that can be tried, our own first.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let others = dialect::ALL.iter().filter(|dialect| dialect.registry().is_some());
        dialect::OWN.iter().chain(others).map(|dialect| dialect.name())
    }

    /// Returns the package with this name, in this version or else the newest that is known.
    ///
    /// # Errors
    /// It cannot be tried, in this version or at all.
    pub(super) fn of(name: &str, version: Option<&str>) -> Result<Self, String> {
        let dialect = dialect::named(name).ok_or_else(|| format!("there is no package {name}"))?;
        match dialect.registry() {
            Some((id, newest)) => Ok(Self { dialect, version: version.unwrap_or(newest).to_owned(), id: Some(id) }),
            None if version.is_some() => {
                Err("holdfast's own package is tried in the version of this program".to_owned())
            }
            None if dialect::OWN.contains(&dialect) => Ok(Self { dialect, version: About::this().version, id: None }),
            None => Err(format!("Unity's registry does not have the package {name}")),
        }
    }

    pub(super) fn is_own(&self) -> bool {
        self.id.is_none()
    }

    /// Returns its id for Unity's package manager.
    pub(super) fn id(&self) -> &'static str {
        self.id.unwrap_or(embedded::NAME)
    }

    /// Returns its name and version for people.
    pub(super) fn title(&self) -> String {
        let name = if self.is_own() { embedded::TITLE } else { self.dialect.title() };
        format!("{name} {}", self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_is_named_by_the_list_of_packages() {
        let names: Vec<&str> = Tried::names().collect();
        assert!(Tried::of(names[0], None).unwrap().is_own());
        assert!(Tried::of(names[0], Some("1.0.0")).unwrap_err().contains("own package"));
        assert!(names.len() > 1);
        for name in &names[1..] {
            let tried = Tried::of(name, None).unwrap();
            assert!(!tried.is_own() && tried.title().ends_with(&tried.version), "{tried:?}");
            assert_eq!(Tried::of(name, Some("9.9.9")).unwrap().version, "9.9.9");
        }
    }
}
