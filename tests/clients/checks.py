"""What both official Python SDKs must find true of a server. They differ in an adapter; the checks, their names (the same as in
checks.mjs; run.sh relies on them) and their order stand here once.

    FAKE_UNITY_STEER=FIFO python py_vN_client.py [MODE] -- holdfast --port PORT
    FAKE_UNITY_STEER=FIFO HOLDFAST_TOKEN=... python py_vN_client.py [MODE] -- http://127.0.0.1:PORT/mcp

FAKE_UNITY_STEER is what the fake Unity reads its orders from (a named pipe at its stdin). PROOF_ONLY=name,name leaves the other
checks out, but for the first and the last; PROOF_IMAGES=no says that the editor's protocol carries none. PROOF_EXPECTED=name|name are
the checks that a broken server fails: those do not wait long for what will not come. PROOF_SESSIONS=yes says that a server over HTTP
has sessions.
"""

import base64
import json
import os
import re
import signal
import sys
import time
import uuid
from pathlib import Path

import anyio

MIB = 1024 * 1024
DEADLINE_S = 600
META = "io.modelcontextprotocol/"
LEGACY, MODERN = "2025-11-25", "2026-07-28"
MARKER = ("HOLDFAST_PROOF", str(uuid.uuid4()))  # inherited by every process that the server starts
ONLY = os.environ["PROOF_ONLY"].split(",") if os.environ.get("PROOF_ONLY") else None
IMAGES = os.environ.get("PROOF_IMAGES") != "no"
EXPECTED = os.environ.get("PROOF_EXPECTED", "").split("|")
PATIENCE_S = 60  # only a hang misses it
GOES = 5  # how often a check is tried that only was too late
LONG_LINE, LONG_TEXT = 64 * 1024, 256


class Broken(Exception):
    """A promise that did not hold."""


class Late(Broken):
    """A promise of time that did not hold this once: what breaks it breaks it each time, and a busy machine some of the time."""


def insist(condition, what):
    if not condition:
        raise Broken(what)


def in_time(condition, what):
    if not condition:
        raise Late(what)


def patience(check, seconds):
    """How long a check waits: for so long where a broken server is to fail it, and otherwise until it must be a hang."""
    broken = check in EXPECTED or (EXPECTED != [""] and ONLY and check in ONLY)
    return seconds if broken else PATIENCE_S


def marked():
    """Living processes that carry the marker: the server and whatever it started."""
    wanted, found = "=".join(MARKER).encode(), []
    for pid in os.listdir("/proc") if sys.platform == "linux" else []:
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ:
                    if wanted in environ.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass  # gone, or another user's
    return found


