//! Draws a session as SVG: `holdfast demo --json | cargo run --package holdfast-timeline --example draw -- "TITLE" > demo.svg`.
//! `make pictures` makes the pictures of the README and of the documentation with it.

use std::io::{self, Write as _};

use holdfast_timeline::{Timeline, svg};
use serde::Deserialize;

/// The event of `holdfast demo --json` that has the whole session. All other events have other members.
#[derive(Deserialize)]
struct Event {
    timeline: Timeline,
}

fn main() -> io::Result<()> {
    let event = io::read_to_string(io::stdin())?.lines().find_map(|line| serde_json::from_str::<Event>(line).ok());
    let event = event.ok_or_else(|| io::Error::other("no line with a timeline on stdin"))?;
    let title = std::env::args().nth(1).unwrap_or_else(|| "A session".to_owned());
    // A page around the picture may have another colour scheme than the reader's system, so the picture brings its background.
    let picture = svg::draw(&event.timeline, &title);
    let picture = picture.replace("</style>", "</style><rect width=\"100%\" height=\"100%\" fill=\"Canvas\"/>");
    io::stdout().write_all(picture.as_bytes())
}
