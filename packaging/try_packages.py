#!/usr/bin/env python3
"""Installs each package of a dist folder into an empty place, without a network, and lets a real MCP client drive it.

    packaging/try_packages.py DIST [--starts 12]
    packaging/try_packages.py DIST --wine TOOLS      those for Windows, on Linux; see windows.sh

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
import re
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


class System:
    """Where the packages are tried: this machine, with its own tools."""

    target = host()
    windows = os.name == "nt"
    # Whether the commands that npm makes for people to type can be run.
    shims = True
    node, python, npm = Path(NODE), Path(sys.executable), [Path(NPM)]
    npx = [Path(NPM).with_name("npx.cmd" if windows else "npx")]
    kept = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "TEMP", "TMP")

    def words(self, words):
        """A command as the programs of this system are told it."""
        return [str(word) for word in words]

    def command(self, words):
        """A command as this machine is told it."""
        return self.words(words)

    def environment(self, home):
        return {"HOME": str(home), "USERPROFILE": str(home), "APPDATA": str(home / "APPDATA"), "LOCALAPPDATA": str(home / "LOCALAPPDATA")}

    def run(self, words, **how):
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, **how)


class Wine(System):
    """Windows as far as Wine plays it: Windows' own Node and Python, npm's code, and the official client in that Node."""

    target = "x86_64-pc-windows-msvc"
    windows = True
    # Wine 8's cmd.exe ends them, with exit code 0, before they start anything.
    shims = False
    kept = ("WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES")

    def __init__(self, tools):
        self.node, self.python = tools / "node/package/bin/node.exe", tools / "python/python.exe"
        # Wine 8 has no TCP_KEEPALIVE, and npm's connections to a registry would fail over it.
        without = "data:text/javascript,import net from 'node:net'; net.Socket.prototype.setKeepAlive = function () { return this; };"
        self.npm = [self.node, "--import", without, tools / "npm/package/bin/npm-cli.js"]

    def words(self, words):
        first, *more = words
        if isinstance(first, Path) and first.suffix == ".cmd":
            # What its last line would start.
            found = re.search(r'"%_prog%" +"%dp0%\\(\S+)" +%\*', first.read_text(encoding="utf-8"))
            expect(found, f"{first} is in another form than npm's")
            first, more = self.node, [(first.parent / found[1].replace("\\", "/")).resolve(strict=True), *more]
        return ["Z:" + str(word).replace("/", "\\") if isinstance(word, Path) else str(word) for word in (first, *more)]

    def command(self, words):
        return ["wine", *self.words(words)]

    def environment(self, home):
        # Wine has its own mind of the home, and without a locale of paths with letters outside ASCII. npm would take from its
        # cache what it is to fetch.
        return {"HOME": str(home), "LC_ALL": "C.UTF-8", "npm_config_cache": self.words([home / "cache"])[0]}

    def run(self, words, **how):
        if words[1] != self.words([self.node])[0]:
            return super().run(words, **how)
        # Node cannot speak into a pipe of Linux.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=PATIENCE_S, **how)
            for file in out, err:
                file.seek(0)
            done.stdout, done.stderr = out.read(), err.read()
        return done


class Trial:
    """One try in an empty place: a folder with a home of its own."""

    def __init__(self, system, dist, version, starts, place):
        self.system, self.dist, self.version, self.starts, self.place = system, dist, version, starts, place
        self.home = place / "home"
        self.home.mkdir()
        self.platform = facts.platform_of(system.target)
        self.marker = f"HOLDFAST_TRY={uuid.uuid4()}"
        kept = {name: os.environ[name] for name in system.kept if name in os.environ}
        path = os.pathsep.join([str(Path(NODE).parent), os.environ["PATH"]])
        self.environment = {**kept, "PATH": path, **system.environment(self.home), **dict([self.marker.split("=")])}

    def run(self, *words, code=0):
        """Runs a command to its end and gives what it said."""
        return self.run_in(self.system, words, code)

    def run_in(self, system, words, code=0):
        words = system.command(words)
        done = system.run(words, cwd=self.place, env=self.environment)
        done.stdout, done.stderr = (text.decode(errors="replace").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
        expect(done.returncode == code, f"`{' '.join(words)}` ended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done

    def start(self, words, cwd=None, stderr=None):
        return subprocess.Popen(self.system.command(words), cwd=cwd or self.place, env=self.environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=stderr)

    def probe(self, *command, large=0):
        """Lets the official client drive a server; gives the names of its tools. `large`: see probe.mjs."""
        return self.probe_from(self.system, self.system.words(command), large)

    def probe_from(self, system, command, large=0):
        words = [system.node, PROBE, "--version", self.version, "--starts", self.starts, "--large", large, "--", *command]
        said = self.run_in(system, words).stdout.splitlines()
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


def npm_install(trial, *packages, source=("--offline",)):
    """`source`: by itself everything lies here, and whatever npm would fetch is a fault of the packages."""
    (trial.place / "package.json").write_text('{ "private": true }')
    trial.run(*trial.system.npm, "install", *source, "--no-audit", "--no-fund", "--no-update-notifier", *packages)
    return trial.place / "node_modules" / ".bin" / ("holdfast-mcp.cmd" if trial.system.windows else "holdfast-mcp")


def npm_packages(trial):
    main = trial.package(f"{facts.NPM_NAME}-{trial.version}.tgz")
    return main, trial.package(f"{facts.NPM_NAME}-{trial.platform['npm']['name']}-{trial.version}.tgz")


def npm(trial):
    """the npm packages, installed"""
    program = npm_install(trial, *npm_packages(trial))
    trial.probe(program)
    if LINUX and not trial.system.windows and trial.run(NODE, "--print", "typeof process.execve").stdout.strip() == "function":
        end_of(trial, [program], signal.SIGTERM, runs={str(program_file(trial))})
    trial.run(program, "--no-such-flag", code=2)
    expect(trial.run(program, "-V").stdout == f"holdfast {trial.version}\n", "the launcher does not pass stdout through")


def npm_without_execve(trial):
    """the npm packages where Node cannot replace its process (Windows, Node before 22.15)"""
    program = npm_install(trial, *npm_packages(trial))
    plain = trial.place / "plain.cjs"
    plain.write_text("delete process.execve;")
    launcher = launcher_file(trial)
    words = [trial.system.node, "--require", plain, launcher]
    trial.probe(*words)
    trial.run(*words, "--no-such-flag", code=2)
    if trial.system.windows:
        outlives_the_console(trial, launcher)
        end_of(trial, words, getattr(signal, "SIGKILL", signal.SIGTERM))
    else:
        ended_by_signals(trial, words)


def outlives_the_console(trial, launcher):
    """What Windows' console tells the launcher it tells the program too: the launcher must not end the program over it. Node is
    told here what the console would tell it; the program is not, and stays."""
    told = trial.place / "told.cjs"
    told.write_text("setTimeout(() => { for (const it of ['SIGINT', 'SIGBREAK', 'SIGHUP']) process.emit(it); }, 500);")
    with open_session(trial, [trial.system.node, "--require", told, launcher]) as server:
        time.sleep(1)
        expect(b'"id":2' in answer(server, {"jsonrpc": "2.0", "id": 2, "method": "ping"}), "the program ended with what the console tells")
        server.stdin.close()
        code = server.wait(PATIENCE_S)
        expect(code == 0, f"it ended with {code} when its stdin did")


def ended_by_signals(trial, words):
    """A signal to the launcher ends the program, and its end is the launcher's; a killed launcher leaves no program."""
    direct = end_of(trial, [program_file(trial)], signal.SIGTERM)
    through = end_of(trial, words, signal.SIGTERM)
    expect(through == direct, f"SIGTERM ends the program with {direct}, and the launcher with {through}")
    end_of(trial, words, signal.SIGKILL)


