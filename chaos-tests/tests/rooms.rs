//! A package is one room: what its codec states agrees with what its simulated editor states, and no other file names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast::protocol::dialect::{self, Dialect, EditorTool, Hello, Inbound, ListStep, Order, Reply, WireId};
use holdfast_fake_unity::{AbortiveTcp, FakeUnity, FakeUnityConfig, PACKAGES, Package, Shape};
use holdfast_testkit::facts::{Fact, Wrong, applies, differences};
use holdfast_testkit::net::meet;
use proc_macro2::{TokenStream, TokenTree};
use serde_json::Value;
use syn::visit::{self, Visit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Longest wait for anything. Only a broken editor makes a test wait this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks a simulated editor for its tools, with nothing but the codec. `None` where a request has no stream to be asked on.
async fn listed(dialect: &dyn Dialect, package: &'static Package) -> Option<Vec<EditorTool>> {
    if package.facts.shape == Shape::ConnectionEach || package.facts.journal {
        // Over HTTP, and behind a proof of the token, the real connection asks.
        return None;
    }
    let config = FakeUnityConfig { package, package_version: package.newest(), ..FakeUnityConfig::default() };
    let unity = FakeUnity::start(config, Arc::new(AbortiveTcp::default())).await.expect("it starts");
    let port = unity.port().expect("it listens");
    let (mut stream, said) = meet(&AbortiveTcp::default(), dialect, port).await.expect("it accepts");
    let mut framer = dialect.framer();
    framer.push(&said);
    let hello = Hello { editor_port: port, ..Hello::default() };
    for number in 1.. {
        let order = match number {
            1 => Order::Greeting { hello: &hello, said: &[] },
            step => Order::ListTools { step: step as usize - 2, development: false },
        };
        let frame = dialect.encode(WireId { number, call: None, agreed: None }, &order).expect("it fits").into_bytes();
        stream.write_all(&frame).await.expect("it reads");
        let reply = loop {
            if let Some(frame) = framer.next_frame().expect("frames") {
                match dialect.decode(&frame).expect("a message") {
                    Inbound::Reply { reply, .. } | Inbound::Next(reply) => break reply,
                    _ => continue,
                }
            }
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.expect("it answers");
            assert!(read > 0, "the editor hung up");
            framer.push(&bytes[..read]);
        };
        if number == 1 {
            assert!(matches!(reply, Reply::Result(_) | Reply::Error(_)));
            continue;
        }
        match dialect.read_tools(&reply, number as usize - 2) {
            ListStep::Tools(listing) => {
                return Some(listing.tools.iter().map(|tool| EditorTool::clone(tool)).collect());
            }
            ListStep::TryNext => {}
            ListStep::Failed(why) => panic!("{why}"),
        }
    }
    None
}

/// The replies of the golden vectors that refuse a call or fail.
fn errors(package: &Package) -> Vec<String> {
    let folder = root().join("tests/vectors").join(package.name);
    let mut errors = Vec::new();
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = std::fs::read(file.path()).expect("readable");
        let file: Value = serde_json::from_slice(&text).expect("JSON");
        let vectors = file["vectors"].as_array().cloned().unwrap_or_default();
        let is_error = |vector: &Value| vector["means"]["kind"] == "error" && vector["direction"] == "from_editor";
        let bodies = vectors.iter().filter(|vector| is_error(vector)).filter_map(|vector| vector["body"].as_str());
        errors.extend(bodies.map(str::to_owned));
    }
    errors
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.expect("in time") })
}

fn pairs() -> impl Iterator<Item = (&'static dyn Dialect, &'static Package)> {
    PACKAGES.iter().map(|package| (dialect::named(package.name).expect("a codec of this name"), *package))
}

#[test]
fn both_lists_have_the_same_packages() {
    let mut codecs: Vec<&str> = dialect::ALL.iter().map(|dialect| dialect.name()).collect();
    let mut editors: Vec<&str> = PACKAGES.iter().map(|package| package.name).collect();
    codecs.sort_unstable();
    editors.sort_unstable();
    assert_eq!(codecs, editors);
}

