"""The official Python SDK v1 drives a server over stdio and asserts; exits non-zero at the first broken promise.

    FAKE_UNITY_STEER=FIFO python py_v1_client.py -- holdfast --port PORT

FAKE_UNITY_STEER is what the fake Unity reads its orders from (a named pipe at its stdin). The checks have the same names
as in ts_v1_client.mjs; run.sh relies on them.
"""

import os
import re
import signal
import sys
import time
import uuid
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import mcp.client.stdio as stdio
from mcp import ClientSession, McpError, StdioServerParameters, types

MIB = 1024 * 1024
DEADLINE_S = 90
MARKER = ("HOLDFAST_PROOF", str(uuid.uuid4()))  # inherited by every process that the server starts


class Broken(Exception):
    """A promise that did not hold."""


def insist(condition, what):
    if not condition:
        raise Broken(what)


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


class Proof:
    def __init__(self, steer_path):
        self.steer_path = steer_path
        self.session = None
        self.current = "start"
        self.stray = []  # what the SDK cannot place
        self.list_changes = 0
        self.progressing = set()  # tokens of calls whose answer has not come yet

    async def hear(self, message):
        """Everything that is not an answer to an open request."""
        if isinstance(message, Exception):
            self.stray.append(str(message))
        elif isinstance(message, types.ServerNotification):
            note = message.root
            if isinstance(note, types.ToolListChangedNotification):
                self.list_changes += 1
            if isinstance(note, types.ProgressNotification) and note.params.progressToken not in self.progressing:
                self.stray.append("progress for a call that is not open")

    @asynccontextmanager
    async def check(self, name):
        self.current, start = name, time.monotonic()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - every failure is a finding
            fail("stray" if self.stray else name, self.stray[0] if self.stray else error)
        if self.stray:
            fail("stray", self.stray[0])
        print(f"  ok {name} ({(time.monotonic() - start) * 1000:.0f} ms)", flush=True)

    async def call(self, name, arguments, timeout=10.0, **more):
        return await self.session.call_tool(name, arguments, read_timeout_seconds=timedelta(seconds=timeout), **more)

    async def names(self):
        with anyio.fail_after(10):
            return sorted(tool.name for tool in (await self.session.list_tools()).tools)

    async def echoes(self, timeout=10.0):
        word = f"word-{uuid.uuid4()}"
        result = await self.call("echo", {"text": word}, timeout)
        insist(not result.isError, f"echo is an error: {text_of(result)[:300]}")
        insist(word in text_of(result), f"echo answered {text_of(result)[:300]}")

    async def until(self, what, seconds, condition):
        start = time.monotonic()
        while not condition():
            insist(time.monotonic() - start < seconds, f"{what} did not happen within {seconds} s")
            await anyio.sleep(0.01)

    async def initialize(self):
        async with self.check("initialize"):
            with anyio.fail_after(5):
                hello = await self.session.initialize()
            insist(hello.serverInfo.name == "holdfast", f"serverInfo.name is {hello.serverInfo.name}")
            insist(hello.protocolVersion == "2025-11-25", f"protocolVersion is {hello.protocolVersion}")
            tools = hello.capabilities.tools
            insist(tools is not None and tools.listChanged is True, "capabilities.tools.listChanged is not true")

    async def simple(self):
        async with self.check("tools"):
            names = await self.names()
            for name in ["holdfast_status", "echo", "sleep", "swap", "big"]:
                insist(name in names, f"no {name} in {names}")
        async with self.check("echo"):
            await self.echoes()

    async def progress(self):
        async with self.check("progress"):
            seen, start, token = [], time.monotonic(), self.session._request_id

            async def on_progress(progress, _total, _message):
                seen.append((progress, time.monotonic() - start))

            self.progressing.add(token)
            result = await self.call("sleep", {"ms": 3000}, 20, progress_callback=on_progress)
            self.progressing.discard(token)
            insist(not result.isError, text_of(result))
            insist(time.monotonic() - start >= 2.9, "did not sleep")
            insist(len(seen) >= 2, f"{len(seen)} progress notifications")
            insist(seen[0][1] < 1, f"the first progress came after {seen[0][1]} s")
            insist(all(a[0] < b[0] for a, b in zip(seen, seen[1:])), f"progress does not increase: {seen}")
            await anyio.sleep(0.1)  # late progress would be a stray

    async def cancel(self):
        async with self.check("cancel"):
            request_id = self.session._request_id
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self.call, "sleep", {"ms": 1500})
                    await anyio.sleep(0.3)
                    # This SDK gives up waiting but tells the server nothing; the notification is sent by hand.
                    params = types.CancelledNotificationParams(requestId=request_id, reason="user")
                    note = types.CancelledNotification(method="notifications/cancelled", params=params)
                    await self.session.send_notification(types.ClientNotification(note))
                    scope.cancel()
            await self.echoes()
            await anyio.sleep(1.6)  # an answer to the cancelled call would be a stray

    async def list_changed(self):
        async with self.check("list-changed"):
            before, changes = await self.names(), self.list_changes
            await self.call("swap", {})
            await self.until("notifications/tools/list_changed", 5, lambda: self.list_changes > changes)
            insist(await self.names() != before, "the list was announced as changed but is the same")

    async def unknown_tool(self):
        async with self.check("unknown-tool"):
            try:
                result = await self.call("no_such_tool", {})
            except McpError as error:
                insist(error.error.code == -32602, f"code {error.error.code}: {error.error.message}")
            else:
                raise Broken(f"answered with a result: {text_of(result)[:300]}")

    async def big(self):
        async with self.check("big-inline"):
            result = await self.call("big", {"n": 4 * MIB})
            insist(not result.isError, text_of(result)[:300])
            insist(len(text_of(result)) >= 4 * MIB, f"{len(text_of(result))} characters")
        async with self.check("big-file"):
            text = text_of(await self.call("big", {"n": 11 * MIB}))
            insist(len(text) < MIB, f"{len(text)} characters inline")
            files = [path.rstrip(".,;:") for path in re.findall(r"/[^\s\"'`<>()]+", text)]
            sizes = [os.path.getsize(path) for path in files if os.path.isfile(path)]
            insist(any(size >= 11 * MIB for size in sizes), f"names no file with the result: {text[:300]}")
            await self.echoes()

    async def reload(self):
        async with self.check("reload"):
            with open(self.steer_path, "a") as steer:
                steer.write("reload 1500\n")
            await anyio.sleep(0.3)
            start = time.monotonic()
            await self.echoes(timeout=8)
            took = time.monotonic() - start
            # Answered at once means that there was no reload to survive, and the check would prove nothing.
            insist(took > 0.5, f"answered after {took:.3f} s: the reload was not in the way")
            insist("echo" in await self.names(), "no echo after the reload")


