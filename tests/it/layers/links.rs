//! Checks the links of every Markdown page in the repository: the file exists, the heading exists, and the book has every page of
//! `docs/`. Links to other hosts are not followed. It also holds the README to its length.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{files_below, relative, root};

/// Limit of the words in the README. A stranger reads that many in three minutes.
const README_WORDS_MAX: usize = 900;
/// The book's list of pages.
const SUMMARY: &str = "docs/SUMMARY.md";
/// What opens a link that leaves the repository.
const ELSEWHERE: &[&str] = &["http:", "https:", "mailto:"];

/// The elements that do not end a word where they end.
const INLINE: &[TagEnd] = &[TagEnd::Emphasis, TagEnd::Strong, TagEnd::Strikethrough, TagEnd::Link, TagEnd::Image];

/// What is checked of a page.
#[derive(Debug, Default)]
struct Page {
    /// The targets of its links and pictures, as they are written.
    links: Vec<String>,
    /// The anchors that a link can name: its headings, and the ids of its HTML.
    anchors: BTreeSet<String>,
    /// The number of words that a reader sees.
    words: usize,
}

/// Reads a page of Markdown as GitHub does.
fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut headings = BTreeMap::new();
    let mut heading: Option<String> = None;
    let mut seen = String::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        let ends_a_block = matches!(&event, Event::End(end) if !INLINE.contains(end));
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.to_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                page.anchors.insert(anchor(&heading.take().unwrap_or_default(), &mut headings));
            }
            Event::Text(text) | Event::Code(text) => {
                seen.push_str(&text);
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            // Between these, pieces of text may belong to one word.
            Event::SoftBreak | Event::HardBreak => seen.push(' '),
            Event::Html(html) | Event::InlineHtml(html) => {
                page.anchors.extend(attributes(&html, &["id", "name"]));
                page.links.extend(attributes(&html, &["href", "src", "srcset"]));
            }
            _ => {}
        }
        if ends_a_block {
            seen.push(' ');
        }
    }
    page.words = seen.split_whitespace().count();
    page
}

/// Returns the anchor that GitHub makes from a heading: lower case, `-` for each space, nothing of other punctuation, and a
/// number for the second heading of the same name.
fn anchor(heading: &str, taken: &mut BTreeMap<String, usize>) -> String {
    let kept = heading.trim().to_lowercase();
    let kept: String = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ')).collect();
    let slug = kept.replace(' ', "-");
    let times = taken.entry(slug.clone()).or_insert(0);
    *times += 1;
    if *times == 1 { slug } else { format!("{slug}-{}", *times - 1) }
}

