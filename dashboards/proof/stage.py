"""The players: fake editors, gateways with a client at their pipes, a stranger on a port, and a real Prometheus.

Standard library only. Everything listens on loopback, lives in one temporary folder, and is ended by its own handle.
"""

import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

# A limit for everything that should be quick. It is reached only if something is broken.
SOON_S = 30


class Broken(Exception):
    """Something that must hold does not."""


def insist(condition, what):
    if not condition:
        raise Broken(what)


def wait(what, fact, within=SOON_S):
    """The first truthy value of `fact`: what is waited for is a fact, never a time."""
    until = time.monotonic() + within
    while not (found := fact()):
        insist(time.monotonic() < until, f"{what}: not within {within} s")
        time.sleep(0.05)
    return found


class Process:
    """A child whose lines are read by a thread, so that nobody waits for anybody."""

    def __init__(self, command, log, **more):
        self.log = open(log, "ab")
        more = {"stderr": self.log} | more
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.pid = self.child.pid
        self.reads = threading.Event()
        self.reads.set()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.child.stdout:
            self.hear(line)
            self.reads.wait()

    def tell(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def ended(self):
        return self.child.wait(SOON_S)

    def end(self):
        if self.child.poll() is None:
            self.kill()
        self.log.close()


class Editor(Process):
    """`holdfast fake-unity`, steered by lines."""

    def __init__(self, stage, project, *arguments):
        self.events = []
        command = [stage.binary, "fake-unity", "--project", str(project), "--push", *arguments]
        super().__init__(command, stage.folder / "editors.log", env=stage.environment, cwd="/")
        self.port = self.heard(0, lambda event: event["event"] == "listening")["port"]

    def hear(self, line):
        self.events.append(json.loads(line))

    def heard(self, mark, fits):
        return wait("a word of the editor", lambda: next((e for e in self.events[mark:] if fits(e)), None))

    def say(self, line):
        mark = len(self.events)
        self.tell(line)
        told = self.heard(mark, lambda event: event.get("line") == line)
        insist(told["event"] == "done", told)

    def begun(self, mark, tool):
        self.heard(mark, lambda event: event["event"] == "call_begun" and event["tool"] == tool)


class Gateway(Process):
    """`holdfast --metrics` and the client that started it: every line is JSON-RPC, no id is answered twice."""

    def __init__(self, stage, name, *arguments, measured=True, **more):
        self.stage, self.answers, self.faults, self.last_id, self.lock = stage, {}, [], 0, threading.Lock()
        command = [stage.binary, *(["--metrics"] if measured else []), *arguments]
        super().__init__(command, stage.folder / f"{name}.log", env=stage.environment, cwd="/", **more)
        self.record_path = stage.state / "metrics" / f"{self.pid}.json"

    def hear(self, line):
        try:
            message = json.loads(line)
        except ValueError:
            self.faults.append(f"no JSON on stdout: {line!r}")
            return
        if "method" in message or message.get("id") is None:
            return
        if message["id"] in self.answers:
            self.faults.append(f"a second answer: {message}")
        self.answers[message["id"]] = message

    def ask(self, method, **params):
        with self.lock:
            self.last_id += 1
            number = self.last_id
        self.tell(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return number

    def answer(self, number):
        return wait(f"the answer to {number}", lambda: self.answers.get(number))

    def note(self, method, **params):
        self.tell(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def open(self):
        client = {"name": "claude-code", "version": "1"}
        hello = self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        insist("result" in self.answer(hello), "initialize")
        self.note("notifications/initialized")
        return self

    def call(self, tool, **arguments):
        return self.ask("tools/call", name=tool, arguments=arguments)

    def text(self, number):
        """What an AI reads of a call's end."""
        answer = self.answer(number)
        if "error" in answer:
            return f"error: {answer['error']['message']}"
        text = "\n".join(block.get("text", "") for block in answer["result"]["content"])
        return ("" if answer["result"].get("isError") else "ok: ") + text

    def expect(self, number, start):
        text = self.text(number)
        insist(text.startswith(start), f"expected {start!r}, got {text!r}")

    def works(self):
        """The editor is there, and a call gets through."""
        wait("a call that gets through", lambda: self.text(self.call("echo", text="x")).startswith("ok: "))

    def record(self):
        try:
            return json.loads(self.record_path.read_text())[0]
        except (OSError, ValueError):
            return None

    def target(self):
        return wait("a record for Prometheus", self.record)["targets"][0]

    def close(self):
        self.child.stdin.close()
        insist(self.ended() == 0, "the end of stdin ends it with 0")


class Hub(Gateway):
    """`holdfast hub --metrics --http`: no client started it."""

    def __init__(self, stage, name):
        super().__init__(stage, name, "hub", "--metrics", "--http", "127.0.0.1:0", measured=False)

    def info(self):
        """What the hub's file says."""
        return wait("the hub's file", lambda: json.loads((self.stage.state / "hub" / "hub.json").read_text()))

    def subscribed(self, token=None):
        """A client over HTTP that listens for changes of the tools. Returns the open response."""
        said = token or (self.stage.state / "http_token").read_text().strip()
        version = "2026-07-28"
        headers = {
            "Authorization": f"Bearer {said}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "Mcp-Method": "subscriptions/listen",
        }
        meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
        return urllib.request.urlopen(urllib.request.Request(self.info()["http"], body.encode(), headers), timeout=SOON_S)

    def refuses(self):
        """A stranger speaks to it."""
        info = self.info()
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(info["socket"])
            stranger.sendall(b"nonsense\n")
            insist(b"bad_hello" in stranger.recv(4096), "nonsense is refused")


class Stranger:
    """Listens where an editor is expected, and is none."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(SOON_S)
                try:
                    peer.recv(4096)
                    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno")
                except OSError:
                    pass

    def end(self):
        self.socket.close()


class Prometheus(Process):
    """A real server on a port of its own choice, and its HTTP API."""

    def __init__(self, stage, config):
        self.url = None
        self.config = config
        self.said = []
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={stage.folder / 'tsdb'}"]
        command += ["--web.listen-address=127.0.0.1:0", "--log.format=json"]
        super().__init__(command, stage.folder / "prometheus.out", env=stage.environment, stderr=subprocess.STDOUT)
        wait("Prometheus", self.ready)

    def hear(self, line):
        self.said.append(line.decode(errors="replace").rstrip())
        told = re.search(r'"address":"(127\.0\.0\.1:[1-9]\d*)"', self.said[-1])
        if told:
            self.url = f"http://{told[1]}"

    def ready(self):
        if self.child.poll() is not None:
            raise Broken("Prometheus ended:\n" + "\n".join(self.said[-20:]))
        try:
            return self.url and urllib.request.urlopen(f"{self.url}/-/ready", timeout=SOON_S).status == 200
        except OSError:
            return False

    def get(self, path, **params):
        """(whether it succeeded, its data or its error)."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(params, doseq=True)}"
        try:
            with urllib.request.urlopen(url, timeout=SOON_S) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            answer = json.load(error)
        return answer["status"] == "success", answer.get("data", answer.get("error"))

    def query(self, expression, at=None):
        """The series of an instant query."""
        success, data = self.get("query", query=expression, **({"time": at} if at else {}))
        insist(success, f"{expression}\n    {data}")
        # A scalar result is not a list of series.
        return [{"metric": {}, "value": data["result"]}] if data["resultType"] == "scalar" else data["result"]

    def query_range(self, expression, start, end, step=1):
        success, data = self.get("query_range", query=expression, start=start, end=end, step=step)
        insist(success, f"{expression}\n    {data}")
        return data["result"]

    def scraped(self, expression):
        """Waits until a scrape carries it."""
        return wait(f"a scrape that carries {expression}", lambda: self.query(expression))

    def targets(self):
        success, data = self.get("targets", state="active")
        insist(success, data)
        return {target["labels"]["pid"]: target for target in data["activeTargets"]}


class Stage:
    """One temporary folder, and whoever plays in it."""

    def __init__(self, folder, binary):
        self.folder, self.binary = Path(folder), binary
        self.state, self.home = self.folder / "state", self.folder / "home"
        self.home.mkdir()
        self.players = []
        # An almost empty environment, as clients give it.
        self.environment = {"HOME": str(self.home), "HOLDFAST_STATE_DIR": str(self.state), "PATH": os.environ["PATH"]}

    def keep(self, player):
        self.players.append(player)
        return player

    def editor(self, project, *arguments):
        return self.keep(Editor(self, self.folder / project, *arguments))

    def gateway(self, name, *arguments, **more):
        return self.keep(Gateway(self, name, *arguments, **more))

    def hub(self, name):
        return self.keep(Hub(self, name))

    def end(self):
        for player in reversed(self.players):
            player.end()

    def last_words(self):
        """The end of every log, for whoever has to find out why."""
        for log in sorted(self.folder.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-12:]
            print(f"---- {log.name}", *lines, sep="\n")
