#!/usr/bin/env python3
"""Makes every package out of given programs: the same here, in `make test-all` and in a release.

    packaging/make.py make --out dist --program TARGET=FILE [--program TARGET=FILE ...]
    packaging/make.py make --out dist --programs FOLDER      each in a folder named as its target
    packaging/make.py make --out dist --runner wine --program x86_64-pc-windows-msvc=holdfast.exe
    packaging/make.py check TARGET=FILE
    packaging/make.py version | matrix [--signed] | host

`check` says whether a program is one for that target, and static where it has to be. `version` prints Cargo.toml's, `matrix` the
platforms for a workflow (`--signed`: those whose system asks for a signature), `host` the target that this machine runs.
The same programs and the same tree give the same bytes (with the same zlib).
"""

import argparse
import json
import platform as system
import shutil
import subprocess
import sys
from pathlib import Path

import binaries
import extensions
import facts
import formats
import managers
from containers import sha256
from notices import notices

SHELLS = {"bash": "holdfast.bash", "zsh": "_holdfast", "fish": "holdfast.fish", "powershell": "_holdfast.ps1"}


def host():
    """The target whose programs run here."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(system.machine().lower(), system.machine().lower())
    ending = {"Linux": "unknown-linux-musl", "Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}.get(system.system())
    return f"{machine}-{ending}"


def output(*words):
    return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def gather(programs, stand_in, runner=None):
    """`programs`: {target: path}. Reads what the packages are made of, and refuses what does not fit. `runner`: what runs the first
    of the programs here, if the system itself runs none of them."""
    crate = facts.crate()
    read = {}
    for target, path in programs.items():
        platform, read[target] = facts.platform_of(target), path.read_bytes()
        wrong = None if stand_in else binaries.complaint(read[target], platform)
        if wrong:
            raise SystemExit(f"error: {path} is not for {target}: {wrong}. Nothing was made")
    runs = [runner, next(iter(programs.values()))] if runner else [programs.get(host())]
    if runs == [None]:
        raise SystemExit(f"error: a program for {host()} has to be among them: it is asked for its version, its completions and its skill")
    said = output(*runs, "-V").decode().strip()
    if said != f"holdfast {crate['version']}":
        raise SystemExit(f"error: {runs[-1]} says it is {said!r}, and Cargo.toml says {crate['version']}. Build it again. Nothing was made")
    documents = {name: (facts.ROOT / name).read_bytes() for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md")}
    documents["LICENSES-THIRD-PARTY.txt"] = notices(programs)
    completions = {name: output(*runs, "completions", "--static", shell) for shell, name in SHELLS.items()}
    skill = json.loads(output(*runs, "skill", "show", "--json"))
    return formats.Release(crate["version"], crate, read, documents, completions, skill)


def everything(release):
    """{file name: bytes} of every package."""
    files = dict(make(release, platform) for platform in release.platforms for make in (formats.archive, formats.npm_platform, formats.wheel))
    files.update(make(release) for make in (formats.npm_main, extensions.claude_code_plugin, extensions.gemini_extension))
    bundle = formats.mcpb(release)
    files[bundle[0]] = bundle[1]
    files.update(managers.everything(release, {name: sha256(content) for name, content in files.items()}))
    files["server.json"] = facts.json_bytes(formats.server_json(release, bundle))
    files["SHA256SUMS"] = "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(files.items())).encode()
    return files


def write(files, out):
    """Into a folder of its own, which then holds nothing else."""
    if out.exists():
        if any(out.iterdir()) and not (out / "SHA256SUMS").exists():
            raise SystemExit(f"error: {out} holds other things than packages; name another folder. Nothing was made")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    for name, content in sorted(files.items()):
        print(f"{len(content):>12,}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("version", "host"):
        commands.add_parser(name)
    commands.add_parser("matrix").add_argument("--signed", action="store_true", help="those whose system asks for a signature")
    checking = commands.add_parser("check")
    checking.add_argument("program", metavar="TARGET=FILE")
    making = commands.add_parser("make")
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--program", action="append", default=[], metavar="TARGET=FILE")
    making.add_argument("--programs", type=Path, metavar="FOLDER")
    making.add_argument("--runner", help="what runs the first program, where the system does not: wine")
    making.add_argument("--stand-in", action="store_true", help="the programs only stand in for the real ones: their format is not checked")
    asked = parser.parse_args()
    if asked.command == "version":
        print(facts.crate()["version"])
    elif asked.command == "host":
        print(host())
    elif asked.command == "matrix":
        chosen = [platform for platform in facts.PLATFORMS if not (asked.signed and platform["npm"]["os"] == ["linux"])]
        rows = [{key: platform[key] for key in ("target", "exe", "runner")} for platform in chosen]
        print(json.dumps({"include": rows}))
    elif asked.command == "check":
        target, path = named(asked.program)
        content = path.read_bytes()
        wrong = binaries.complaint(content, facts.platform_of(target))
        if wrong:
            raise SystemExit(f"error: {path} is not for {target}: {wrong}")
        print(f"{path}: {len(content):,} bytes, {binaries.format_of(content)}{', static' if target.endswith('musl') else ''}")
    else:
        programs = dict(map(named, asked.program))
        if asked.programs:
            for platform in facts.PLATFORMS:
                programs[platform["target"]] = (asked.programs / platform["target"] / platform["exe"]).resolve(strict=True)
        write(everything(gather(programs, asked.stand_in, asked.runner)), asked.out)


def named(pair):
    target, _, path = pair.partition("=")
    return target, Path(path).resolve(strict=True)


if __name__ == "__main__":
    sys.exit(main())