def fail(name, error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    print(f"FAIL {name}: {' | '.join(str(error or repr(error)).splitlines()[:3])[:600]}", flush=True)
    for pid in marked():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(1)


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def shortened(value):
    """A text of megabytes says no more to a schema than its beginning."""
    if isinstance(value, str):
        return value[:LONG_TEXT]
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return value


class Wire:
    """What an SDK may pass over in silence: reads the server's lines as they are, and records them as wire.mjs does."""

    def __init__(self, name):
        self.strays = []
        self.crossed = None  # what came while the server may not yet know that a request was taken back
        self.era = None
        self.open = {}  # by id: method, progress token, whether it is of the stateless era
        self.cancelled = set()
        self.tokens = set()
        # Without sessions nothing proves whose request a notification takes back: the answer comes all the same.
        self.ignores_cancels = False
        self.rest = {">": b"", "<": b""}
        folder = os.environ.get("HOLDFAST_WIRE")
        self.file = None
        if folder:
            os.makedirs(folder, exist_ok=True)
            self.file = Path(folder) / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:8]}.wire"

    def stray(self, what):
        if self.ignores_cancels and "unknown request ID" in what:
            return
        (self.strays if self.crossed is None else self.crossed).append(what)

    def bytes(self, sign, chunk):
        *whole, self.rest[sign] = (self.rest[sign] + chunk).split(b"\n")
        for line in whole:
            text = line.decode()
            try:
                message = json.loads(text)
            except ValueError:
                message = None
            self.record(sign, text, message)
            if message is None:
                self.stray(f"a line that is not JSON: {text[:200]}")
            elif sign == ">":
                self.sent(message)
            else:
                self.received(message)

    def record(self, sign, text, message):
        if self.file:
            if len(text) > LONG_LINE and message is not None:
                text = json.dumps(shortened(message))
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(f"{sign}{text}\n")

    def sent(self, message):
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if message.get("method") == "notifications/cancelled":
            self.cancelled.add(params.get("requestId"))
        if "id" not in message or "method" not in message:
            return
        token = meta.get("progressToken")
        self.open[message["id"]] = {
            "method": message["method"],
            "token": token,
            "modern": meta.get(f"{META}protocolVersion") == MODERN,
        }
        if token is not None:
            self.tokens.add(token)

    def received(self, message):
        if "method" not in message:
            self.answered(message)
        elif "id" in message:
            self.stray(f"a request of the server: {message['method']}")
        else:
            self.notified(message["method"], message.get("params") or {})

    def answered(self, message):
        id_ = message.get("id")
        request = self.open.pop(id_, None)
        if request is None:
            self.stray(f"an answer to nothing open: {id_}")
            return
        if id_ in self.cancelled and request["method"] != "subscriptions/listen" and not self.ignores_cancels:
            self.stray(f"an answer to the cancelled {id_}")
        self.tokens.discard(request["token"])
        result = message.get("result")
        if not request["modern"] or result is None:
            return
        if "resultType" not in result:
            self.stray(f"no resultType in the result of {request['method']}")
        if request["method"] in ("server/discover", "tools/list"):
            ttl, scope = result.get("ttlMs"), result.get("cacheScope")
            if not (isinstance(ttl, int) and ttl >= 0 and scope in ("public", "private")):
                self.stray(f"no ttlMs or no cacheScope in the result of {request['method']}")

    def asked(self, method):
        """Whether a request of this method is open."""
        return any(request["method"] == method for request in self.open.values())

    def notified(self, method, params):
        if method == "notifications/progress" and params.get("progressToken") not in self.tokens:
            self.stray(f"progress for nothing open: {params.get('progressToken')}")
        modern = self.era == MODERN or any(request["modern"] for request in self.open.values())
        if not modern or not method.endswith(("/list_changed", "/acknowledged")):
            return
        about = (params.get("_meta") or {}).get(f"{META}subscriptionId")
        subscription = self.open.get(about)
        if subscription is None or subscription["method"] != "subscriptions/listen":
            self.stray(f"{method} outside of a subscription: {about}")
        elif method.endswith("/acknowledged"):
            subscription["acknowledged"] = True
        elif not subscription.get("acknowledged"):
            self.stray(f"{method} before the subscription was acknowledged")


class Tap:
    """Puts itself between an SDK's stdio module and the process that it starts: the SDK tells nobody of either."""

    def __init__(self, stdio, wire):
        self.children, self.signals, self.stdio = [], [], stdio
        create, terminate = stdio._create_platform_compatible_process, stdio._terminate_process_tree
        self.originals = create, terminate

        async def remember(*a, **k):
            process = await create(*a, **k)
            self.children.append(process)
            receive, send = process.stdout.receive, process.stdin.send

            async def receive_and_tell(*a, **k):
                chunk = await receive(*a, **k)
                wire.bytes("<", chunk)
                return chunk

            async def tell_and_send(item):
                wire.bytes(">", item)
                await send(item)

            process.stdout.receive, process.stdin.send = receive_and_tell, tell_and_send
            return process

        async def record(process, *a, **k):
            self.signals.append("terminated")
            await terminate(process, *a, **k)

        stdio._create_platform_compatible_process, stdio._terminate_process_tree = remember, record

    def away(self):
        self.stdio._create_platform_compatible_process, self.stdio._terminate_process_tree = self.originals


