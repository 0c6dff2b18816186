#!/usr/bin/env python3
"""Installs each package of a dist folder into an empty place, without a network, and lets a real MCP client drive it.

    packaging/try_packages.py DIST [--starts 12]

Takes what is made for this machine. NODE and NPM name the programs (default: those on PATH). Ends with "N passed, N failed".
"""

import argparse
import base64
import contextlib
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse
import uuid
import venv
import zipfile
from pathlib import Path

import binaries
import facts
from make import host

NODE = os.environ.get("NODE") or shutil.which("node") or sys.exit("error: no node; name it in NODE")
NPM = os.environ.get("NPM") or shutil.which("npm") or sys.exit("error: no npm; name it in NPM")
PROBE = facts.HERE / "probe.mjs"
LINUX = sys.platform == "linux"
# Far above what anything here needs; only something broken meets it.
PATIENCE_S = 120
# A launcher that is killed cannot tell its program, which then has to ask its client whether it lives; this one does not answer.
ORPHAN_S = 20
# Larger than every buffer between the program and its client.
LARGE_RESULT = 1024 * 1024
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "try", "version": "1"}}}


class Failed(Exception):
    pass


def expect(fact, otherwise):
    if not fact:
        raise Failed(otherwise)


class Trial:
    """One try in an empty place: a folder with a home of its own."""

    def __init__(self, dist, version, starts, place):
        self.dist, self.version, self.starts, self.place = dist, version, starts, place
        self.home = place / "home"
        self.home.mkdir()
        self.platform = facts.platform_of(host())
        self.marker = f"HOLDFAST_TRY={uuid.uuid4()}"
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP") if name in os.environ}
        path = os.pathsep.join([str(Path(NODE).parent), os.environ["PATH"]])
        self.environment = {**kept, "PATH": path, "HOME": str(self.home), "USERPROFILE": str(self.home), **dict([self.marker.split("=")])}
        for name in ("APPDATA", "LOCALAPPDATA"):
            self.environment[name] = str(self.home / name)

    def run(self, *words, code=0, cwd=None):
        """Runs a command to its end and gives what it said."""
        words = [str(word) for word in words]
        done = subprocess.run(words, cwd=cwd or self.place, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, encoding="utf-8", errors="replace")
        expect(done.returncode == code, f"`{' '.join(words)}` ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done

    def probe(self, *command, large=0):
        """Lets the official client drive a server; gives the names of its tools. `large`: see probe.mjs."""
        said = self.run(NODE, PROBE, "--version", self.version, "--starts", self.starts, "--large", large, "--", *command).stdout.splitlines()
        print(f"       {said[-1]}")
        return said[0].split()[1:]

    def left(self):
        """Every process that still runs of what was started here."""
        found = []
        for pid in Path("/proc").glob("[0-9]*") if LINUX else ():
            try:
                if self.marker.encode() in (pid / "environ").read_bytes().split(b"\0"):
                    found.append(int(pid.name))
            except OSError:
                pass  # gone, or another user's
        return found

    def gone_within(self, seconds):
        end = time.monotonic() + seconds
        while self.left() and time.monotonic() < end:
            time.sleep(0.02)
        return not self.left()

    def package(self, name):
        path = self.dist / name
        expect(path.is_file(), f"{name} is not in {self.dist}")
        return path


def sums(trial):
    """SHA256SUMS tells the truth, and leaves nothing out"""
    listed = dict(reversed(line.split("  ", 1)) for line in (trial.dist / "SHA256SUMS").read_text().splitlines())
    there = {path.name for path in trial.dist.iterdir()} - {"SHA256SUMS"}
    expect(set(listed) == there, f"listed and there differ: {sorted(set(listed) ^ there)}")
    for name, is_sum in listed.items():
        expect(hashlib.sha256((trial.dist / name).read_bytes()).hexdigest() == is_sum, f"{name} has another sum")


def unpacked(trial):
    """The folder of the unpacked archive, and the program in it."""
    stem = f"holdfast-{trial.version}-{trial.platform['target']}"
    path = trial.package(f"{stem}.{trial.platform['archive']}")
    if path.suffix == ".zip":
        zipfile.ZipFile(path).extractall(trial.place)
    else:
        tarfile.open(path).extractall(trial.place)
    return trial.place / stem, trial.place / stem / trial.platform["exe"]


def archive(trial):
    """the archive, unpacked"""
    folder, program = unpacked(trial)
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "LICENSES-THIRD-PARTY.txt", "README.md", "completions/holdfast.bash"):
        expect((folder / name).stat().st_size > 500, f"{name} is empty")
    trial.probe(program)


