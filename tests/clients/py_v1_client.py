"""The official Python SDK v1, which knows the handshake era only. The checks: checks.py."""

from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import httpx
import mcp.client.stdio as stdio
from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import PromptReference
from pydantic import AnyUrl

import checks


class Adapter:
    era = checks.LEGACY

    def __init__(self, transport, wire):
        self.transport, self.wire = transport, wire
        self.inner = None
        self.list_changes = 0

    @asynccontextmanager
    async def session(self):
        async with self.transport as (read, write, *_):
            async with ClientSession(read, write, message_handler=self.hear) as self.inner:
                yield

    async def hear(self, message):
        """Everything that is not an answer to an open request."""
        if isinstance(message, Exception):
            self.wire.stray(str(message))
        elif isinstance(message, types.ServerNotification):
            self.list_changes += isinstance(message.root, types.ToolListChangedNotification)

    async def connect(self):
        hello = await self.inner.initialize()
        tools = hello.capabilities.tools
        return hello.serverInfo.name, hello.protocolVersion, tools and tools.listChanged

    async def tools(self):
        return [tool.name for tool in (await self.inner.list_tools()).tools]

    async def call(self, name, arguments, timeout, **more):
        return await self.inner.call_tool(name, arguments, read_timeout_seconds=timedelta(seconds=timeout), **more)

    @staticmethod
    def is_error(result):
        return result.isError

    async def complete(self):
        reference = PromptReference(type="ref/prompt", name="why-is-unity-silent")
        return await self.inner.complete(reference, {"name": "x", "value": "y"})

    async def offers(self):
        resources = [str(resource.uri) for resource in (await self.inner.list_resources()).resources]
        contents = (await self.inner.read_resource(AnyUrl("holdfast://status"))).contents
        prompts = [prompt.name for prompt in (await self.inner.list_prompts()).prompts]
        return resources, contents, prompts, (await self.inner.get_prompt("why-is-unity-silent")).messages

    @staticmethod
    async def error_of(call):
        try:
            result = await call
        except McpError as error:
            return error.error.code, error.error.message
        raise checks.Broken(f"answered with a result: {str(result)[:300]}")

    @asynccontextmanager
    async def cancelling(self, name, arguments):
        request_id = self.inner._request_id
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self.call, name, arguments, checks.patience("cancel", 10))
                yield
                # This SDK gives up waiting but tells the server nothing; the notification is sent by hand.
                params = types.CancelledNotificationParams(requestId=request_id, reason="user")
                note = types.CancelledNotification(method="notifications/cancelled", params=params)
                await self.inner.send_notification(types.ClientNotification(note))
                scope.cancel()

    @asynccontextmanager
    async def listening(self):
        yield  # the session hears it anyway


def over_http(url, wire):
    return streamablehttp_client(url, httpx_client_factory=lambda **_: checks.tapped(httpx, wire))


checks.main(Adapter, stdio, over_http, "py-v1")
