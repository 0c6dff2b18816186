#!/usr/bin/env python3
"""Runs the tests that were built for Windows, under Wine, and holds against a list what Windows or Wine cannot run.

    python3 scripts/wine/tests.py HERE.json WINDOWS.json [SUITE...]

Both files are what `cargo test --no-run --message-format=json` wrote: for this system, and for Windows. Every test that this system
has and Windows has not, and every one that is not run under Wine, must be in scripts/wine/left_out.toml with its reason; what is
there for nothing is an error, too. Exit code 0 only if all that is left passed.

A SUITE is a program, as `chaos-tests:sim`; of the one that holds the integration tests it may be a module, as `holdfast:it::process`.
"""

import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The program whose modules run as suites of their own.
DIVIDED = "holdfast:it"
# Seconds: a suite takes some minutes on a busy machine. Ends only what hangs.
PATIENCE = 1800


def programs(file):
    """The programs of tests by the name of their target: `holdfast` for the library's own."""
    found = {}
    for line in open(file, encoding="utf-8"):
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            kind = message["target"]["kind"][0]
            # `path+file:///a/folder#name@1.0.0`, or without the name if the folder has the same name.
            path, told = message["package_id"].split("#")
            package = told.split("@")[0] if "@" in told else path.rstrip("/").split("/")[-1]
            name = message["target"]["name"]
            found[f"{package}:{name}" if kind == "test" else f"{package}:{kind}:{name}"] = message["executable"]
    return found


def names(command):
    listed = subprocess.run([*command, "--list", "--format", "terse"], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=True)
    return {line.removesuffix(": test") for line in listed.stdout.decode().splitlines() if line.endswith(": test")}


def suites(program, tests):
    """The tests of a program by their suite."""
    found = {} if program == DIVIDED else {program: set()}
    for test in tests:
        found.setdefault(f"{program}::{test.split('::')[0]}" if program == DIVIDED else program, set()).add(test)
    return found


def names_a_suite(pattern):
    program, _, test = pattern.partition(" ")
    return "*" not in program and (program != DIVIDED or "*" not in test.split("::")[0])


class LeftOut:
    """The list: patterns of tests, each with a reason."""

    def __init__(self):
        with open(ROOT / "scripts/wine/left_out.toml", "rb") as file:
            self.entries = tomllib.load(file)["left_out"]
        wide = [pattern for entry in self.entries for pattern in entry["tests"] if not names_a_suite(pattern)]
        if wide:
            raise SystemExit(f"error: left_out.toml: these name no suite: {', '.join(wide)}")
        self.used = set()

    def match(self, kind, program, test):
        for entry in self.entries:
            for pattern in entry["tests"]:
                if entry["by"] == kind and fnmatch.fnmatchcase(f"{program} {test}", pattern):
                    self.used.add((kind, pattern))
                    return True
        return False

    def unused(self):
        return [pattern for entry in self.entries for pattern in entry["tests"] if (entry["by"], pattern) not in self.used]


def run(suite, program, wanted, skipped):
    """Runs one suite; gives the names of the tests that passed, and of those that did not or of which nothing was heard."""
    print(f"==> {suite}", flush=True)
    began = time.monotonic()
    # A command line has at most 32 KiB on Windows: suites of the divided program name the tests to run, others those to skip.
    words = sorted(wanted) if suite.startswith(DIVIDED) else [word for test in sorted(skipped) for word in ("--skip", test)]
    # Into a file: a pipe would end only with the last program that has it open, and a test that was ended may leave such
    # programs.
    with tempfile.TemporaryFile() as output:
        command = ["wine", program, "--exact", *words]
        child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True)
        try:
            child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            print(f"    ended after {PATIENCE} s")
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        output.seek(0)
        text = output.read().decode(errors="replace")
    passed = set(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. ok\r?$", text, re.M))
    ignored = set(re.findall(r"^test (\S+) \.\.\. ignored.*$", text, re.M))
    failed = wanted - passed - ignored
    if failed or child.returncode != 0:
        print(text)
    print(f"    {len(passed)} passed, {len(failed)} failed, {len(skipped)} left out, exit code {child.returncode} "
          f"({time.monotonic() - began:.0f} s)", flush=True)
    return len(passed), failed or ({"it did not end well"} if child.returncode != 0 else set())


def main():
    here, windows = programs(sys.argv[1]), programs(sys.argv[2])
    chosen = sys.argv[3:]
    left_out, faults, total, failures, skips = LeftOut(), [], 0, {}, 0
    known = set(here)
    for program in sorted(here):
        if chosen and not any(suite.split("::")[0] == program for suite in chosen):
            continue
        ours = suites(program, names([here[program]]))
        all_theirs = suites(program, names(["wine", windows[program]]) if program in windows else set())
        for suite in sorted(ours.keys() | all_theirs.keys()):
            known.add(suite)
            if chosen and not {suite, program} & set(chosen):
                continue
            theirs = all_theirs.get(suite, set())
            for test in sorted(ours.get(suite, set()) - theirs):
                skips += 1
                if not left_out.match("windows", program, test):
                    faults.append(f"{program} {test} is not there on Windows, and the list has no reason")
            skipped = {test for test in theirs if left_out.match("wine", program, test)}
            skips += len(skipped)
            if theirs - skipped:
                passed, failed = run(suite, windows[program], theirs - skipped, skipped)
                total += passed
                if failed:
                    failures[suite] = failed
    faults += [f"there is no suite {suite}" for suite in chosen if suite not in known]
    if not chosen:
        faults += [f"left_out.toml: {pattern} fits no test" for pattern in left_out.unused()]
    for fault in faults:
        print(f"error: {fault}")
    for suite, failed in failures.items():
        print(f"FAILED {suite}: {', '.join(sorted(failed))}")
    print(f"{skips} tests are left out, for the reasons in scripts/wine/left_out.toml")
    print(f"{total} passed, {sum(map(len, failures.values()))} failed")
    return 1 if faults or failures else 0


if __name__ == "__main__":
    sys.exit(main())
