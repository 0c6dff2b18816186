// The official TypeScript SDK v2, which knows both eras: `legacy`, `auto` (asks what the server speaks) or `pin` (the stateless
// one or nothing). The checks: checks.mjs.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';
import { LEGACY, MODERN, prove } from './checks.mjs';

const mode = process.argv[2];
if (!['legacy', 'auto', 'pin'].includes(mode)) {
  console.error('usage: FAKE_UNITY_STEER=FIFO node ts_v2_client.mjs legacy|auto|pin -- SERVER [ARGS...]');
  process.exit(64);
}

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
  const client = new Client({ name: 'ts-v2-client', version: '1.0.0' }, {
    capabilities: {},
    versionNegotiation: { mode: mode === 'pin' ? { pin: MODERN } : mode },
    // In the stateless era the SDK opens a subscription for it.
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: listChanged } },
  });
  client.onerror = stray;
  return {
    name: `ts-v2-${mode}`,
    era: mode === 'legacy' ? LEGACY : MODERN,
    subscribes: mode !== 'legacy',
    connect: options => client.connect(transport, options),
    about: () => ({
      name: client.getServerVersion()?.name,
      version: client.getNegotiatedProtocolVersion(),
      listChanged: client.getServerCapabilities()?.tools?.listChanged,
    }),
    tools: async options => (await client.listTools(undefined, options)).tools,
    call: (name, toolArguments, options) => client.callTool({ name, arguments: toolArguments }, options),
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