def launcher_file(trial):
    return trial.place / "node_modules" / facts.NPM_NAME / "launcher.js"


def program_file(trial):
    return trial.place / "node_modules" / facts.NPM_SCOPE / trial.platform["npm"]["name"] / trial.platform["exe"]


def answer(server, request):
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    return server.stdout.readline()


@contextlib.contextmanager
def open_session(trial, words, hello=HELLO, cwd=None):
    """A server that has given its first answer. It ends with this block, at the latest when our patience does."""
    server = trial.start(words, cwd, subprocess.DEVNULL)
    bound = threading.Timer(PATIENCE_S, server.kill)
    bound.start()
    try:
        expect(b'"serverInfo"' in answer(server, hello), f"{words} did not answer")
        yield server
    finally:
        bound.cancel()
        server.kill()
        with contextlib.suppress(OSError):
            server.stdin.close()
        server.stdout.close()
        server.wait(PATIENCE_S)


def end_of(trial, words, number, runs=None):
    """Starts a server, waits for its first answer, sends the signal while its stdin stays open, and gives the exit code.
    `runs`: the programs that may run by then."""
    with open_session(trial, words) as server:
        running = {os.readlink(f"/proc/{pid}/exe") for pid in trial.left()}
        expect(runs is None or running == runs, f"not only the program runs, but {running}")
        server.send_signal(number)
        code = server.wait(PATIENCE_S)
        expect(trial.gone_within(ORPHAN_S), f"{number.name} to the launcher left {trial.left()}")
        return code


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
    with trial.start([unpacked(trial)[1], "fake-unity", "--quiet"]) as model:
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
        looks, named = trial.place / "looks.cjs", f"{facts.NPM_NAME}@{trial.version}"
        if trial.system.shims:
            words = [*trial.system.npx, "--yes", "--no-update-notifier", "--registry", registry.address]
            asks, starts = [*words, named], [[*words, *options, facts.NPM_NAME] for options in ([], [f"--node-options=--require=./{looks.name}"])]
        else:
            # npx would end in npm's command. Until then it does this.
            program = npm_install(trial, named, source=("--registry", registry.address))
            asks, starts = [program], [[program], [trial.system.node, "--require", looks, launcher_file(trial)]]
        expect(trial.run(*asks, "-V").stdout == f"holdfast {trial.version}\n", "it is another")
        wanted = sorted(path.name for path in npm_packages(trial))
        expect(sorted(registry.fetched) == wanted, f"npm fetched {registry.fetched}, and this platform needs {wanted}")
        # Node sets O_NONBLOCK on a stdin and stdout that it has looked at. It takes this back for a child, but not where it becomes
        # the program: then whatever a person's NODE_OPTIONS load decides how these two are handed over.
        looks.write_text("process.stdin; process.stdout;")
        with editor(trial) as port:
            for words in starts:
                trial.probe(*words, "--port", port, large=LARGE_RESULT)


