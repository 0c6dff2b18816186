// The official TypeScript SDK v1, which knows the handshake era only. The checks: checks.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { LEGACY, prove } from './checks.mjs';

function overStdio({ command, args, env, stderr, started }) {
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe', env: { ...getDefaultEnvironment(), ...env } });
  transport.stderr.on('data', stderr);
  const start = transport.start;
  transport.start = () => {
    const running = start.call(transport);
    started(transport._process); // the SDK tells nobody of it
    return running;
  };
  return transport;
}

await prove(({ http, stray, listChanged, ...server }) => {
  const transport = http ? new StreamableHTTPClientTransport(http.url, http) : overStdio(server);
  const client = new Client({ name: 'ts-v1-client', version: '1.0.0' }, { capabilities: {} });
  // What the SDK cannot place: a second answer, an answer to a cancelled request, a line that is not MCP, late progress.
  client.onerror = stray;
  client.setNotificationHandler(ToolListChangedNotificationSchema, listChanged);
  // The SDK keeps the negotiated version to itself except for this call, which it makes on transports that want it.
  let version;
  const tell = transport.setProtocolVersion;
  transport.setProtocolVersion = value => {
    version = value;
    tell?.call(transport, value);
  };
  return {
    name: 'ts-v1',
    era: LEGACY,
    connect: options => client.connect(transport, options),
    about: () => ({
      name: client.getServerVersion()?.name,
      version,
      listChanged: client.getServerCapabilities()?.tools?.listChanged,
    }),
    tools: async options => (await client.listTools(undefined, options)).tools,
    call: (name, toolArguments, options) => client.callTool({ name, arguments: toolArguments }, undefined, options),
    request: (method, options) => client.request({ method }, z.any(), options),
    offers: async options => ({
      resources: (await client.listResources(undefined, options)).resources.map(({ uri }) => uri),
      text: (await client.readResource({ uri: 'holdfast://status' }, options)).contents[0]?.text,
      prompts: (await client.listPrompts(undefined, options)).prompts.map(({ name }) => name),
      prompt: (await client.getPrompt({ name: 'why-is-unity-silent' }, options)).messages[0]?.content.text,
    }),
    close: () => client.close(),
  };
});