def tapped(httpx, wire):
    """An HTTP client for an SDK, with the token: reads both ways beside the SDK."""

    class Stream(httpx.AsyncByteStream):
        def __init__(self, inner, kind):
            self.inner, self.kind, self.rest = inner, kind, b""

        async def __aiter__(self):
            async for chunk in self.inner:
                self.rest += chunk
                if self.kind == "text/event-stream":
                    *whole, self.rest = self.rest.split(b"\n")
                    for line in whole:
                        if line.startswith(b"data: "):
                            wire.bytes("<", line.removeprefix(b"data: ") + b"\n")
                yield chunk
            if self.kind == "application/json" and self.rest:
                wire.bytes("<", self.rest + b"\n")

        async def aclose(self):
            await self.inner.aclose()

    class Transport(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request):
            if request.method == "POST":
                wire.bytes(">", await request.aread() + b"\n")
            response = await super().handle_async_request(request)
            # What is refused before its body is read has no answer.
            if request.method == "POST" and response.status_code != 401:
                kind = response.headers.get("content-type", "").split(";")[0]
                response.stream = Stream(response.stream, kind)
            return response

    headers = {"Authorization": f"Bearer {os.environ.get('HOLDFAST_TOKEN')}"}
    return httpx.AsyncClient(headers=headers, transport=Transport(), timeout=httpx.Timeout(30, read=300))


