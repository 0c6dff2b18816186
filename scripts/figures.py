#!/usr/bin/env python3
"""Writes the figures of README.md and docs/benchmarks.md between their markers, from what the benchmarks wrote.

    scripts/figures.py RUN.json...   keeps these runs in benches/figures.json, and writes the tables (`make figures`)
    scripts/figures.py --check       whether the markers are there and the tables are those of benches/figures.json (`make lint`)

A run is the file of `cargo bench --bench side_by_side -- --json FILE`. Of several runs, a table gives the smallest and the largest
figure of each row, as "from to to"."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "benches/figures.json"
BEGIN, END = "<!-- figures, written by `make figures`: begin -->", "<!-- figures: end -->"

# The README's rows: what a user reads, the bench's row, which column of it, and which of several figures in that cell.
README = [
    ("start, until the AI client has its first answer", "start to `initialize` answer, with Unity", "holdfast", 0, "median of {n}"),
    ("memory, idle, in a monitor", "resident memory, idle", "holdfast", 0, "with the program's file, which all its processes share"),
    ("memory, idle, of its own", "resident memory, idle", "holdfast", 1, ""),
    ("added to a call", "one call, p50", "compared", 0, "median of {n}, beside a bare relay"),
    ("Unity listens again, until the first good answer", "editor listens again to first good answer, after all", "holdfast", 0, "median of {n} outages"),
    ("the slowest of them", "editor listens again to first good answer, after all", "holdfast", 2, ""),
]


def parts(cell):
    """The figures of a cell: its numbers with their units."""
    unit = re.search(r"\b(ms|MiB)\b", cell)
    return [f"{number} {unit.group(1) if unit else ''}".strip() for number in re.findall(r"\d+(?:\.\d+)?", cell)]


def spread(cells):
    """One cell out of those of several runs."""
    number = lambda cell: float(re.search(r"-?\d+(?:\.\d+)?", cell).group()) if re.search(r"\d", cell) else 0.0
    low, high = min(cells, key=number), max(cells, key=number)
    return low if low == high else f"{low} to {high}"


def rows_of(runs, start):
    """The rows of all runs that begin with this text."""
    found = [next((row for row in run["rows"] if row["what"].startswith(start)), None) for run in runs]
    if None in found:
        raise SystemExit(f"figures: a run has no row that begins with: {start}")
    return found


def readme(runs):
    lines = ["| | measured | |", "| --- | ---: | --- |"]
    for told, start, column, nth, about in README:
        rows = rows_of(runs, start)
        figures = [parts(row[column])[nth] for row in rows]
        count = re.search(r"of (\d+)$", rows[0]["what"])
        lines.append(f"| {told} | {spread(figures)} | {about.format(n=count.group(1) if count else '')} |")
    lines += ["", measured(runs)]
    return lines


def benchmarks(runs):
    lines = ["| what | holdfast | floor (relay) | compared | budget | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for first in runs[0]["rows"]:
        rows = rows_of(runs, first["what"])
        cells = [spread([row[column] for row in rows]) for column in ("holdfast", "floor", "compared")]
        met = "" if first["met"] is None else "ok" if all(row["met"] for row in rows) else "**missed**"
        lines.append(f"| {first['what']} | {' | '.join(cells)} | {first['budget'] or ''} | {met} |")
    lines += ["", measured(runs)]
    return lines


def measured(runs):
    count = "One run" if len(runs) == 1 else f"{len(runs)} runs, from the smallest to the largest figure"
    loads = spread([f"{run['load']:.1f}" for run in runs])
    return f"{count}, on {runs[0]['processors']} cores, load average {loads} at the end of a run."


TABLES = {"README.md": readme, "docs/benchmarks.md": benchmarks}


def texts(runs):
    """Every page as it must be, and as it is."""
    for name, table in TABLES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
            raise SystemExit(f"figures: {name} needs this pair of lines once: {BEGIN} and {END}")
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        yield name, text, f"{before}{BEGIN}\n" + "\n".join(table(runs)) + f"\n{END}{after}"


def main(arguments):
    if arguments == ["--check"]:
        if not RUNS.exists():
            raise SystemExit(f"figures: {RUNS.relative_to(ROOT)} is missing; `make figures`")
        runs = json.loads(RUNS.read_text(encoding="utf-8"))
        stale = [name for name, text, wanted in texts(runs) if text != wanted]
        if stale:
            raise SystemExit(f"figures: not those of benches/figures.json: {', '.join(stale)}; `make figures`")
        return
    if not arguments or arguments[0].startswith("-"):
        raise SystemExit(__doc__)
    read = lambda path: json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    runs = [read(path) for path in arguments]
    wanted = list(texts(runs))
    RUNS.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, _, text in wanted:
        (ROOT / name).write_text(text, encoding="utf-8")
    print(f"figures: written to {', '.join(TABLES)} from {len(runs)} run(s); read the difference")


main(sys.argv[1:])
