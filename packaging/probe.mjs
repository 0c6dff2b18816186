// The official TypeScript client starts a server over stdio, as a person's AI client would after an installation, and asserts:
// it answers, it is the version that was packed, it has its own tools, and nothing of it is left when the client goes.
//
//     node packaging/probe.mjs --version 0.1.0 [--starts 12] [--large 1048576] -- COMMAND [ARGS...]
//
// `--large` also calls the tool `big` of an editor, whose result is a text of so many characters, and asserts that all of it comes.
// Prints the names of the tools and the time from start to initialize; exits non-zero at the first broken promise.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';

const { values, positionals: [command, ...args] } = parseArgs({
  allowPositionals: true,
  options: { version: { type: 'string' }, starts: { type: 'string', default: '1' }, large: { type: 'string', default: '0' } },
});
if (!command || !values.version) {
  console.error('usage: probe.mjs --version VERSION [--starts N] [--large N] -- COMMAND [ARGS...]');
  process.exit(64);
}
// The clients' tree is beside the tests that need all of it.
const clients = createRequire(new URL('../tests/clients/package.json', import.meta.url));
const { Client } = clients('@modelcontextprotocol/sdk/client/index.js');
const { getDefaultEnvironment, StdioClientTransport } = clients('@modelcontextprotocol/sdk/client/stdio.js');

const DEADLINE_MS = 30_000;
// The client closes stdin, and sends SIGTERM after 2 s: who needs that did not end by itself.
const END_MS = 1_500;
// Every process that is started inherits the marker, so a child is found even after its parent is gone.
const marker = ['HOLDFAST_PROBE', randomUUID()];
let stderrTail = '';
let current = 'start';

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
function left() {
  if (process.platform !== 'linux') return [];
  return fs.readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(marker.join('='));
    } catch {
      return false; // gone, or another user's
    }
  }).map(Number);
}
function fail(error) {
  console.log(`FAIL ${current}: ${String(error?.message ?? error).split('\n').slice(0, 3).join(' | ')}`);
  if (stderrTail) console.error(stderrTail);
  for (const pid of left()) {
    try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ }
  }
  process.exit(1);
}
setTimeout(() => fail(`no end within ${DEADLINE_MS} ms`), DEADLINE_MS).unref();

async function visit() {
  current = 'initialize';
  const transport = new StdioClientTransport({
    command, args, stderr: 'pipe', env: { ...getDefaultEnvironment(), ...Object.fromEntries([marker]) },
  });
  transport.stderr.on('data', chunk => { stderrTail = (stderrTail + chunk).slice(-4000); });
  const client = new Client({ name: 'holdfast-probe', version: values.version }, { capabilities: {} });
  const stray = [];
  client.onerror = error => stray.push(error.message);
  const start = performance.now();
  await client.connect(transport);
  const started = performance.now() - start;
  const server = client.getServerVersion();
  assert.equal(server.name, 'holdfast');

  current = 'version';
  assert.equal(server.version, values.version, 'what was packed is not what runs');

  current = 'tools';
  const tools = (await client.listTools()).tools.map(tool => tool.name).sort();
  assert.ok(tools.includes('holdfast_status'), `holdfast_status is not among ${tools.join(' ')}`);

  current = 'status';
  const result = await client.callTool({ name: 'holdfast_status', arguments: {} });
  assert.ok(!result.isError && result.content?.[0]?.text?.length > 0, `it answered ${JSON.stringify(result).slice(0, 300)}`);

  const large = Number(values.large);
  if (large) {
    current = 'large';
    const { isError, content } = await client.callTool({ name: 'big', arguments: { n: large } });
    const text = content?.[0]?.text ?? '';
    assert.ok(!isError && text.startsWith('{'), `it answered ${text.slice(0, 300)}`);
    assert.equal(JSON.parse(text).Text?.length, large, 'not all of the result came');
  }

  current = 'stdout';
  assert.deepEqual(stray, [], 'something on stdout is not MCP');

  current = 'end';
  const end = performance.now();
  await client.close();
  while (left().length && performance.now() - end < END_MS) await pause(10);
  const ended = performance.now() - end;
  assert.deepEqual(left(), [], `it still runs ${END_MS} ms after its stdin ended`);
  assert.ok(ended < END_MS, `it needed ${ended.toFixed()} ms to end, or a signal`);
  return { tools, started, ended };
}

try {
  const visits = [];
  for (let at = 0; at < Number(values.starts); at++) visits.push(await visit());
  const median = key => visits.map(visit => visit[key]).sort((a, b) => a - b)[Math.floor(visits.length / 2)].toFixed(1);
  console.log(`tools ${visits[0].tools.join(' ')}`);
  console.log(`start to initialize ${median('started')} ms, end ${median('ended')} ms (median of ${visits.length})`);
} catch (error) {
  fail(error);
}