class Proof:
    """The checks, run over an adapter: see py_v1_client.py."""

    def __init__(self, client, wire, steer_path, over_http):
        self.over_http = over_http
        self.client, self.wire, self.steer_path = client, wire, steer_path
        # Over HTTP the gateway has no sessions: in the era with a handshake it can neither tell of changes nor be told of a cancellation.
        self.no_session = wire.ignores_cancels = over_http and client.era == LEGACY and os.environ.get("PROOF_SESSIONS") != "yes"
        self.current = "initialize"
        self.passed = 0

    async def check(self, name, body, always=False):
        if ONLY and not always and name not in ONLY:
            return
        for go in range(GOES):
            self.current, start, fault = name, time.monotonic(), None
            try:
                await body()
            except Exception as error:  # noqa: BLE001 - every failure is a finding
                fault = error
            if not isinstance(fault, Late) or self.wire.strays or name in EXPECTED or always:
                break
            print(f"  late {name}: {fault}", flush=True)
        if self.wire.strays:
            fail("stray", self.wire.strays[0])
        if isinstance(fault, Late) and always and name not in EXPECTED:
            raise fault
        if fault:
            fail(name, fault)
        self.passed += 1
        print(f"  ok {name} ({(time.monotonic() - start) * 1000:.0f} ms)", flush=True)

    async def all(self):
        await self.check("initialize", self.initialize, always=True)
        await self.check("tools", self.tools)
        await self.check("echo", self.echoes)
        await self.check("image", self.image)
        await self.check("progress", self.progress)
        await self.check("cancel", self.cancel)
        await self.check("list-changed", self.list_changed)
        await self.check("unknown-tool", self.unknown_tool)
        await self.check("unknown-method", self.unknown_method)
        await self.check("resources", self.resources)
        await self.check("big-inline", self.big_inline)
        await self.check("big-file", self.big_file)
        await self.check("reload", self.reload)

    def patience(self, seconds):
        return patience(self.current, seconds)

    async def names(self):
        with anyio.fail_after(self.patience(10)):
            return sorted(await self.client.tools())

    async def turns(self):
        """What the server had to say until now is here: it says it before it answers a second time."""
        for _ in range(2):
            await self.names()

    async def echoes(self, timeout=10.0):
        word = f"word-{uuid.uuid4()}"
        result = await self.client.call("echo", {"text": word}, self.patience(timeout))
        insist(not self.client.is_error(result), f"echo is an error: {text_of(result)[:300]}")
        insist(word in text_of(result), f"echo answered {text_of(result)[:300]}")

    async def until(self, what, seconds, condition):
        start, seconds = time.monotonic(), self.patience(seconds)
        while not condition():
            insist(time.monotonic() - start < seconds, f"{what} did not happen within {seconds} s")
            await anyio.sleep(0.01)

    async def initialize(self):
        with anyio.fail_after(self.patience(5)):
            name, version, list_changed = await self.client.connect()
        insist(name == "holdfast", f"serverInfo.name is {name}")
        insist(version == self.client.era, f"protocolVersion is {version}")
        insist(bool(list_changed) != self.no_session, f"capabilities.tools.listChanged is {list_changed}")

    async def tools(self):
        names = await self.names()
        wanted = ["holdfast_status", "echo", "sleep", "swap", "big"] + (["test_image_content"] if IMAGES else [])
        for name in wanted:
            insist(name in names, f"no {name} in {names}")

    async def image(self):
        if not IMAGES:
            return
        result = await self.client.call("test_image_content", {}, self.patience(10))
        images = [block for block in result.content if block.type == "image"]
        insist(len(images) == 1, f"{len(images)} images")
        insist(base64.b64decode(images[0].data)[1:4] == b"PNG", "the image is no PNG")

    async def progress(self):
        seen, start = [], time.monotonic()

        async def on_progress(progress, _total, _message):
            seen.append((progress, time.monotonic() - start))

        result = await self.client.call("sleep", {"ms": 3000}, self.patience(20), progress_callback=on_progress)
        insist(not self.client.is_error(result), text_of(result))
        insist(time.monotonic() - start >= 2.9, "did not sleep")
        insist(len(seen) >= 2, f"{len(seen)} progress notifications")
        in_time(seen[0][1] < 1, f"the first progress came after {seen[0][1]} s")
        insist(all(a[0] < b[0] for a, b in zip(seen, seen[1:])), f"progress does not increase: {seen}")
        await anyio.sleep(0.1)  # late progress would be a stray
        await self.turns()

    async def cancel(self):
        before = len(self.wire.cancelled)
        async with self.client.cancelling("sleep", {"ms": 1500}):
            await anyio.sleep(0.3)
            runs = self.wire.asked("tools/call")
            self.wire.crossed = crossed = []
        # What comes before the server has read of it, and answered to what it read behind that, is no stray.
        await self.turns()
        self.wire.crossed = None
        in_time(runs and (not crossed or self.no_session), f"answered before it could be cancelled {crossed}")
        # Over HTTP the stateless era tells it by closing the response.
        closes = self.over_http and not self.no_session
        insist(closes or len(self.wire.cancelled) > before, "the server was not told")
        await self.echoes()
        await anyio.sleep(1.6)  # an answer to the cancelled call would be a stray
        await self.turns()

    async def list_changed(self):
        async with self.client.listening():
            before, changes = await self.names(), self.client.list_changes
            await self.client.call("swap", {}, self.patience(10))
            if self.no_session:
                await anyio.sleep(0.5)
            else:
                await self.until("notifications/tools/list_changed", 5, lambda: self.client.list_changes > changes)
            insist(await self.names() != before, "the list was announced as changed but is the same")

    async def unknown_tool(self):
        code, message = await self.client.error_of(self.client.call("no_such_tool", {}, self.patience(10)))
        insist(code == -32602, f"code {code}: {message}")

    async def unknown_method(self):
        with anyio.fail_after(self.patience(5)):
            code, message = await self.client.error_of(self.client.complete())
        insist(code == -32601, f"code {code}: {message}")

    async def resources(self):
        with anyio.fail_after(self.patience(5)):
            resources, contents, prompts, messages = await self.client.offers()
        insist("holdfast://status" in resources, f"no status in {resources}")
        insist(contents and isinstance(json.loads(contents[0].text), dict), "holdfast://status is not read as JSON")
        insist("why-is-unity-silent" in prompts, f"not in {prompts}")
        insist(messages and messages[0].content.text, "the prompt says nothing")

    async def big_inline(self):
        result = await self.client.call("big", {"n": 4 * MIB}, self.patience(10))
        insist(not self.client.is_error(result), text_of(result)[:300])
        insist(len(text_of(result)) >= 4 * MIB, f"{len(text_of(result))} characters")

    async def big_file(self):
        text = text_of(await self.client.call("big", {"n": 11 * MIB}, self.patience(10)))
        insist(len(text) < MIB, f"{len(text)} characters inline")
        files = [path.rstrip(".,;:") for path in re.findall(r"/[^\s\"'`<>()]+", text)]
        sizes = [os.path.getsize(path) for path in files if os.path.isfile(path)]
        insist(any(size >= 11 * MIB for size in sizes), f"names no file with the result: {text[:300]}")
        await self.echoes()

    async def reload(self):
        await self.echoes()
        with open(self.steer_path, "a", encoding="utf-8") as steer:
            steer.write("reload 1500\n")
        await anyio.sleep(0.3)
        start = time.monotonic()
        await self.echoes(timeout=8)
        took = time.monotonic() - start
        # Answered at once means that there was no reload to survive, and the check would prove nothing.
        in_time(took > 0.5, f"answered after {took:.3f} s: the reload was not in the way")
        insist("echo" in await self.names(), "no echo after the reload")


