//! The order of the modules of `src/`. A module may import only modules before it in this order, and imports form no circle:
//! neither between these modules nor between the files of a module or a crate. `mod x;` does not count as an import, and code
//! for tests only is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The top-level modules of `src/` in their order: each may import those before it. Each is a file or a folder with this
/// name.
const ROOMS: &[&str] = &[
    "limits",
    "protocol",
    "fsm",
    "core",
    "net",
    "platform",
    "storage",
    "telemetry",
    "config",
    "survey",
    "runtime",
    "client",
    "link",
    "actors",
    "transport",
    "services",
    "cli",
];
/// Imports that are forbidden although the order permits them, with the reason.
const NOT_EVEN: &[(&str, &str, &str)] = &[
    ("services", "actors", "services read snapshots and never reach an actor"),
    ("services", "transport", "services are no client"),
];

/// The files of a crate, by the path of their module. Each entry lists what the file imports and defines.
struct Sources {
    /// The folder of the files.
    root: PathBuf,
    files: BTreeMap<Vec<String>, File>,
}

#[derive(Default)]
struct File {
    /// The file's path below the folder.
    path: String,
    /// Paths that the file names, starting at the crate's root.
    named: BTreeSet<Vec<String>>,
    /// Names that the file re-exports, and where they come from.
    passed_on: BTreeMap<String, Vec<String>>,
    /// Modules from which the file re-exports everything.
    globs: Vec<Vec<String>>,
    /// Names that the file itself defines.
    defined: BTreeSet<String>,
}

impl Sources {
    fn add(&mut self, path: &str, text: &str) {
        let module = module_of(path);
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{path} does not parse: {error}"));
        let file = File { path: path.to_owned(), ..File::default() };
        let mut reader = Reader { root: self.root.clone(), module: module.clone(), file };
        for item in &parsed.items {
            reader.define(item);
        }
        reader.visit_file(&parsed);
        self.files.insert(module, reader.file);
    }

    /// Returns the file that a path refers to: the file of the longest module in the path, or the file from which that module
    /// re-exports the next name. `None` if the path has no known module.
    fn file_of(&self, path: &[String], depth: u8) -> Option<&File> {
        let length = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let file = &self.files[&path[..length]];
        let Some(name) = path.get(length).filter(|_| depth < 8) else { return Some(file) };
        if let Some(from) = file.passed_on.get(name) {
            let further: Vec<String> = from.iter().chain(&path[length + 1..]).cloned().collect();
            return self.file_of(&further, depth + 1);
        }
        let by_glob = file.globs.iter().filter_map(|glob| self.file_of(glob, depth + 1));
        Some(by_glob.into_iter().find(|file| file.defined.contains(name)).unwrap_or(file))
    }

    /// Returns the files that each file imports, with the path of each import.
    fn imports(&self) -> BTreeMap<&str, BTreeMap<&str, String>> {
        let mut imports: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for file in self.files.values() {
            let of_file = imports.entry(&file.path).or_default();
            for path in &file.named {
                let Some(to) = self.file_of(path, 0).filter(|to| to.path != file.path) else { continue };
                of_file.entry(&to.path).or_insert_with(|| path.join("::"));
            }
        }
        imports
    }

    /// Returns all violations of the rules on imports.
    fn findings(&self) -> Vec<String> {
        let imports = self.imports();
        let mut findings = Vec::new();
        for (from, targets) in &imports {
            for (to, by) in targets {
                let (Some(inner), Some(outer)) = (place(to), place(from)) else {
                    findings.push(format!("{from} or {to} lies in no room: name its room in ROOMS"));
                    continue;
                };
                if inner > outer {
                    findings.push(format!("{from} imports {to} ({by}): `{}` lies further out", ROOMS[inner]));
                }
                for (room, not, why) in NOT_EVEN {
                    if ROOMS[outer] == *room && ROOMS[inner] == *not {
                        findings.push(format!("{from} imports {to} ({by}): {why}"));
                    }
                }
            }
        }
        findings.extend(
            circles(&imports).into_iter().map(|circle| format!("a circle of imports: {}", circle.join(" -> "))),
        );
        findings
    }
}

/// Returns the index in [`ROOMS`] of the module that a file belongs to; `None` if it is not listed.
fn place(path: &str) -> Option<usize> {
    let first = path.split('/').next().unwrap_or_default();
    ROOMS.iter().position(|room| *room == first.trim_end_matches(".rs"))
}

