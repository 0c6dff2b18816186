"""The licences of the crates that are linked in: most of them ask that their text comes along with a binary."""

import json
import os
import subprocess
from pathlib import Path

import facts

NAMES = ("licen", "copying", "notice", "unlicense", "copyright")


def notices(targets):
    """One text with every licence file of every crate that is built into the program for these targets."""
    words = [os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version", "1"]
    words += [word for target in sorted(targets) for word in ("--filter-platform", target)]
    found = json.loads(subprocess.run(words, cwd=facts.ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    linked, waiting = set(), [found["resolve"]["root"]]
    while waiting:
        at = waiting.pop()
        if at in linked:
            continue
        linked.add(at)
        for dependency in nodes[at]["deps"]:
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if normal and not macro:
                waiting.append(dependency["pkg"])
    # Ours come under the licence of the program.
    linked -= set(found["workspace_members"])

    texts = {}  # the words -> one text, and the crates that carry it
    lines = ["Crates that are linked into holdfast, and their licences.", ""]
    for package in sorted((packages[at] for at in linked), key=lambda package: (package["name"], package["version"])):
        named = f"{package['name']} {package['version']}"
        lines.append(f"* {named}: {package['license'] or 'see its licence file'} ({package['repository'] or 'crates.io'})")
        for file in sorted(Path(package["manifest_path"]).parent.iterdir()):
            if file.is_file() and file.name.lower().startswith(NAMES):
                text = file.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()
                # The same words are often laid out in other ways.
                texts.setdefault(tuple(text.split()), (text, []))[1].append(named)
    for text, carriers in sorted(texts.values(), key=lambda entry: entry[1]):
        lines += ["", "-" * 78, "", ", ".join(dict.fromkeys(carriers)), "", text]
    return ("\n".join(lines) + "\n").encode()