async def run(make, stdio, http, name, command, args, steer_path):
    over_http = command.startswith("http://")
    wire = Wire(f"{name}-http" if over_http else name)
    tap = None if over_http else Tap(stdio, wire)
    if over_http:
        transport = http(command, wire)
    else:
        environment = {**stdio.get_default_environment(), MARKER[0]: MARKER[1]}
        transport = stdio.stdio_client(stdio.StdioServerParameters(command=command, args=args, env=environment))
    client = make(transport, wire)
    proof = Proof(client, wire, steer_path, over_http)
    wire.era = client.era
    try:
        with anyio.fail_after(DEADLINE_S):
            async with client.session():
                await proof.all()
                proof.current, start = "close", time.monotonic()
            took = time.monotonic() - start
    except Exception as error:  # noqa: BLE001
        fail("stray" if wire.strays else proof.current, wire.strays[0] if wire.strays else error)

    async def close():
        if over_http:
            return in_time(took < 1.9, f"took {took:.1f} s")
        insist(tap.children[0].returncode == 0 or tap.signals, f"exit code {tap.children[0].returncode}")
        await anyio.sleep(0.2)
        await proof.until(f"the end of what was started ({marked()})", 0, lambda: marked() == [])
        in_time(not tap.signals and took < 1.9, f"took {took:.1f} s: the SDK had to send a signal")

    if tap:
        tap.away()
    await proof.check("close", close, always=True)
    print(f"  all {proof.passed} checks passed, in {client.era}")


def main(make, stdio, http, name):
    """`make` makes the adapter of an SDK, `stdio` is its module of that name, `http` makes its transport to a URL."""
    steer_path = os.environ.get("FAKE_UNITY_STEER")
    if "--" not in sys.argv or sys.argv[-1] == "--" or not steer_path:
        print("usage: FAKE_UNITY_STEER=FIFO python CLIENT [MODE] -- SERVER [ARGS...]|URL", file=sys.stderr)
        sys.exit(64)
    command, *args = sys.argv[sys.argv.index("--") + 1 :]
    global ONLY
    for go in range(GOES):
        try:
            return anyio.run(run, make, stdio, http, name, command, args, steer_path)
        except Late as late:
            print(f"  late close: {late}", flush=True)
            fault, ONLY = late, ["close"]  # another session, for its end alone
    fail("close", fault)