/// Finds circles of imports: one for each group of files that import each other.
fn circles(imports: &BTreeMap<&str, BTreeMap<&str, String>>) -> Vec<Vec<String>> {
    let next = |file: &str| imports.get(file).into_iter().flat_map(|targets| targets.keys().copied());
    let mut found: Vec<Vec<String>> = Vec::new();
    for start in imports.keys() {
        if found.iter().any(|circle| circle.iter().any(|file| file == start)) {
            continue;
        }
        // Finds the shortest way from the file back to itself.
        let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
        let mut edge = vec![*start];
        while let Some(file) = (!edge.is_empty()).then(|| edge.remove(0)) {
            for target in next(file) {
                if target == *start {
                    let mut circle = vec![target.to_owned(), file.to_owned()];
                    let mut at = file;
                    while at != *start {
                        at = came_from[at];
                        circle.push(at.to_owned());
                    }
                    circle.reverse();
                    circle.dedup();
                    found.push(circle);
                    edge.clear();
                    break;
                }
                if !came_from.contains_key(target) {
                    came_from.insert(target, file);
                    edge.push(target);
                }
            }
        }
    }
    found
}

/// Returns the module of a file: `core/calls/mod.rs` and `core/calls.rs` are `core::calls`; `lib.rs` is the root.
fn module_of(path: &str) -> Vec<String> {
    let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib")) {
        module.pop();
    }
    module
}

/// Collects the names in one file.
struct Reader {
    root: PathBuf,
    /// The module that is being read: the file's, or an inline module in it.
    module: Vec<String>,
    file: File,
}