#[test]
fn a_codec_states_what_its_simulated_editor_states() {
    let mut found = Vec::new();
    for (dialect, package) in pairs() {
        let tools = block_on(listed(dialect, package));
        let all = differences(dialect, package, tools.as_deref(), &errors(package));
        found.extend(all.into_iter().map(|(_, says)| format!("{}: {says}", package.name)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn one_wrong_fact_of_each_kind_shows() {
    for fact in Fact::ALL {
        let mut shown = 0;
        for (dialect, package) in pairs().filter(|(_, package)| applies(fact, package)) {
            let wrong = Wrong::of(dialect, fact);
            let tools = block_on(listed(dialect, package)).map(|tools| {
                let changed = |mut tool: EditorTool| {
                    tool.repeatable ^= fact == Fact::Repeatable;
                    tool.parallel ^= fact == Fact::Parallel;
                    tool
                };
                tools.into_iter().map(changed).collect::<Vec<_>>()
            });
            let found = differences(wrong, package, tools.as_deref(), &errors(package));
            shown += usize::from(found.iter().any(|(kind, _)| *kind == fact));
        }
        assert!(shown > 0, "a wrong {fact:?} of no package shows");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_path_buf()
}

/// The files that may name packages: their rooms, and the two lists.
fn is_room(path: &str) -> bool {
    const LISTS: [&str; 3] =
        ["src/protocol/dialect/mod.rs", "crates/fake-unity/src/packages.rs", "crates/fake-unity/src/lib.rs"];
    let rooms = ["src/protocol/dialect/", "crates/fake-unity/src/"];
    let in_room = |room: &str| {
        let name = path.strip_prefix(room).and_then(|rest| rest.split_once('/')).map(|(name, _)| name);
        name.is_some_and(|name| PACKAGES.iter().any(|package| package.name.replace('-', "_") == name))
    };
    LISTS.contains(&path) || rooms.into_iter().any(in_room)
}

/// The names that are words too.
const WORDS: [&str; 2] = ["holdfast", "pipeline"];

/// Collects where a file names a package.
struct Named<'a> {
    path: &'a str,
    found: Vec<String>,
}

/// Returns the package whose label this is, in any spelling.
fn label(word: &str) -> Option<&'static str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    PACKAGES.iter().map(|package| package.name).find(|name| plain(name) == plain(word))
}

impl Named<'_> {
    /// An identifier at a place where it names something of the program.
    fn name(&mut self, ident: &impl ToString, what: &str) {
        if let Some(package) = label(&ident.to_string()) {
            self.found.push(format!("{}: {what} {} is the package {package}", self.path, ident.to_string()));
        }
    }

    /// A name that is a word too, as "holdfast" is, counts in paths and variants only.
    fn word(&mut self, text: &str, what: &str) {
        let is_a_word = |package: &str| WORDS.contains(&package);
        if let Some(package) = label(text).filter(|package| !is_a_word(package)) {
            self.found.push(format!("{}: {what} {text:?} is the package {package}", self.path));
        }
    }

    /// A text counts if it is a label itself. The names that people know, such as "uMCP", are no labels.
    fn text(&mut self, text: &str) {
        if PACKAGES.iter().any(|package| package.name == text || package.name.replace('-', "_") == text) {
            self.word(text, "the text");
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut last = [' ', ' '];
        for token in tokens {
            match &token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if last == [':', ':'] => self.name(ident, "the path"),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.text(&text.value());
                    }
                }
                _ => {}
            }
            last = [last[1], if let TokenTree::Punct(punct) = &token { punct.as_char() } else { ' ' }];
        }
    }
}

impl<'ast> Visit<'ast> for Named<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if !attribute.path().is_ident("doc")
            && let syn::Meta::List(list) = &attribute.meta
        {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // The first segment may be the crate of this name.
        let from = usize::from(path.segments.len() > 1 && path.leading_colon.is_none());
        path.segments
            .iter()
            .skip(from)
            .filter(|_| path.segments.len() > 1)
            .for_each(|part| self.name(&part.ident, "the path"));
        visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        match &*path.tree {
            syn::UseTree::Path(next) => self.name(&next.ident, "the path"),
            syn::UseTree::Name(next) => self.name(&next.ident, "the path"),
            syn::UseTree::Rename(next) => self.name(&next.ident, "the path"),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    match tree {
                        syn::UseTree::Path(next) => self.name(&next.ident, "the path"),
                        syn::UseTree::Name(next) => self.name(&next.ident, "the path"),
                        _ => {}
                    }
                }
            }
            syn::UseTree::Glob(_) => {}
        }
        visit::visit_use_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.word(&item.ident.to_string(), "the module");
        visit::visit_item_mod(self, item);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.name(&variant.ident, "the variant");
        visit::visit_variant(self, variant);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.word(&item.ident.to_string(), "the constant");
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.word(&item.ident.to_string(), "the constant");
        visit::visit_item_static(self, item);
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.text(&text.value());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

fn named_in(path: &str, text: &str) -> Vec<String> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut named = Named { path, found: Vec::new() };
    named.visit_file(&file);
    named.found
}

/// All Rust files of the repository, by their path in it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let skipped = ["target", "unity", "node_modules"].iter().any(|skip| name == *skip);
        if path.is_dir() && !skipped && !name.to_string_lossy().starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_file_but_a_packages_room_and_the_two_lists_names_it() {
    let root = root();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).expect("below it").to_string_lossy().replace('\\', "/");
        if !is_room(&path) {
            found.extend(named_in(&path, &std::fs::read_to_string(&file).expect("text")));
        }
    }
    assert!(found.is_empty(), "{} places: {found:#?}", found.len());
}

#[test]
fn a_file_that_names_a_package_is_found_out() {
    let first = PACKAGES[0].name;
    let camel = first[..1].to_uppercase() + &first[1..];
    for text in [
        format!("use crate::protocol::dialect::{first}::Any;"),
        format!("use crate::protocol::dialect::{{{first}, other}};"),
        format!("fn f() {{ dialect::{first}::g() }}"),
        format!("fn f() {{ run!(dialect::{first}::g) }}"),
        format!("enum E {{ {camel} }}"),
        format!("const {}: u8 = 1;", first.to_uppercase()),
        format!("fn f() -> &'static str {{ \"{first}\" }}"),
        format!("fn f() {{ assert_eq!(name, \"{first}\") }}"),
        format!("mod {first};"),
        format!("#[arg(value = \"{first}\")] struct S;"),
    ] {
        assert_eq!(named_in("planted.rs", &text).len(), 1, "{text}");
    }
    for text in
        ["use holdfast::config::Config;".to_owned(), format!("/// {first}\nfn f() {{ say(\"{first} 2.1.1\") }}")]
    {
        assert_eq!(named_in("good.rs", &text), Vec::<String>::new());
    }
}