def npm_incomplete(trial):
    """the npm package whose program was left out says what to do"""
    program = npm_install(trial, *npm_packages(trial))
    shutil.rmtree(program_file(trial).parent)
    done = trial.run(program, code=1)
    expect(done.stdout == "" and "npm install --include=optional" in done.stderr, f"it said {done.stdout!r} {done.stderr!r}")
    launcher = launcher_file(trial)
    other = trial.place / "other.cjs"
    other.write_text("Object.defineProperty(process, 'platform', { value: 'sunos' });")
    done = trial.run(trial.system.node, "--require", other, launcher, code=1)
    expect("there is no build for sunos" in done.stderr, f"it said {done.stderr!r}")


def npm_run_once(trial):
    """a program in npx's cache is not written into a client's configuration without a warning"""
    cache = trial.home / ".npm" / "_npx" / "0a1b"
    cache.mkdir(parents=True)
    place, trial.place = trial.place, cache
    program = npm_install(trial, *npm_packages(trial))
    trial.place = place
    done = trial.run(program, "setup", "cursor", "--create", "--dry-run")
    expect("npm install --global holdfast-mcp" in done.stderr, f"it said {done.stderr!r}")


def wheel(trial):
    """the wheel, installed by pip"""
    place, windows = trial.place / "venv", trial.system.windows
    suffix, scripts = (".exe", place / "Scripts") if windows else ("", place / "bin")
    trial.run(trial.system.python, "-m", "venv", place)
    python = scripts / f"python{suffix}"
    trial.run(python, "-m", "pip", "install", "--no-index", "--find-links", trial.dist, "--disable-pip-version-check", facts.PYPI_NAME)
    trial.run(python, "-m", "pip", "check")
    shown = trial.run(python, "-m", "pip", "show", "--files", facts.PYPI_NAME).stdout
    expect(f"Version: {facts.pypi_version(trial.version)}" in shown, shown)
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
    start = {**start, **start.get("platform_overrides", {}).get(trial.platform["mcpb"]["platform"], {})}
    project = trial.place / "Unity Project"
    for part in ("Assets", "ProjectSettings"):
        (project / part).mkdir(parents=True)
    values = dict(zip(("${__dirname}", "${user_config.project}"), trial.system.words([folder, project])))
    words = []
    for word in [start["command"], *start["args"]]:
        for name, value in values.items():
            word = word.replace(name, value)
        expect("${" not in word, f"nothing is known to put into {word}")
        words.append(word)
    tools = trial.probe(*words)
    declared = [tool["name"] for tool in manifest["tools"]]
    expect(sorted(declared) == sorted(tools), f"the manifest lists {declared}, and without Unity the program has {tools}")


