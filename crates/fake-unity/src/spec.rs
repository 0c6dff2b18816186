//! Tools as an editor declares them.

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    Number,
    Array,
    /// One of these words; the default is the word's number in the editor's enumeration.
    Choice(&'static [&'static str]),
}

/// A parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default as JSON.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
}

/// What a tool is, whatever name it is registered under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolSpec {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) development: bool,
    pub(crate) params: &'static [Param],
    /// Default of `TimeoutSeconds` in package versions that have it.
    pub(crate) timeout_seconds: u64,
    /// Members of the result, as `Name:type` separated by spaces.
    pub(crate) result: &'static str,
}

/// A registered tool.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) spec: &'static ToolSpec,
    /// Number of parameters added to those of its specification, to make the schema long.
    pub(crate) more_params: usize,
}

impl Tool {
    /// A tool of this name that does what `spec` says.
    pub(crate) fn named(name: impl Into<String>, spec: &'static ToolSpec) -> Self {
        Self { name: name.into(), spec, more_params: 0 }
    }

    /// Names of the parameters that make the schema long; each one is a [`MORE_PARAM`].
    pub(crate) fn more_params(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.more_params).map(|number| format!("p{number:05}"))
    }
}

impl From<&'static ToolSpec> for Tool {
    fn from(spec: &'static ToolSpec) -> Self {
        Self::named(spec.name, spec)
    }
}

/// A parameter that only makes a schema long. With a name of six characters it adds [`MORE_PARAM_BYTES`] to the JSON Schema.
pub(crate) const MORE_PARAM: Param = text("", "\"\"", "One of very many; nothing is done with what i");
/// Bytes of one [`MORE_PARAM`] in a JSON Schema.
pub(crate) const MORE_PARAM_BYTES: usize = 102;

pub(crate) const fn text(name: &'static str, default: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Text, default, about }
}

pub(crate) const fn flag(name: &'static str, default: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Flag, default, about }
}

pub(crate) const fn number(name: &'static str, default: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Number, default, about }
}

pub(crate) const fn array(name: &'static str, about: &'static str) -> Param {
    Param { name, kind: Kind::Array, default: "[]", about }
}

pub(crate) const fn choice(
    name: &'static str,
    default: &'static str,
    words: &'static [&'static str],
    about: &'static str,
) -> Param {
    Param { name, kind: Kind::Choice(words), default, about }
}
