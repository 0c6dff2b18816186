#!/usr/bin/env python3
"""Counts the lines of the program, by room: non-blank lines of code and comment, without tests. A line of more than 120 columns
counts twice. Usage: scripts/lines.py [REVISION] (default: the files as they are)."""

import re
import subprocess
import sys
from collections import Counter

COLUMNS = 120
# What the release binary is not made of: a model of an editor, and what tests stand on.
APART = ("crates/fake-unity/", "testkit/")
TEST_FILE = re.compile(r"(^|/)(tests?\.rs$|tests/|testing\.rs$)")
TEST_MODULE = re.compile(r"^#\[cfg\((all\()?test\b")


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def counted(text):
    """The lines of a file up to its tests, each once or twice."""
    total = 0
    lines = iter(text.splitlines())
    for line in lines:
        if TEST_MODULE.match(line):
            # The item that follows, to its end in the first column.
            for item in lines:
                if item.startswith("#["):
                    continue
                if not item.rstrip().endswith("{"):
                    break
                for body in lines:
                    if body.startswith("}"):
                        break
                break
            continue
        if line.strip():
            total += 1 + (len(line) > COLUMNS)
    return total


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else None
    listed = git("ls-tree", "-r", "--name-only", revision) if revision else git("ls-files")
    rooms, sums = Counter(), Counter()
    for path in listed.splitlines():
        if not path.endswith(".rs") or not path.startswith(("src/", "crates/")) or path.startswith(APART):
            continue
        if TEST_FILE.search(path):
            continue
        try:
            text = git("show", f"{revision}:{path}") if revision else open(path, encoding="utf-8").read()
        except FileNotFoundError:
            continue
        top, room, *rest = path.split("/")
        lines = counted(text)
        rooms[f"{top}/{room.removesuffix('.rs')}"] += lines
        sums[top] += lines
    for room, lines in sorted(rooms.items()):
        print(f"{lines:7,}  {room}")
    for top, lines in sorted(sums.items()):
        print(f"{lines:7,}  {top}/ together")
    print(f"{sum(sums.values()):7,}  all")


if __name__ == "__main__":
    main()
