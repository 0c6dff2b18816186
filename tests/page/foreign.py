"""A web page of another site, in a real browser, against MCP over HTTP: it gets nothing, and nothing that it asks is run.

Every name that ends in `.example` leads to this machine (the browser is started so), as a name does that its owner points there
(DNS rebinding).
"""

import http.server
import json
import re
import threading
import urllib.request

# A call as a page may send it without asking first (as text), and as MCP wants it.
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count", "arguments": {"key": "stolen"}}})

# What a page can try. Each attempt gives what it could read, or the error.
ATTEMPTS = """async (url, body, token) => {
  const read = async (asked) => { try { const answer = await asked; return [answer.type, answer.status, await answer.text()]; } catch (error) { return [String(error)]; } };
  const json = {"Content-Type": "application/json", Accept: "application/json, text/event-stream"};
  const told = {
    get: await read(fetch(url)),
    blind_get: await read(fetch(url, {mode: "no-cors"})),
    blind_post: await read(fetch(url, {mode: "no-cors", method: "POST", body})),
    beacon: [navigator.sendBeacon(url, new Blob([body], {type: "text/plain"}))],
    post: await read(fetch(url, {method: "POST", headers: json, body})),
    post_with_token: await read(fetch(url, {method: "POST", headers: {...json, Authorization: "Bearer " + token}, body})),
    credentials: await read(fetch(url, {method: "POST", headers: json, body, credentials: "include"})),
    socket: await new Promise((done) => {
      const socket = new WebSocket(url.replace("http", "ws"));
      socket.onopen = () => done(["open"]);
      socket.onerror = () => done(["error"]);
    }),
    events: await new Promise((done) => {
      const events = new EventSource(url);
      events.onopen = () => done(["open"]);
      events.onerror = () => { events.close(); done(["error"]); };
    }),
    script: await new Promise((done) => {
      const script = Object.assign(document.createElement("script"), {src: url});
      script.onload = () => done(["loaded"]);
      script.onerror = () => done(["error"]);
      document.head.append(script);
    }),
  };
  return told;
}"""

# A form needs no permission to send, and shows its target's answer in a frame that the page cannot read.
FORM = """async (url, body) => {
  const frame = Object.assign(document.createElement("iframe"), {name: "target"});
  const form = Object.assign(document.createElement("form"), {action: url, method: "POST", enctype: "text/plain", target: "target"});
  form.append(Object.assign(document.createElement("input"), {name: body.slice(0, -1) + ',"x":"', value: '"}'}));
  document.body.append(frame, form);
  await new Promise((done) => { frame.onload = () => frame.contentWindow && done(); form.submit(); setTimeout(done, 5000); });
  try { return frame.contentDocument ? frame.contentDocument.body.innerText : "not readable"; } catch { return "not readable"; }
}"""


class Page(http.server.BaseHTTPRequestHandler):
    """An empty page of another site."""

    def do_GET(self):
        body = b"<!doctype html><title>elsewhere</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def run(browser, function, *arguments):
    return browser.value(f"({function})({', '.join(map(json.dumps, arguments))})")


def post(url, token, body):
    headers = {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25",
    }
    with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=30) as answer:
        return answer.status, json.loads(answer.read())


def refused(metrics):
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.findall(r'^holdfast_http_refusals_total\{reason="(\w+)"\} (\d+)$', text, re.MULTILINE)
    return {reason: int(count) for reason, count in found}


def navigate(browser, url, until):
    browser.order("Page.navigate", url=url)
    until(f"the page {url}", lambda: browser.value("location.href + document.readyState") == url + "complete")


def check(room, browser, Child, until):
    project = room / "Castle"
    unity = Child(room, "fake-unity", "--port", "0", "--project", str(project), "--quiet")
    hub = None
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        unity.hear("the editor", lambda line: line.get("event") == "listening")
        hub = Child(room, "hub", "--http", "127.0.0.1:0", "--metrics")
        info = room / "state" / "hub" / "hub.json"
        until("the hub", lambda: info.exists() and json.loads(info.read_text())["pid"] == hub.process.pid)
        at = json.loads(info.read_text())["http"]
        token = (room / "state" / "http_token").read_text().strip()
        record = room / "state" / "metrics" / f"{hub.process.pid}.json"
        metrics = json.loads(until("the record", lambda: record.exists() and record.read_text()))[0]["targets"][0]
        url = at + "/" + str(project.resolve()).replace("/", "%2F")
        port = at.removeprefix("http://127.0.0.1:").removesuffix("/mcp")
        # The service works, and this project's editor answers.
        status, answer = post(url, token, CALL.replace("stolen", "own"))
        assert status == 200 and "Runs" in json.dumps(answer), answer

        # A page of another origin, which does not even know that the browser runs where the hub does.
        before = refused(metrics)
        navigate(browser, f"http://evil.example:{site.server_port}/", until)
        told = run(browser, ATTEMPTS, url, CALL, token)
        for name in ("get", "blind_get", "blind_post", "post", "post_with_token", "credentials"):
            assert told[name] == ["TypeError: Failed to fetch"], (name, told)
        for name in ("socket", "events", "script"):
            assert told[name] == ["error"], (name, told)
        assert run(browser, FORM, url, CALL) == "not readable"
        until("what the page asked arrives", lambda: refused(metrics)["foreign_page"] >= before["foreign_page"] + 6)

        # A page whose name was pointed at this machine, with the hub's own port: what it asks is of its own origin, and what is
        # answered it can read. It even knows the token.
        before = refused(metrics)
        rebound = f"http://rebound.example:{port}"
        navigate(browser, f"{rebound}/", until)
        told = run(browser, ATTEMPTS, url.replace("http://127.0.0.1", "http://rebound.example"), CALL, token)
        for name in ("get", "post", "post_with_token", "credentials"):
            assert told[name][:2] == ["basic", 403], (name, told)
            assert "holdfast" not in told[name][2].lower() and "Castle" not in told[name][2], (name, told)
        for name in ("socket", "events", "script"):
            assert told[name] == ["error"], (name, told)
        assert "Runs" not in run(browser, FORM, url.replace("http://127.0.0.1", "http://rebound.example"), CALL)
        until("what the page asked arrives", lambda: refused(metrics)["bad_host"] >= before["bad_host"] + 8)

        status, answer = post(url, token, CALL)
        runs = json.loads(answer["result"]["content"][0]["text"])["Runs"]
        assert (status, runs) == (200, 1), f"a page had a call run: {answer}"

        # The status page says where MCP is served, and not the token.
        navigate(browser, f"http://{metrics}/", until)
        browser.shows("#facts", "HTTP", at)
        assert token not in browser.value("document.documentElement.outerHTML"), "the page has the token"
    finally:
        site.shutdown()
        site.server_close()
        if hub:
            hub.process.terminate()
        for child in (hub, unity):
            if child:
                child.end()
