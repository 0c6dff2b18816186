#!/usr/bin/env python3
"""The status page in a real browser: the real binary, a fake editor, a reload, hostile names, and the gateway's end.

    HOLDFAST_BIN=target/debug/holdfast python3 tests/page/run.py
    HOLDFAST_SHOTS=FOLDER ...        also leaves screenshots there (360 and 1280 wide, light and dark)

The browser is Chromium, driven over its debugging pipe: no port, no further package. Everything is on loopback, in a temporary
folder, and ends with this script.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import foreign

# Longest wait for anything that should be quick; only a broken page needs it.
PATIENCE = 60
HOSTILE_CLIENT = '<img src=x onerror="alert(1)">"\'client'
HOSTILE_TOOL = "<b>bold</b><script>alert(2)</script>"
CONTRAST_MIN = 4.5  # WCAG 2, level AA


def until(what, holds):
    """Waits for a fact and gives it."""
    end = time.monotonic() + PATIENCE
    while True:
        fact = holds()
        if fact:
            return fact
        if time.monotonic() > end:
            raise AssertionError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.05)


class Child:
    """A process with lines of JSON on its stdout."""

    def __init__(self, room, *words, program=None):
        environment = {"HOME": str(room / "home"), "HOLDFAST_STATE_DIR": str(room / "state"), "HOLDFAST_LOG": "off"}
        self.process = subprocess.Popen(
            [*(program or [os.environ["HOLDFAST_BIN"]]), *words],
            cwd=room, env={**environment, **({"PATH": os.environ["PATH"]} if program else {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.heard = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            said = json.loads(line)
            self.on_line(said)
            self.heard.append(said)

    def on_line(self, said):
        """Called with each line as soon as it comes."""

    def say(self, line):
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()

    def hear(self, what, fits):
        return until(what, lambda: next((line for line in list(self.heard) if fits(line)), None))

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Gateway(Child):
    """A gateway and its client."""

    def __init__(self, room, *words):
        super().__init__(room, "serve", *words)
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": HOSTILE_CLIENT, "version": "1"}}
        self.ask("open", "initialize", client)
        self.answer("open")
        self.say(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def ask(self, name, method, params):
        self.say(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}))

    def call(self, name, tool, arguments=None):
        self.ask(name, "tools/call", {"name": tool, "arguments": arguments or {}})

    def answer(self, name):
        return self.hear(f"the answer to {name}", lambda line: line.get("id") == name)


class Browser:
    """Chromium with one page, over `--remote-debugging-pipe`: JSON on fd 3 and 4, each message ended by a zero byte."""

    def __init__(self, profile):
        (out_read, self._out), (self._in, in_write) = os.pipe(), os.pipe()

        def wire():
            # Through higher numbers: 3 and 4 may be among these four.
            high = [os.dup(end) for end in (out_read, in_write)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-first-run", "--no-default-browser-check",
            "--disable-extensions", "--disable-default-apps", "--metrics-recording-only", "--no-proxy-server",
            # For pages of other sites: their names lead to this machine, as a site's owner can have them do.
            "--host-resolver-rules=MAP *.example 127.0.0.1",
            f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank",
        ]
        self.process = subprocess.Popen(
            [os.environ.get("CHROMIUM", "chromium"), *flags],
            env={**os.environ, "HOME": str(profile)}, preexec_fn=wire, pass_fds=(3, 4),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(out_read)
        os.close(in_write)
        self.events, self._answers, self._last, self._session = [], {}, 0, None
        threading.Thread(target=self._listen, daemon=True).start()
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.order("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.order(f"{domain}.enable")

    def _listen(self):
        rest = b""
        while chunk := os.read(self._in, 1 << 16):
            *messages, rest = (rest + chunk).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers[message["id"]] = message
                else:
                    self.events.append(message)

    def order(self, method, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = until(method, lambda number=self._last: self._answers.pop(number, None))
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def value(self, script):
        result = self.order("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, (script, result["exceptionDetails"])
        return result["result"].get("value")

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def shows(self, selector, *words):
        def all_there():
            text = self.text(selector)
            return text if all(word in text for word in words) else None

        try:
            return until(f"{words} in {selector}", all_there)
        except AssertionError as missing:
            raise AssertionError(f"{missing}; it shows {self.text(selector)!r}") from None

    def heard(self, *methods):
        return [event["params"] for event in list(self.events) if event["method"] in methods]

    def look(self, width, height, scheme):
        self.order("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.order("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def shoot(self, path):
        shot = self.order("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        path.write_bytes(base64.b64decode(shot["data"]))

    def end(self):
        self.process.kill()
        self.process.wait()


# The contrast of every text on the page with what is behind it, the lowest first.
CONTRASTS = """(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !element.checkVisibility() || ["SCRIPT", "NOSCRIPT"].includes(element.tagName)) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), texts.currentNode.textContent.trim().slice(0, 40)]);
  }
  return found.sort((x, y) => x[0] - y[0])[0];
})()"""


def check_looks(browser, state, shots):
    """Fits a phone and a desk, by day and by night; leaves screenshots if they are wanted."""
    for width, height in ((360, 800), (1280, 900)):
        for scheme in ("light", "dark"):
            browser.look(width, height, scheme)
            wide = browser.value("document.documentElement.scrollWidth")
            assert wide <= width, f"{width} px: the page is {wide} px wide"
            lowest, text = browser.value(CONTRASTS)
            assert lowest >= CONTRAST_MIN, f"{scheme}: {text!r} has a contrast of {lowest:.2f}"
            if shots:
                browser.shoot(shots / f"{state}-{width}-{scheme}.png")


def check_policy(address):
    with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
        policy = answer.headers["Content-Security-Policy"]
        first = answer.read()
    with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
        assert answer.headers["Content-Security-Policy"] != policy and answer.read() != first, "a nonce is used once"
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy, policy


def check_access(browser):
    """What a screen reader is told."""
    nodes = browser.order("Accessibility.getFullAXTree")["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    names = lambda role: [name for kind, name in told if kind == role]
    assert len(names("main")) == 1 and len(names("banner")) == 1, told
    for heading in ("Parts of the gateway", "Calls in flight", "Last calls", "Reloads and losses", "Last transitions"):
        assert heading in names("heading") and heading in names("region"), (heading, told)
    strips = names("image") + names("img")
    assert any(name.startswith("bridge: ready now; lately ") for name in strips), strips
    assert len(strips) == 5 and "Tool" in names("columnheader"), told


def check_index(room, browser, shots):
    """Every gateway of the machine is one click away, also one that serves no page itself. A call that stands still is amber."""
    assert browser.value("document.querySelector('#others').hidden"), "one gateway needs no list"
    other_project = room / "Dungeon"
    unity = Child(room, "fake-unity", "--port", "0", "--project", str(other_project), "--quiet")
    other = None
    try:
        unity.hear("the editor", lambda line: line.get("event") == "listening")
        other = Gateway(room, "--project", str(other_project))
        other.call("1", "echo", {"text": "there"})
        other.answer("1")
        browser.shows("#gateways", "Castle, for", "Dungeon, for", "ready")
        unity.say("freeze")
        other.call("2", "echo", {"text": "nobody moves"})
        browser.value("[...document.querySelectorAll('#gateways button')].find((b) => b.innerText.startsWith('Dungeon')).click()")
        browser.shows("#summary", "Unity (Dungeon) is connected, but it has had `echo` for")
        assert browser.value("document.querySelector('#summary').className") == "waiting"
        check_looks(browser, "several", shots)
        unity.say("thaw")
        other.answer("2")
        browser.shows("#summary", "Unity (Dungeon) is connected and ready")
        other.end()
        browser.shows("#whose", "Castle")
    finally:
        for child in (other, unity):
            if child:
                child.end()


def watch_a_session(room, browser, shots):
    project = room / "Castle"
    unity = Child(room, "fake-unity", "--port", "0", "--project", str(project), "--quiet")
    gateway = None
    try:
        unity.hear("the editor", lambda line: line.get("event") == "listening")
        gateway = Gateway(room, "--project", str(project), "--metrics")
        record = room / "state" / "metrics" / f"{gateway.process.pid}.json"
        address = json.loads(until("the record", lambda: record.exists() and record.read_text()))[0]["targets"][0]
        check_policy(address)
        gateway.call("1", "echo", {"text": "hello"})
        assert "hello" in json.dumps(gateway.answer("1"))

        browser.order("Page.navigate", url=f"http://{address}/")
        browser.shows("#summary", "Unity (Castle) is connected and ready")
        assert browser.text("#machines") == "", "the machines are behind a fold"
        assert browser.value("document.querySelector('#summary').className") == "good"
        browser.shows("#recent", "echo", "ok")
        browser.shows("#facts", "2022.3.62f1", HOSTILE_CLIENT)
        browser.shows("#whose", HOSTILE_CLIENT)
        check_looks(browser, "ready", shots)
        browser.value("document.querySelector('details').open = true")
        machines = browser.shows("#machines", "bridge", "discovery", "push", "registry", "session")
        assert "ready" in machines and "serving" in machines, machines

        unity.say("reload 6000")
        browser.shows("#summary", "reloading")
        gateway.call("2", HOSTILE_TOOL)
        gateway.call("3", "echo", {"text": "held"})
        waiting = browser.shows("#open", HOSTILE_TOOL, "echo")
        assert waiting.count("waiting: Unity is reloading its domain") == 2, waiting
        browser.shows("#outages", "reload", "not back yet")
        check_looks(browser, "reloading", shots)

        gateway.answer("2"), gateway.answer("3")
        browser.shows("#recent", HOSTILE_TOOL, "not executed: unknown tool")
        browser.shows("#outages", "reload", "after ")
        browser.shows("#open", "none")
        # While an editor is likely, one dial goes on until it listens.
        browser.shows("#steps", "seeking", "dialing", "greeting")
        strip = "[...document.querySelector('#machines svg').children].map((bar) => bar.getAttribute('class'))"
        until("the reload and the return in the bridge's strip", lambda: browser.value(strip)[-2:] == ["waiting", "good"])
        check_access(browser)
        check_looks(browser, "after", shots)

        # Foreign text never became markup, nothing was asked of anybody else, and no policy was hit.
        assert browser.value("document.querySelectorAll('img, b, iframe, script:not([nonce])').length") == 0
        assert browser.value("document.scripts.length") == 1
        assert not browser.heard("Page.javascriptDialogOpening", "Runtime.exceptionThrown")
        logged = [entry["entry"]["text"] for entry in browser.heard("Log.entryAdded")]
        assert not logged, logged
        asked = {event["request"]["url"] for event in browser.heard("Network.requestWillBeSent")}
        foreign = {url for url in asked if not url.startswith((f"http://{address}/", "data:", "about:"))}
        assert not foreign, foreign
        check_index(room, browser, shots)
        polls = sum(event["request"]["url"].endswith("/gateways.json") for event in browser.heard("Network.requestWillBeSent"))
        assert polls >= 5, f"{polls} polls: the page is not live"

        gateway.end()
        browser.shows("#ended", "Gateway ended", "its picture of")
        assert browser.value("document.body.classList.contains('ended')")
        assert "echo" in browser.text("#recent"), "the last picture stays"
        if shots:
            browser.shoot(shots / "ended-1280-dark.png")
    finally:
        for child in (gateway, unity):
            if child:
                child.end()


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-page-"))
    shots = os.environ.get("HOLDFAST_SHOTS")
    shots = pathlib.Path(shots) if shots else None
    browser = None
    try:
        for name in ("home", "profile"):
            (folder / name).mkdir()
        browser = Browser(folder / "profile")
        watch_a_session(folder.resolve(), browser, shots)
        foreign.check(folder.resolve(), browser, Child, until)
    finally:
        if browser:
            browser.end()
        shutil.rmtree(folder, ignore_errors=True)
    print("the status page: drawn, live, readable, harmless, and honest about its end")
    print("MCP over HTTP: pages of other sites get nothing, with any name, and nothing that they ask is run")


if __name__ == "__main__":
    sys.exit(main())