impl Reader {
    fn define(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            _ => return,
        };
        self.file.defined.insert(name.to_string());
    }

    /// Turns a written path into a path from the crate's root; `None` if it belongs to another crate.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut base = self.module.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            _ => {}
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn name(&mut self, path: &[String]) {
        let relative = !matches!(path.first().map(String::as_str), Some("crate" | "self" | "super"));
        // A path that begins with a plain name refers to a module of this file, to another crate, or to a name that a `use`
        // imported.
        if relative && path.len() < 2 {
            return;
        }
        let Some(absolute) = self.absolute(path) else { return };
        if !relative || self.is_child(&absolute) {
            self.file.named.insert(absolute);
        }
    }

    /// Whether a relative path leads into a module below the current one.
    fn is_child(&self, absolute: &[String]) -> bool {
        let child: Vec<&str> = absolute[..=self.module.len()].iter().map(String::as_str).collect();
        let base = self.root.join(child.join("/"));
        base.is_dir() || base.with_extension("rs").is_file()
    }

    fn import(&mut self, mut prefix: Vec<String>, tree: &UseTree, public: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.import(prefix, &path.tree, public);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(prefix.clone(), tree, public);
                }
            }
            UseTree::Name(name) if name.ident == "self" => self.imported(&prefix, None, public),
            UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                self.imported(&prefix, None, public);
            }
            UseTree::Rename(rename) => {
                if rename.ident != "self" {
                    prefix.push(rename.ident.to_string());
                }
                self.imported(&prefix, Some(rename.rename.to_string()), public);
            }
            UseTree::Glob(_) => {
                self.name(&prefix);
                if let Some(absolute) = self.absolute(&prefix).filter(|_| public) {
                    self.file.globs.push(absolute);
                }
            }
        }
    }

    fn imported(&mut self, path: &[String], name: Option<String>, public: bool) {
        self.name(path);
        let name = name.or_else(|| path.last().cloned());
        if let (true, Some(name), Some(absolute)) = (public, name, self.absolute(path)) {
            self.file.passed_on.insert(name, absolute);
        }
    }

    /// Collects paths in a macro's tokens, which are not parsed. Only paths that begin with `crate`, `self` or `super` are
    /// found.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if path.is_empty() || colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.read_tokens(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => self.end_path(&mut path),
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if matches!(path.first().map(String::as_str), Some("crate" | "self" | "super")) && path.len() > 1 {
            self.name(&path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Const(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        let tests_alone = |attribute: &Attribute| {
            attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
        };
        if !attributes.iter().any(tests_alone) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.import(Vec::new(), &item.tree, public);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in path)` imports nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if path.leading_colon.is_none() {
            self.name(&words);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        visit::visit_path(self, &called.path);
        self.read_tokens(called.tokens.clone());
    }
}

/// Reads the files of a crate, without those that only tests use.
fn sources(of_crate: &str) -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(of_crate).join("src");
    let mut sources = Sources { root: root.clone(), files: BTreeMap::new() };
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the source folders are readable") {
            let path = entry.expect("the source folders are readable").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" && name != "main.rs" {
                let below = path.strip_prefix(&root).expect("it lies there").to_string_lossy().replace('\\', "/");
                sources.add(&below, &fs::read_to_string(&path).expect("source files are readable"));
            }
        }
    }
    sources
}

#[test]
fn imports_point_inwards_and_form_no_circle() {
    let sources = sources("");
    assert!(sources.files.len() > 100, "only {} files were read: the walk is broken", sources.files.len());
    let imports: usize = sources.imports().values().map(BTreeMap::len).sum();
    assert!(imports > 500, "only {imports} imports were seen: the reading is broken");
    let findings = sources.findings();
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}

/// Returns the folders of all crates but the program's own.
fn crates() -> Vec<String> {
    let below = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/crates")).expect("the crates are readable");
    let names = below.map(|one| one.expect("the crates are readable").file_name().to_string_lossy().into_owned());
    names.map(|name| format!("crates/{name}")).chain(["testkit".to_owned(), "chaos-tests".to_owned()]).collect()
}

#[test]
fn no_crate_has_a_circle_of_imports() {
    let mut read = 0;
    let mut findings = Vec::new();
    for name in crates() {
        let sources = sources(&name);
        read += sources.files.len();
        let found = circles(&sources.imports()).into_iter();
        findings.extend(found.map(|circle| format!("{name}: {}", circle.join(" -> "))));
    }
    assert!(read > 100, "only {read} files were read: the walk is broken");
    assert!(findings.is_empty(), "{} findings\n{}", findings.len(), findings.join("\n"));
}

fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Sources { root, files: BTreeMap::new() };
    for (path, text) in files {
        sources.add(path, text);
    }
    sources.findings()
}

#[test]
fn planted_arrows_up_and_circles_are_found() {
    let found = |files: &[(&str, &str)], what: &str| {
        let findings = planted(files);
        assert!(findings.iter().any(|finding| finding.contains(what)), "{what}: {findings:?}");
    };
    let actors = ("actors/bridge.rs", "pub struct Message;");
    let up = "lies further out";
    found(&[("core/calls/mod.rs", "use crate::actors::bridge::Message;"), actors], up);
    found(&[("core/calls/mod.rs", "use crate::{actors::bridge::Message, limits};"), actors], up);
    found(&[("core/calls/mod.rs", "fn f() { crate::actors::bridge::g(); }"), actors], up);
    found(&[("core/calls/mod.rs", "fn f() { select! { x = crate::actors::bridge::g() => {} } }"), actors], up);
    found(&[("core/calls/mod.rs", "fn f(x: &crate::actors::bridge::Message) {}"), actors], up);
    found(&[("core/calls/mod.rs", "use super::super::actors::bridge::Message;"), actors], up);
    let machine = ("fsm/mod.rs", "pub trait Machine {}");
    found(&[("protocol/ids.rs", "use crate::{fsm::Machine, limits};"), machine], up);
    found(&[("fsm/bridge.rs", "use crate::{limits, net::Net};"), ("net.rs", "pub trait Net {}")], up);
    let front = ("actors/mod.rs", "pub use self::bridge::Message;");
    found(&[("core/calls/mod.rs", "use crate::actors::Message;"), front, actors], "imports actors/bridge.rs");
    let all = ("actors/mod.rs", "pub use self::bridge::*;");
    found(&[("core/calls/mod.rs", "use crate::actors::Message;"), all, actors], "imports actors/bridge.rs");
    let circle = "a circle of imports";
    found(&[("core/a.rs", "use super::b::B; pub struct A;"), ("core/b.rs", "use super::a::A; pub struct B;")], circle);
    found(
        &[
            ("core/a.rs", "use super::b::B; pub struct A;"),
            ("core/b.rs", "use super::c::C; pub struct B;"),
            ("core/c.rs", "fn f(a: crate::core::a::A) {} pub struct C;"),
        ],
        circle,
    );
    found(&[("core/mod.rs", "use self::a::A; pub struct B;"), ("core/a.rs", "use super::B; pub struct A;")], circle);
    found(&[("attic/mod.rs", "use crate::limits::X;"), ("limits.rs", "pub const X: u8 = 1;")], "lies in no room");
    found(&[("services/mod.rs", "use crate::actors::bridge::Message;"), actors], "never reach an actor");
}

#[test]
fn what_is_allowed_is_not_found() {
    let allowed: &[&[(&str, &str)]] = &[
        &[("actors/bridge.rs", "use crate::core::calls::Ledger;"), ("core/calls.rs", "pub struct Ledger;")],
        // A module that re-exports names forms no circle with the file that imports them from it.
        &[
            ("core/mod.rs", "pub use self::a::A; pub use self::b::B;"),
            ("core/a.rs", "use super::B; pub struct A;"),
            ("core/b.rs", "pub struct B;"),
        ],
        &[
            ("core/a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::actors::bridge::Message; }"),
            ("actors/bridge.rs", "use crate::core::a::A; pub struct Message;"),
        ],
        &[
            ("core/a.rs", "pub(in crate::actors) struct A; /// [`crate::actors::bridge`]\nstruct B;"),
            ("actors/bridge.rs", "use crate::core::a::A; pub struct Message;"),
        ],
    ];
    for files in allowed {
        assert_eq!(planted(files), Vec::<String>::new(), "{files:?}");
    }
}