/// Returns the values of these attributes in a piece of HTML.
fn attributes(html: &str, names: &[&str]) -> Vec<String> {
    let values = names.iter().flat_map(|name| html.split(&format!(" {name}=\"")).skip(1).collect::<Vec<_>>());
    values.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// Returns a target with `%20` and the like decoded.
fn decoded(target: &str) -> String {
    let mut parts = target.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(format!("%{part}").as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a path without `.` and `..`; `None` if it leaves the repository.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Returns what is wrong with the links of a page. `exists` answers whether the repository has a path, `anchors` gives the
/// anchors of a page of Markdown.
fn broken(
    path: &str,
    page: &Page,
    exists: impl Fn(&str) -> bool,
    anchors: impl Fn(&str) -> BTreeSet<String>,
) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let fault = |link: &String| {
        if ELSEWHERE.iter().any(|scheme| link.starts_with(scheme)) {
            return None;
        }
        let (file, heading) =
            link.split_once('#').map_or((link.as_str(), None), |(file, heading)| (file, Some(heading)));
        let target = if file.is_empty() { PathBuf::from(path) } else { folder.join(decoded(file)) };
        let Some(target) = plain(&target).map(|target| relative(&root().join(target))) else {
            return Some(format!("{path}: {link} leaves the repository"));
        };
        if !exists(&target) {
            return Some(format!("{path}: {link} names {target}, which is not there"));
        }
        let heading = heading?;
        let known = target.ends_with(".md") && anchors(&target).contains(heading);
        (!known).then(|| format!("{path}: {link} names a heading that {target} does not have"))
    };
    page.links.iter().filter_map(fault).collect()
}

/// Returns every page of Markdown in the repository.
fn pages() -> BTreeMap<String, Page> {
    let paths = files_below(root()).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    let pages = paths.map(|path| {
        let text = fs::read_to_string(&path).expect("the pages are readable UTF-8");
        (relative(&path), read(&text))
    });
    pages.collect()
}

#[test]
fn every_link_between_the_pages_leads_somewhere() {
    let pages = pages();
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    assert!(pages.len() > 60 && links > 300, "only {} pages with {links} links were seen", pages.len());
    let anchors = |path: &str| pages.get(path).map(|page| page.anchors.clone()).unwrap_or_default();
    let exists = |path: &str| root().join(path).exists();
    let findings: Vec<String> = pages.iter().flat_map(|(path, page)| broken(path, page, exists, anchors)).collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn the_book_and_the_index_have_every_page() {
    let pages = pages();
    let listed = |of: &str| -> BTreeSet<String> {
        let folder = Path::new(of).parent().unwrap_or(Path::new(""));
        let files = pages[of].links.iter().filter_map(|link| link.split('#').next());
        files.filter_map(|file| plain(&folder.join(file))).map(|path| relative(&root().join(path))).collect()
    };
    let (summary, index) = (listed(SUMMARY), listed("docs/README.md"));
    let ours = pages.keys().filter(|path| path.starts_with("docs/") && *path != SUMMARY);
    let missing: Vec<&String> = ours.clone().filter(|path| !summary.contains(*path)).collect();
    assert!(missing.is_empty(), "{SUMMARY} does not list {missing:?}");
    // The index lists pages; a folder has an index of its own.
    let top = ours.filter(|path| path.matches('/').count() == 1 && *path != "docs/README.md");
    let missing: Vec<&String> = top.filter(|path| !index.contains(*path)).collect();
    assert!(missing.is_empty(), "docs/README.md does not list {missing:?}");
}

#[test]
fn the_readme_is_short() {
    let text = fs::read_to_string(root().join("README.md")).expect("the README is readable");
    let words = read(&text).words;
    assert!(words > 100, "only {words} words were seen: the count is broken");
    assert!(
        words <= README_WORDS_MAX,
        "README.md has {words} words, {README_WORDS_MAX} at most: move the rest into docs/"
    );
}

// ---- The checker is checked ----------------------------------------------------------------------------------------

#[test]
fn planted_broken_links_are_found() {
    let text = "# A page\n[a](b.md) [a](../README.md#use-it) [a](#a-page) ![a](img/a.svg) [a](https://x.example/y#z) [ref]\n\n\
                `[no](link.md)`\n\n[ref]: b.md#two-words-2\n<img src=\"img/c.png\">\n\n```\n[no](link.md)\n```\n";
    let page = read(text);
    let there = ["docs/a.md", "docs/b.md", "README.md", "docs/img/a.svg", "docs/img/c.png"];
    let anchors = |path: &str| match path {
        "docs/a.md" => page.anchors.clone(),
        "README.md" => BTreeSet::from(["use-it".to_owned()]),
        _ => read("## Two words\n## Two words\n## Two words!\n").anchors,
    };
    let faults = |there: &[&str]| broken("docs/a.md", &page, |path| there.contains(&path), anchors);
    assert_eq!(faults(&there), Vec::<String>::new());
    for gone in 1..there.len() {
        let rest: Vec<&str> = there.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, path)| *path).collect();
        assert!(faults(&rest).iter().all(|fault| fault.contains(there[gone])), "{}", there[gone]);
        assert!(!faults(&rest).is_empty(), "{} is not missed", there[gone]);
    }
    let fault = |text: &str| broken("docs/a.md", &read(text), |path| there.contains(&path), anchors);
    for wrong in [
        "[a](#a_page)",
        "[a](b.md#two-words-3)",
        "[a](img/a.svg#x)",
        "[a](../../b.md)",
        "[a](B.md)",
        "<a href=\"c.md\">",
    ] {
        assert_eq!(fault(wrong).len(), 1, "{wrong}");
    }
}

#[test]
fn anchors_are_those_of_github() {
    let page = read(
        "# What it costs\n## `holdfast doctor`, in 2 s?\n## A_b-c (d)\n## Ünïcode – x\n<a id=\"own\"></a>\n\nfour more words here\n",
    );
    let expected = ["what-it-costs", "holdfast-doctor-in-2-s", "a_b-c-d", "ünïcode--x", "own"];
    assert_eq!(page.anchors, expected.map(str::to_owned).into());
    assert_eq!(page.words, 3 + 5 + 2 + 3 + 4);
    assert_eq!(decoded("Third%20Party%20100%.md"), "Third Party 100%.md");
}
