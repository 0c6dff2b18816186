#!/usr/bin/env python3
"""Pictures of the real program for the documentation: the status page as PNG, and `holdfast status --watch` as SVG.

    HOLDFAST_BIN=target/debug/holdfast python3 scripts/pictures.py docs/img

Both show one session: an editor that reloads its domain while two calls wait. The page is drawn by Chromium, the terminal by tmux.
Everything is on loopback, in a temporary folder, and ends with this script.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "page"))
import run as page  # noqa: E402 (the harness of the page's test: a browser, a gateway, a fake editor)

COLUMNS, LINES = 100, 24
# Room for one character and one line of the terminal, in SVG units.
WIDTH, HEIGHT = 8.4, 18
# The sixteen colours of a terminal, on a dark background.
COLOURS = [
    "#24292f", "#f2706b", "#4ac387", "#e0a84a", "#7aa7e8", "#b794f4", "#4fc1c9", "#d0d7de",
    "#6e7781", "#ff8f8a", "#6fe0a6", "#f3c571", "#9cc2ff", "#cfb3ff", "#74dde4", "#ffffff",
]
INK, PAPER = "#d0d7de", "#161b22"


def colour(codes, base):
    """The colour of an SGR sequence that begins with 38 or 48, and what follows it."""
    kind, *rest = codes
    if kind == 5:
        number = rest[0]
        if number < 16:
            return COLOURS[number], rest[1:]
        if number < 232:
            parts = [(0, 95, 135, 175, 215, 255)[(number - 16) // step % 6] for step in (36, 6, 1)]
            return "#%02x%02x%02x" % tuple(parts), rest[1:]
        return "#" + "%02x" % (8 + 10 * (number - 232)) * 3, rest[1:]
    return "#%02x%02x%02x" % tuple(rest[:3]), rest[3:]


def styled(line):
    """The pieces of a line of tmux as (text, ink, paper, bold, dim)."""
    ink, paper, bold, dim, swap = INK, None, False, False, False
    for text, codes in re.findall(r"([^\x1b]+)|\x1b\[([\d;]*)m", line):
        if text:
            yield (text, paper or PAPER, ink, bold, dim) if swap else (text, ink, paper, bold, dim)
            continue
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code, *codes = codes
            if code == 0:
                ink, paper, bold, dim, swap = INK, None, False, False, False
            elif code in (1, 22):
                bold, dim = code == 1, dim and code == 1
            elif code == 2:
                dim = True
            elif code in (7, 27):
                swap = code == 7
            elif code in (38, 48):
                found, codes = colour(codes, code)
                ink, paper = (found, paper) if code == 38 else (ink, found)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                ink = COLOURS[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                paper = COLOURS[code - 40 if code < 100 else code - 92]
            elif code == 39:
                ink = INK
            elif code == 49:
                paper = None


def drawn(screen, title):
    """The screen as SVG. Each piece has its own place, so that the reader's font cannot shift the columns."""
    wide, high = COLUMNS * WIDTH + 24, LINES * HEIGHT + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" role="img" aria-label="{escape(title)}">',
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>',
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">',
    ]
    for row, line in enumerate(screen.split("\n")[:LINES]):
        column = 0
        for text, ink, paper, bold, dim in styled(line):
            y = 12 + row * HEIGHT
            if paper:
                place = f'x="{12 + column * WIDTH:.1f}" y="{y}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}"'
                out.append(f'<rect {place} fill="{paper}"/>')
            style = f'fill="{ink}"' + ' font-weight="bold"' * bold + ' opacity=".65"' * dim
            # SVG takes several spaces for one, so what stands between them has a place of its own.
            for word in re.finditer(r"\S+( \S+)*", text):
                x, width = 12 + (column + word.start()) * WIDTH, len(word[0]) * WIDTH
                fit = f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
                out.append(f'<text x="{x:.1f}" y="{y + 13}" {fit} {style}>{escape(word[0])}</text>')
            column += len(text)
    return "\n".join([*out, "</g></svg>", ""])


class Terminal:
    """A command in a terminal of its own, on a tmux server of its own."""

    def __init__(self, room, *words):
        self.socket = str(room / "tmux")
        environment = [f"HOLDFAST_STATE_DIR={room / 'state'}", f"HOME={room / 'home'}", "LANG=C.UTF-8", "TERM=xterm-256color"]
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "env", *environment, os.environ["HOLDFAST_BIN"], *words)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-S", self.socket, *words], check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self.tmux("capture-pane", "-e", "-p")

    def end(self):
        self.tmux("kill-server")


def session(room, pictures):
    project = room / "Castle"
    unity = page.Child(room, "fake-unity", "--port", "0", "--project", str(project), "--quiet")
    gateway = terminal = browser = None
    page.HOSTILE_CLIENT = "claude-code"
    try:
        unity.hear("the editor", lambda line: line.get("event") == "listening")
        gateway = page.Gateway(room, "--project", str(project), "--metrics")
        record = room / "state" / "metrics" / f"{gateway.process.pid}.json"
        address = json.loads(page.until("the record", lambda: record.exists() and record.read_text()))[0]["targets"][0]
        for number, tool in enumerate(("get-hierarchy", "get-logs", "compile", "echo"), start=1):
            gateway.call(str(number), tool, {"text": "hello"} if tool == "echo" else {})
            gateway.answer(str(number))
        browser = page.Browser(room / "profile")
        browser.look(1100, 900, "light")
        browser.order("Page.navigate", url=f"http://{address}/")
        browser.shows("#summary", "ready")
        terminal = Terminal(room, "status", "--watch", "--project", str(project))
        page.until("the terminal", lambda: "Castle" in terminal.screen())
        unity.say("reload 30000")
        page.until("the reload", lambda: "reloading" in browser.text("#summary"))
        for number, tool in ((5, "echo"), (6, "get-logs")):
            gateway.call(str(number), tool, {"text": "held"} if tool == "echo" else {})
        browser.shows("#open", "echo", "get-logs")
        time.sleep(1.5)  # The page draws itself once a second; after two drawings the times on it are steady.
        browser.shoot(pictures / "page.png")
        page.until("the calls on the terminal", lambda: "reloading" in terminal.screen() and "get-logs" in terminal.screen())
        title = "holdfast status --watch: Unity reloads its domain, two calls wait"
        (pictures / "watch.svg").write_text(drawn(terminal.screen(), title))
    finally:
        for child in (terminal, browser, gateway, unity):
            if child:
                child.end()


def main():
    pictures = pathlib.Path(sys.argv[1]).resolve()
    room = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-pictures-")).resolve()
    try:
        for name in ("home", "profile"):
            (room / name).mkdir()
        session(room, pictures)
    finally:
        shutil.rmtree(room, ignore_errors=True)
    for name in sorted(pictures.iterdir()):
        print(f"{name.relative_to(ROOT)}: {name.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    sys.exit(main())
