#!/usr/bin/env python3
"""Writes the fenced C# of pages as source files, so that it is compiled: snippets.py OUT PAGE...

OUT/PAGE/N.cs holds the Nth block of a page, and a #line that lets the compiler name the page. A page without a block is
an error: it was given because it has some.
"""
import os
import shutil
import sys


def blocks(path):
    """(first line, text) of each block that is fenced as csharp."""
    found, open_at, lines = [], None, []
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            if open_at is None and line.rstrip() == "```csharp":
                open_at, lines = number + 1, []
            elif open_at is not None and line.rstrip() == "```":
                found.append((open_at, "".join(lines)))
                open_at = None
            elif open_at is not None:
                lines.append(line)
    if open_at is not None:
        sys.exit(f"{path}:{open_at}: the block has no end")
    return found


def main():
    out, pages = sys.argv[1], sys.argv[2:]
    shutil.rmtree(out, ignore_errors=True)
    for path in pages:
        found = blocks(path)
        if not found:
            sys.exit(f"{path} has no block of csharp")
        folder = os.path.join(out, os.path.splitext(os.path.basename(path))[0])
        os.makedirs(folder)
        for index, (first, text) in enumerate(found, 1):
            with open(os.path.join(folder, f"{index}.cs"), "w", encoding="utf-8") as source:
                source.write(f'#line {first} "{os.path.abspath(path)}"\n{text}')


main()