async def prove(command, args, steer_path):
    proof = Proof(steer_path)
    children, signals = [], []
    create, terminate = stdio._create_platform_compatible_process, stdio._terminate_process_tree

    # The SDK tells nobody how the server ended; these two are where it learns of it.
    async def remember(*a, **k):
        children.append(await create(*a, **k))
        return children[-1]

    async def record(process, *a, **k):
        signals.append("terminated")
        await terminate(process, *a, **k)

    stdio._create_platform_compatible_process, stdio._terminate_process_tree = remember, record
    environment = {**stdio.get_default_environment(), MARKER[0]: MARKER[1]}
    server = StdioServerParameters(command=command, args=args, env=environment)
    try:
        with anyio.fail_after(DEADLINE_S):
            async with stdio.stdio_client(server) as (read, write):
                async with ClientSession(read, write, message_handler=proof.hear) as proof.session:
                    await proof.initialize()
                    await proof.simple()
                    await proof.progress()
                    await proof.cancel()
                    await proof.list_changed()
                    await proof.unknown_tool()
                    await proof.big()
                    await proof.reload()
                proof.current, start = "close", time.monotonic()
            took = time.monotonic() - start
    except Exception as error:  # noqa: BLE001
        fail(proof.current, error)
    async with proof.check("close"):
        insist(not signals and took < 1.9, f"took {took:.1f} s: the SDK had to send a signal")
        insist(children[0].returncode == 0, f"exit code {children[0].returncode}")
        await anyio.sleep(0.2)
        insist(marked() == [], f"processes left behind: {marked()}")
    print("  all checks passed")


def main():
    steer_path = os.environ.get("FAKE_UNITY_STEER")
    if "--" not in sys.argv or sys.argv[-1] == "--" or not steer_path:
        print("usage: FAKE_UNITY_STEER=FIFO python py_v1_client.py -- SERVER [ARGS...]", file=sys.stderr)
        sys.exit(64)
    command, *args = sys.argv[sys.argv.index("--") + 1 :]
    anyio.run(prove, command, args, steer_path)


main()