def extensions(trial):
    """the Claude Code plugin and the Gemini extension: their server is started, with the program on PATH, and the skill is there"""
    folder, program = unpacked(trial)
    for kind, listed, command in (("claude-code-plugin", ".mcp.json", "commands/{}.md"),
                                  ("gemini-extension", "gemini-extension.json", "commands/holdfast/{}.toml")):
        with zipfile.ZipFile(trial.package(f"holdfast-{kind}-{trial.version}.zip")) as packed:
            packed.extractall(trial.place / kind)
        place = trial.place / kind / "holdfast"
        for name in ("skills/holdfast/SKILL.md", *map(command.format, ("fix-compile-errors", "why-is-unity-silent"))):
            expect((place / name).is_file(), f"{name} is not in the {kind}")
        server = json.loads((place / listed).read_text(encoding="utf-8"))["mcpServers"]["holdfast"]
        expect(server["command"] == program.stem, f"the {kind} starts {server['command']}")
        trial.probe(program, *server["args"])


def interop(trial):
    """the program for Windows as the child of a client on Linux, as WSL starts it"""
    project = trial.place / "Unity Project"
    for part in ("Assets", "ProjectSettings"):
        (project / part).mkdir(parents=True)
    # The client hands on next to nothing of its environment, and Wine needs to know its place.
    wine = [f"{name}={trial.environment[name]}" for name in trial.system.kept if name in trial.environment]
    program = unpacked(trial)[1]
    trial.probe_from(System(), ["env", *wine, *trial.system.command([program, "serve", "--project", project])])
    # Such a client's roots are paths of Linux, and its working directory is handed over as Windows calls it.
    hello = {**HELLO, "params": {**HELLO["params"], "capabilities": {"roots": {}}}}
    with open_session(trial, [program, "serve"], hello, project) as server:
        asked = json.loads(answer(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}))
        expect(asked.get("method") == "roots/list", f"the client's roots are not asked for: {asked}")
        roots = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///mnt/c/Games/Castle"}]}}
        server.stdin.write(json.dumps(roots).encode() + b"\n")
        status = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "holdfast_status", "arguments": {}}}
        end = time.monotonic() + ORPHAN_S
        found = None
        while found is None and time.monotonic() < end:
            time.sleep(0.2)
            found = json.loads(json.loads(answer(server, status))["result"]["content"][0]["text"])["project"]
        wanted, = trial.system.words([project])
        expect(found == wanted, f"beside a root of Linux its project is {found}, and it works in {wanted}")


TRIES = [sums, archive, npm, npm_without_execve, npx, npm_incomplete, npm_run_once, wheel, mcpb, extensions]


@contextlib.contextmanager
def wine_running():
    """Wine's own processes stay until the end; none of them is taken for something that a try has left."""
    with subprocess.Popen(["wine", "cmd"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as waiting:
        yield
        waiting.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--starts", type=int, default=1, help="how often the client starts each server; the times are medians")
    parser.add_argument("--wine", type=Path, metavar="TOOLS", help="the folder with Windows' node and python, and npm")
    asked = parser.parse_args()
    # A pipe on Windows takes only some of the letters of what is shown here.
    sys.stdout.reconfigure(encoding="utf-8")
    if asked.wine:
        with wine_running():
            return tried(Wine(asked.wine.resolve(strict=True)), [*TRIES, interop], asked)
    return tried(System(), [*TRIES, *([alone] if LINUX else [])], asked)


def tried(system, tries, asked):
    version, failed = facts.crate()["version"], 0
    for attempt in tries:
        # A place below a folder with a space and a letter outside ASCII, as users' folders have them.
        with tempfile.TemporaryDirectory(prefix="holdfast try é ") as place:
            trial = Trial(system, asked.dist.resolve(), version, asked.starts, Path(place).resolve())
            try:
                not_shown = attempt(trial)
                expect(trial.gone_within(1), f"still running: {trial.left()}")
                print(f"ok   {attempt.__doc__}" if not_shown is None else f"     {attempt.__doc__}: not shown by {not_shown}", flush=True)
            except (Failed, subprocess.SubprocessError, OSError, ValueError) as why:
                failed += 1
                print(f"FAIL {attempt.__doc__}: {why}", flush=True)
                for pid in trial.left():
                    os.kill(pid, signal.SIGKILL)
    print(f"{len(tries) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
