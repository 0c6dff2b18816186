"""The official Python SDK v2, which knows both eras: `auto` (asks what the server speaks), `legacy`, or a version by its date.
The checks: checks.py."""

import sys
from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp.client.stdio as stdio
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference

import checks

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
if MODE not in ("auto", "legacy", checks.MODERN):
    print("usage: FAKE_UNITY_STEER=FIFO python py_v2_client.py auto|legacy|2026-07-28 -- SERVER [ARGS...]", file=sys.stderr)
    sys.exit(64)


class Adapter:
    era = checks.LEGACY if MODE == "legacy" else checks.MODERN

    def __init__(self, transport, wire):
        self.wire = wire
        self.inner = Client(transport, mode=MODE, message_handler=self.hear, read_timeout_seconds=checks.patience("initialize", 5))
        self.list_changes = 0

    def session(self):
        return self.inner  # it connects as it is entered

    async def hear(self, message):
        """Everything that is not an answer to an open request."""
        if isinstance(message, Exception):
            self.wire.stray(str(message))
        elif type(message).__name__ == "ToolListChangedNotification":
            self.list_changes += 1

    async def connect(self):
        if MODE == checks.MODERN:
            # Told the version, this SDK asks nothing of the server before its first request: it is asked here.
            told = await self.inner.session.send_discover(MODE)
            version = MODE if MODE in told["supportedVersions"] else str(told["supportedVersions"])
            info = told["_meta"][f"{checks.META}serverInfo"]
            return info["name"], version, told["capabilities"]["tools"].get("listChanged")
        info, tools = self.inner.server_info, self.inner.server_capabilities.tools
        return info and info.name, self.inner.protocol_version, tools and tools.list_changed

    async def tools(self):
        return [tool.name for tool in (await self.inner.list_tools()).tools]

    async def call(self, name, arguments, timeout, **more):
        return await self.inner.call_tool(name, arguments, read_timeout_seconds=timeout, **more)

    @staticmethod
    def is_error(result):
        return result.is_error

    async def complete(self):
        reference = PromptReference(type="ref/prompt", name="why-is-unity-silent")
        return await self.inner.complete(reference, {"name": "x", "value": "y"})

    async def offers(self):
        resources = [str(resource.uri) for resource in (await self.inner.list_resources()).resources]
        contents = (await self.inner.read_resource("holdfast://status")).contents
        prompts = [prompt.name for prompt in (await self.inner.list_prompts()).prompts]
        return resources, contents, prompts, (await self.inner.get_prompt("why-is-unity-silent")).messages

    @staticmethod
    async def error_of(call):
        try:
            result = await call
        except MCPError as error:
            return error.code, error.message
        raise checks.Broken(f"answered with a result: {str(result)[:300]}")

    @asynccontextmanager
    async def cancelling(self, name, arguments):
        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, checks.patience("cancel", 10))
            yield
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def listening(self):
        if self.era == checks.LEGACY:
            yield  # the session hears it anyway
            return
        async with self.inner.listen(tools_list_changed=True) as subscription:
            async with anyio.create_task_group() as group:

                async def count():
                    async for _ in subscription:
                        self.list_changes += 1

                group.start_soon(count)
                yield
                group.cancel_scope.cancel()


def over_http(url, wire):
    return streamable_http_client(url, http_client=checks.tapped(httpx2, wire))


checks.main(Adapter, stdio, over_http, "py-v2")
