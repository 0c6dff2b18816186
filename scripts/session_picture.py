#!/usr/bin/env python3
"""A session as the README shows it: an AI client edits a script, compiles it and runs the tests, and Unity reloads in between.

    HOLDFAST_BIN=target/debug/holdfast HOLDFAST_EDITORS=$(sh scripts/csharp.sh host) python3 scripts/session_picture.py |
        cargo run --package holdfast-timeline --example draw >docs/img/session.svg

The gateway is the real program. The editor is the real C# of holdfast's own Unity package in the simulated editor. Every time in the
picture is measured. Everything is on loopback, in a temporary folder, and ends with this script.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "page"))
from run import Child, until  # noqa: E402 (the harness of the page's test: processes with lines of JSON)

CLIENT, GATEWAY, UNITY = 0, 1, 2
DOOR = "using UnityEngine;\n\npublic class Door : MonoBehaviour\n{\n    public float Speed = 1f;\n}\n"
TONES = {"ok": "good", "tool_error": "trouble"}


class Heard(Child):
    """A process whose lines are told at the time at which they come."""

    def __init__(self, told, *words, **more):
        self.on_line = told
        super().__init__(*words, **more)

    def tell(self, message):
        self.say(json.dumps(message))


class Session:
    def __init__(self, room):
        self.began = time.monotonic()
        self.room = room
        self.lanes = [{"name": name, "phases": []} for name in ("AI client", "holdfast", "Unity")]
        self.moments, self.calls, self.open = [], [], {}
        self.up = False
        words = json.loads(os.environ["HOLDFAST_EDITORS"])["mono"]
        project = room / "Castle"
        self.unity = Heard(self.of_unity, room, "--project", str(project), "--port", "0", program=words)
        until("Unity listens", lambda: self.up)
        self.gateway = Heard(self.of_gateway, room, "serve", "--project", str(project))
        for lane in (CLIENT, GATEWAY):
            self.phase(lane, "up")
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "1"}})
        self.gateway.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})

    def now(self):
        """The time in the form in which serde writes a duration."""
        nanoseconds = int((time.monotonic() - self.began) * 1e9)
        return {"secs": nanoseconds // 10**9, "nanos": nanoseconds % 10**9}

    def phase(self, lane, phase):
        self.lanes[lane]["phases"].append([self.now(), phase])

    def tell(self, start, to, tone, text):
        self.moments.append({"at": self.now(), "from": start, "to": to, "tone": tone, "text": text, "measured": None})

    def of_unity(self, said):
        event = said.get("event")
        if event == "listening":
            if not self.up:
                self.phase(UNITY, "up")
                self.tell(UNITY, UNITY, "good", "Unity listens")
            self.up = True
        elif event == "reload_begun" and self.up:
            self.up = False
            self.phase(UNITY, "reloading")
            self.tell(UNITY, UNITY, "trouble", "domain reload: every connection is cut")

    def of_gateway(self, said):
        if said.get("method") == "notifications/progress":
            bar = self.open[said["params"]["progressToken"]]["bar"]
            if bar is not None and bar["sent"] is None and said["params"].get("message", "").startswith("sent to Unity"):
                bar["sent"] = self.now()
                self.tell(GATEWAY, UNITY, "plain", f"{bar['name']}: sent to Unity")
            return
        call = self.open.get(said.get("id"))
        if call is None:
            return
        if call["bar"] is not None:
            verdict = "tool_error" if said.get("result", {}).get("isError") or "error" in said else "ok"
            call["bar"]["end"] = [self.now(), verdict]
            self.tell(GATEWAY, CLIENT, TONES[verdict], f"{call['bar']['name']}: answered")
        call["answer"] = said

    def ask(self, method, params, bar=None):
        number = f"q{len(self.open)}"
        self.open[number] = {"bar": bar, "answer": None}
        self.gateway.tell({"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": {"progressToken": number}}})
        if bar is None:
            self.answer(number)
        return number

    def call(self, name, tool, **arguments):
        bar = {"name": name, "asked": self.now(), "sent": None, "end": None}
        self.calls.append(bar)
        self.tell(CLIENT, GATEWAY, "plain" if self.up else "waiting", f"{name}: called" if self.up else f"{name}: called, and held")
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, bar)

    def answer(self, number):
        return until(f"the answer to {number}", lambda: self.open[number]["answer"])

    def done(self, name, tool, **arguments):
        answer = self.answer(self.call(name, tool, **arguments))
        if "result" not in answer or answer["result"].get("isError"):
            raise SystemExit(f"session_picture: {name} failed: {json.dumps(answer)[:400]}")

    def end(self):
        self.gateway.end()
        for lane in (CLIENT, GATEWAY, UNITY):
            self.phase(lane, "gone")
        self.unity.end()


def story(session):
    # Running tests is off until the user allows it; the simulated editor's own tool does it, outside of the picture.
    session.answer(session.ask("tools/call", {"name": "allow", "arguments": {"setting": "EnableTestsExecution"}}))
    session.done("edit-script", "edit-script", Action="Create", Path="Assets/Door.cs", Text=DOOR)
    compile_and_test(session)
    session.done("edit-script", "edit-script", Action="Replace", Path="Assets/Door.cs", Edits=[{"OldText": "1f", "NewText": "2f"}])
    compile_and_test(session)


def compile_and_test(session):
    """Tests that are asked for during the reload of a compilation wait, and run when Unity is back."""
    compiles = session.call("compile", "compile")
    until("the reload begins", lambda: not session.up)
    time.sleep(0.3)
    tests = session.call("run-tests", "run-tests", FilterType="exact", FilterValue="Game.Tests.Walks")
    session.answer(compiles)
    session.answer(tests)
    time.sleep(0.4)


def main():
    room = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-picture-")).resolve()
    session = None
    try:
        (room / "home").mkdir()
        session = Session(room)
        story(session)
        session.end()
        print(json.dumps({"timeline": {"lanes": session.lanes, "moments": session.moments, "calls": session.calls}}))
    finally:
        for child in ("gateway", "unity"):
            if hasattr(session, child):
                getattr(session, child).end()
        shutil.rmtree(room, ignore_errors=True)


if __name__ == "__main__":
    main()
