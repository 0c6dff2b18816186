#!/usr/bin/env python3
"""The crates on crates.io: which, in which order, and the program's under a name that is free there.

    packaging/crates.py names                  those that are published, each after what it stands on
    packaging/crates.py stage FOLDER           the tree as it is published, into an empty folder
    packaging/crates.py publish                publishes what is not there yet; needs CARGO_REGISTRY_TOKEN or `cargo login`
    packaging/crates.py publish --dry-run      everything but the upload and the build

crates.io has a `holdfast` of other people, so the crate is `holdfast-mcp` there; its library and its program are called holdfast as ever.
The name is set in a copy of the tree, because in the tree itself nothing gains by it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import facts

CARGO = os.environ.get("CARGO", "cargo")
# Who names the crate `holdfast`: each text has to be there, exactly once.
EDITS = {
    "Cargo.toml": [
        ('[package]\nname = "holdfast"\n', f'[package]\nname = "{facts.CRATE_NAME}"\n'),
        ("\n[dependencies]\n", '\n[lib]\nname = "holdfast"\n\n[[bin]]\nname = "holdfast"\npath = "src/main.rs"\n\n[dependencies]\n'),
    ],
    "testkit/Cargo.toml": [('holdfast = { path = ".."', f'holdfast = {{ package = "{facts.CRATE_NAME}", path = ".."')],
    "chaos-tests/Cargo.toml": [('holdfast = { path = ".."', f'holdfast = {{ package = "{facts.CRATE_NAME}", path = ".."')],
}


def names(packages):
    """`packages`: cargo's own description of the workspace."""
    ours = {package["name"]: package for package in packages if package["publish"] is None}
    order = []

    def add(name):
        if name in ours and name not in order:
            for needed in ours[name]["dependencies"]:
                if needed["kind"] != "dev":
                    add(needed["name"])
            order.append(name)

    for name in sorted(ours):
        add(name)
    return [facts.CRATE_NAME if name == "holdfast" else name for name in order]


def edited(text, edits, where):
    for old, new in edits:
        if text.count(old) != 1:
            raise SystemExit(f"error: {where} has {old.strip()!r} {text.count(old)} times, and not once: correct EDITS in packaging/crates.py")
        text = text.replace(old, new)
    return text


def stage(out):
    """What git does not ignore of the tree, with the crate's name set. The commit comes along: cargo notes it in a crate, and the program says it."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main", out], check=True)
    subprocess.run(["git", "fetch", "--quiet", "--depth", "1", facts.ROOT.as_uri(), "HEAD"], cwd=out, check=True)
    subprocess.run(["git", "reset", "--quiet", "FETCH_HEAD"], cwd=out, check=True)
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=facts.ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    for path in (path for path in listed if (facts.ROOT / path).is_file()):
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(facts.ROOT / path, out / path)
    for path, edits in EDITS.items():
        text = (out / path).read_text(encoding="utf-8")
        (out / path).write_text(edited(text, edits, path), encoding="utf-8", newline="\n")
    # The lock file names the crate too. Cargo keeps every version that is in it.
    subprocess.run([CARGO, "update", "--workspace", "--offline", "--quiet"], cwd=out, check=True)


def is_published(name, version, place):
    """`place`: a folder outside of the workspace, where cargo takes a name for that of a registry's crate."""
    words = [CARGO, "info", "--quiet", f"{name}@{version}"]
    return subprocess.run(words, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def publish(dry_run):
    """In one go: cargo keeps the order, and waits until the registry has what the next one stands on. What is there stays, so that a
    run can be repeated."""
    crates, version = names(facts.packages()), facts.crate()["version"]
    with tempfile.TemporaryDirectory() as place:
        missing = crates if dry_run else [name for name in crates if not is_published(name, version, place)]
        for name in crates:
            print(f"{name} {version}: {'to be published' if name in missing else 'is there'}", flush=True)
        if not missing:
            return
        tree = Path(place) / "tree"
        stage(tree)
        how = ["--dry-run", "--no-verify"] if dry_run else []
        named = [word for name in missing for word in ("--package", name)]
        # What git calls dirty is the name.
        subprocess.run([CARGO, "publish", "--locked", "--allow-dirty", *how, *named], cwd=tree, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("names")
    staging = commands.add_parser("stage")
    staging.add_argument("folder", type=Path)
    publishing = commands.add_parser("publish")
    publishing.add_argument("--dry-run", action="store_true")
    asked = parser.parse_args()
    if asked.command == "names":
        print("\n".join(names(facts.packages())))
    elif asked.command == "stage":
        if asked.folder.exists() and any(asked.folder.iterdir()):
            raise SystemExit(f"error: {asked.folder} is not empty. Nothing was written")
        stage(asked.folder)
    else:
        try:
            publish(asked.dry_run)
        except subprocess.CalledProcessError as failed:
            raise SystemExit(f"error: {' '.join(map(str, failed.cmd))} ended with {failed.returncode}") from None


if __name__ == "__main__":
    sys.exit(main())