def alone(trial):
    """the program alone: no library, no other file, no environment"""
    program = trial.place / "root" / trial.platform["exe"]
    program.parent.mkdir()
    stem = f"holdfast-{trial.version}-{trial.platform['target']}"
    with tarfile.open(trial.package(f"{stem}.tar.gz")) as packed:
        program.write_bytes(packed.extractfile(f"{stem}/{trial.platform['exe']}").read())
    program.chmod(0o755)
    if binaries.wants_a_loader(program.read_bytes()):
        return "a stand-in that is linked dynamically"
    words = [*([] if os.geteuid() == 0 else ["sudo", "-n"]), shutil.which("chroot", path=f"{os.environ['PATH']}:/usr/sbin"), program.parent, "/holdfast"]
    done = subprocess.run(words, input=json.dumps(HELLO) + "\n", env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, text=True)
    expect(done.returncode == 0 and '"serverInfo"' in done.stdout, f"it ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return None


def npm_install(trial, *packages):
    (trial.place / "package.json").write_text('{ "private": true }')
    # Everything it needs lies here: whatever it would fetch is a fault of the packages.
    trial.run(NPM, "install", "--offline", "--no-audit", "--no-fund", "--no-update-notifier", *packages)
    return trial.place / "node_modules" / ".bin" / ("holdfast-mcp.cmd" if os.name == "nt" else "holdfast-mcp")


def npm_packages(trial):
    main = trial.package(f"{facts.NPM_NAME}-{trial.version}.tgz")
    return main, trial.package(f"{facts.NPM_NAME}-{trial.platform['npm']['name']}-{trial.version}.tgz")


def npm(trial):
    """the npm packages, installed"""
    program = npm_install(trial, *npm_packages(trial))
    trial.probe(program)
    if trial.run(NODE, "--print", "typeof process.execve").stdout.strip() == "function" and LINUX:
        end_of(trial, [str(program)], signal.SIGTERM, runs={str(program_file(trial))})
    trial.run(program, "--no-such-flag", code=2)
    expect(trial.run(program, "-V").stdout == f"holdfast {trial.version}\n", "the launcher does not pass stdout through")


def npm_without_execve(trial):
    """the npm packages where Node cannot replace its process (Windows, Node before 22.15)"""
    program = npm_install(trial, *npm_packages(trial))
    plain = trial.place / "plain.cjs"
    plain.write_text("delete process.execve;")
    launcher = trial.place / "node_modules" / facts.NPM_NAME / "launcher.js"
    words = [NODE, "--require", plain, launcher]
    trial.probe(*words)
    trial.run(*words, "--no-such-flag", code=2)
    if os.name != "nt":
        ended_by_signals(trial, [str(word) for word in words])


def ended_by_signals(trial, words):
    """A signal to the launcher ends the program, and its end is the launcher's; a killed launcher leaves no program."""
    direct = end_of(trial, [str(program_file(trial))], signal.SIGTERM)
    through = end_of(trial, words, signal.SIGTERM)
    expect(through == direct, f"SIGTERM ends the program with {direct}, and the launcher with {through}")
    end_of(trial, words, signal.SIGKILL)


def program_file(trial):
    return trial.place / "node_modules" / facts.NPM_SCOPE / trial.platform["npm"]["name"] / trial.platform["exe"]


def end_of(trial, words, number, runs=None):
    """Starts a server, waits for its first answer, sends the signal while its stdin stays open, and gives the exit code.
    `runs`: the programs that may run by then."""
    server = subprocess.Popen(words, cwd=trial.place, env=trial.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        expect(b'"serverInfo"' in server.stdout.readline(), f"{words} did not answer")
        running = {os.readlink(f"/proc/{pid}/exe") for pid in trial.left()}
        expect(runs is None or running == runs, f"not only the program runs, but {running}")
        server.send_signal(number)
        code = server.wait(PATIENCE_S)
        expect(trial.gone_within(ORPHAN_S), f"{number.name} to the launcher left {trial.left()}")
        return code
    finally:
        server.kill()
        server.stdin.close()
        server.stdout.close()
        server.wait(PATIENCE_S)


class Registry(http.server.ThreadingHTTPServer):
    """An npm registry on loopback that has the packages of a dist folder and nothing else."""

    def __init__(self, dist):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = {path.name: path.read_bytes() for path in dist.glob("*.tgz")}
        self.fetched, self.documents = [], {}
        self.address = f"http://127.0.0.1:{self.server_port}"
        for name, content in self.files.items():
            with tarfile.open(fileobj=io.BytesIO(content)) as packed:
                package = json.load(packed.extractfile("package/package.json"))
            integrity = f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"
            package["dist"] = {"tarball": f"{self.address}/-/{name}", "integrity": integrity}
            versions = {package["version"]: package}
            self.documents[package["name"]] = {"name": package["name"], "dist-tags": {"latest": package["version"]}, "versions": versions}

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path).lstrip("/")
        content = self.server.files.get(path.removeprefix("-/"))
        if content is not None:
            self.server.fetched.append(path.removeprefix("-/"))
        elif path in self.server.documents:
            content = json.dumps(self.server.documents[path]).encode()
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def editor(trial):
    """A model of an editor; gives its port. It ends with this block, at the latest when our patience does."""
    words = [unpacked(trial)[1], "fake-unity", "--quiet"]
    with subprocess.Popen(words, env=trial.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as model:
        bound = threading.Timer(PATIENCE_S, model.kill)
        bound.start()
        try:
            said = model.stdout.readline()
            expect(b'"port"' in said, f"the model of an editor said {said!r}")
            yield json.loads(said)["port"]
        finally:
            bound.cancel()
            model.kill()


def npx(trial):
    """npx --yes holdfast-mcp, from a registry and with nothing installed"""
    with Registry(trial.dist) as registry:
        words = [Path(NPM).with_name("npx.cmd" if os.name == "nt" else "npx"), "--yes", "--no-update-notifier", "--registry", registry.address]
        expect(trial.run(*words, f"{facts.NPM_NAME}@{trial.version}", "-V").stdout == f"holdfast {trial.version}\n", "it is another")
        wanted = sorted(path.name for path in npm_packages(trial))
        expect(sorted(registry.fetched) == wanted, f"npm fetched {registry.fetched}, and this platform needs {wanted}")
        # Node sets O_NONBLOCK on a stdin and stdout that it has looked at. It takes this back for a child, but not where it becomes
        # the program: then whatever a person's NODE_OPTIONS load decides how these two are handed over.
        (trial.place / "looks.cjs").write_text("process.stdin; process.stdout;")
        with editor(trial) as port:
            for options in [], ["--node-options=--require=./looks.cjs"]:
                trial.probe(*words, *options, facts.NPM_NAME, "--port", port, large=LARGE_RESULT)


def npm_incomplete(trial):
    """the npm package whose program was left out says what to do"""
    program = npm_install(trial, *npm_packages(trial))
    shutil.rmtree(program_file(trial).parent)
    done = trial.run(program, code=1)
    expect(done.stdout == "" and "npm install --include=optional" in done.stderr, f"it said {done.stdout!r} {done.stderr!r}")
    launcher = trial.place / "node_modules" / facts.NPM_NAME / "launcher.js"
    other = trial.place / "other.cjs"
    other.write_text("Object.defineProperty(process, 'platform', { value: 'sunos' });")
    done = trial.run(NODE, "--require", other, launcher, code=1)
    expect("there is no build for sunos" in done.stderr, f"it said {done.stderr!r}")


def npm_run_once(trial):
    """a program in npx's cache is not written into a client's configuration without a warning"""
    cache = trial.home / ".npm" / "_npx" / "0a1b"
    cache.mkdir(parents=True)
    (trial.home / ".cursor").mkdir()
    place, trial.place = trial.place, cache
    program = npm_install(trial, *npm_packages(trial))
    trial.place = place
    done = trial.run(program, "setup", "cursor", "--dry-run")
    expect("npm install --global holdfast-mcp" in done.stderr, f"it said {done.stderr!r}")


def wheel(trial):
    """the wheel, installed by pip"""
    scripts = trial.place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    venv.create(trial.place / "venv", with_pip=True, symlinks=os.name != "nt")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    trial.run(python, "-m", "pip", "install", "--no-index", "--find-links", trial.dist, "--disable-pip-version-check", facts.PYPI_NAME)
    trial.run(python, "-m", "pip", "check")
    shown = trial.run(python, "-m", "pip", "show", "--files", facts.PYPI_NAME).stdout
    expect(f"Version: {facts.pypi_version(trial.version)}" in shown, shown)
    suffix = ".exe" if os.name == "nt" else ""
    trial.probe(scripts / f"holdfast-mcp{suffix}")
    expect(trial.run(scripts / f"holdfast{suffix}", "-V").stdout == f"holdfast {trial.version}\n", "`holdfast` is not there as well")
    content = (scripts / f"holdfast-mcp{suffix}").read_bytes()
    expect(not content.startswith(b"#!"), "a script stands between the client and the program")
    trial.run(python, "-m", "pip", "uninstall", "--yes", facts.PYPI_NAME)
    expect(not (scripts / f"holdfast{suffix}").exists(), "pip uninstall leaves the program")


def mcpb(trial):
    """the .mcpb, unpacked and started as its manifest says"""
    bundle = trial.package(f"holdfast-{trial.version}.mcpb")
    with zipfile.ZipFile(bundle) as packed:
        for entry in packed.infolist():
            path = Path(packed.extract(entry, trial.place / "unpacked folder"))
            path.chmod(entry.external_attr >> 16 & 0o777)
    folder = trial.place / "unpacked folder"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    expect(manifest["version"] == trial.version, f"the manifest says {manifest['version']}")
    expect((folder / manifest["server"]["entry_point"]).is_file(), "the entry point is not in the bundle")
    start = manifest["server"]["mcp_config"]
    start = {**start, **start.get("platform_overrides", {}).get(sys.platform, {})}
    project = trial.place / "Unity Project"
    for part in ("Assets", "ProjectSettings"):
        (project / part).mkdir(parents=True)
    values = {"${__dirname}": str(folder), "${user_config.project}": str(project)}
    words = []
    for word in [start["command"], *start["args"]]:
        for name, value in values.items():
            word = word.replace(name, value)
        expect("${" not in word, f"nothing is known to put into {word}")
        words.append(word)
    tools = trial.probe(*words)
    declared = [tool["name"] for tool in manifest["tools"]]
    expect(sorted(declared) == sorted(tools), f"the manifest lists {declared}, and without Unity the program has {tools}")


TRIES = [sums, archive, *([alone] if LINUX else []), npm, npm_without_execve, npx, npm_incomplete, npm_run_once, wheel, mcpb]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--starts", type=int, default=1, help="how often the client starts each server; the times are medians")
    asked = parser.parse_args()
    version, failed = facts.crate()["version"], 0
    for attempt in TRIES:
        # A place below a folder with a space and a letter outside ASCII, as users' folders have them.
        with tempfile.TemporaryDirectory(prefix="holdfast try é ") as place:
            trial = Trial(asked.dist.resolve(), version, asked.starts, Path(place).resolve())
            try:
                not_shown = attempt(trial)
                expect(trial.gone_within(1), f"still running: {trial.left()}")
                print(f"ok   {attempt.__doc__}" if not_shown is None else f"     {attempt.__doc__}: not shown by {not_shown}", flush=True)
            except (Failed, subprocess.SubprocessError, OSError) as why:
                failed += 1
                print(f"FAIL {attempt.__doc__}: {why}", flush=True)
                for pid in trial.left():
                    os.kill(pid, signal.SIGKILL)
    print(f"{len(TRIES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
