// The official TypeScript SDK v1 drives a server over stdio and asserts; exits non-zero at the first broken promise.
//
//     FAKE_UNITY_STEER=FIFO node ts_v1_client.mjs -- holdfast --port PORT
//
// FAKE_UNITY_STEER is what the fake Unity reads its orders from (a named pipe at its stdin). The checks have the same names
// as in py_v1_client.py; run.sh relies on them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const MIB = 1024 * 1024;
const DEADLINE_MS = 90_000;
const steerPath = process.env.FAKE_UNITY_STEER;
const dashes = process.argv.indexOf('--');
const [command, ...args] = dashes < 0 ? [] : process.argv.slice(dashes + 1);
if (!command || !steerPath) {
  console.error('usage: FAKE_UNITY_STEER=FIFO node ts_v1_client.mjs -- SERVER [ARGS...]');
  process.exit(64);
}

// Every process that the server starts inherits the marker, so a child is found even after its parent is gone.
const marker = `HOLDFAST_PROOF=${randomUUID()}`;
const [markerName, markerValue] = marker.split('=');
const transport = new StdioClientTransport({
  command, args, stderr: 'pipe',
  env: { ...getDefaultEnvironment(), [markerName]: markerValue },
});
let stderrTail = '';
transport.stderr.on('data', chunk => { stderrTail = (stderrTail + chunk).slice(-4000); });
const client = new Client({ name: 'ts-v1-client', version: '1.0.0' }, { capabilities: {} });
// What the SDK cannot place: a second answer, an answer to a cancelled request, a line that is not MCP, late progress.
const stray = [];
client.onerror = error => stray.push(error.message);
let listChanges = 0;
client.setNotificationHandler(ToolListChangedNotificationSchema, () => { listChanges++; });

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const since = start => performance.now() - start;
const steer = line => fs.appendFileSync(steerPath, `${line}\n`);
const textOf = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');
const call = (name, toolArguments, options = {}) =>
  client.callTool({ name, arguments: toolArguments }, undefined, { timeout: 10_000, ...options });
async function until(what, ms, condition) {
  for (const start = performance.now(); !condition();) {
    assert.ok(since(start) < ms, `${what} did not happen within ${ms} ms`);
    await pause(10);
  }
}
async function echoes(options) {
  const word = `word-${randomUUID()}`;
  const result = await call('echo', { text: word }, options);
  assert.ok(!result.isError, `echo is an error: ${textOf(result).slice(0, 300)}`);
  assert.ok(textOf(result).includes(word), `echo answered ${textOf(result).slice(0, 300)}`);
}
function marked() {
  if (process.platform !== 'linux') return [];
  return fs.readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(marker);
    } catch {
      return false; // gone, or another user's
    }
  }).map(Number);
}

function fail(name, error) {
  console.log(`FAIL ${name}: ${String(error?.message ?? error).split('\n').slice(0, 3).join(' | ')}`);
  if (stderrTail) console.error(stderrTail);
  for (const pid of marked()) {
    try { process.kill(pid, 'SIGKILL'); } catch { /* gone */ }
  }
  process.exit(1);
}
let current = 'start';
setTimeout(() => fail(current, `no end within ${DEADLINE_MS} ms`), DEADLINE_MS).unref();
async function check(name, body) {
  current = name;
  const start = performance.now();
  try {
    await body();
  } catch (error) {
    // A line that is not MCP, or a doubled answer, may be what broke the check: it is the better name for the fault.
    if (stray.length) fail('stray', stray[0]);
    fail(name, error);
  }
  if (stray.length) fail('stray', stray[0]);
  console.log(`  ok ${name} (${since(start).toFixed(0)} ms)`);
}

await check('initialize', async () => {
  // The SDK keeps the negotiated version to itself except for this call, which it makes on transports that want it.
  let version;
  transport.setProtocolVersion = value => { version = value; };
  await client.connect(transport, { timeout: 5000 });
  assert.equal(client.getServerVersion()?.name, 'holdfast');
  assert.equal(version, '2025-11-25');
  assert.equal(client.getServerCapabilities()?.tools?.listChanged, true, 'capabilities.tools.listChanged');
});
const server = transport._process; // the SDK tells nobody the exit code

await check('tools', async () => {
  const names = (await client.listTools(undefined, { timeout: 10_000 })).tools.map(tool => tool.name);
  for (const name of ['holdfast_status', 'echo', 'sleep', 'swap', 'big']) assert.ok(names.includes(name), `no ${name} in ${names}`);
});

await check('echo', () => echoes());

await check('progress', async () => {
  const seen = [];
  const start = performance.now();
  // The call outlives its timeout, so it only ends well if progress keeps resetting it.
  const result = await call('sleep', { ms: 3000 }, {
    onprogress: ({ progress }) => seen.push({ progress, at: since(start) }),
    resetTimeoutOnProgress: true, timeout: 2600, maxTotalTimeout: 20_000,
  });
  assert.ok(!result.isError, textOf(result));
  assert.ok(since(start) >= 2900, `slept ${since(start)} ms only`);
  assert.ok(seen.length >= 2, `${seen.length} progress notifications`);
  assert.ok(seen[0].at < 1000, `the first progress came after ${seen[0].at} ms`);
  seen.forEach(({ progress }, i) => assert.ok(i === 0 || progress > seen[i - 1].progress, `progress does not increase: ${seen.map(s => s.progress)}`));
  await pause(100); // late progress would be a stray
});

await check('cancel', async () => {
  const abort = new AbortController();
  const running = call('sleep', { ms: 1500 }, { signal: abort.signal });
  await pause(300);
  const start = performance.now();
  abort.abort('user');
  await assert.rejects(running);
  assert.ok(since(start) < 200, `the cancelled call ended after ${since(start)} ms`);
  await echoes();
  await pause(1600); // an answer to the cancelled call would be a stray
});

await check('list-changed', async () => {
  const before = (await client.listTools()).tools.map(tool => tool.name).sort().join();
  const changesBefore = listChanges;
  await call('swap', {});
  await until('notifications/tools/list_changed', 5000, () => listChanges > changesBefore);
  const after = (await client.listTools()).tools.map(tool => tool.name).sort().join();
  assert.notEqual(after, before, 'the list was announced as changed but is the same');
});

await check('unknown-tool', async () => {
  await assert.rejects(call('no_such_tool', {}), error => {
    assert.equal(error.code, -32602, `code ${error.code}: ${error.message}`);
    return true;
  });
});

await check('big-inline', async () => {
  const result = await call('big', { n: 4 * MIB });
  assert.ok(!result.isError);
  assert.ok(textOf(result).length >= 4 * MIB, `${textOf(result).length} characters`);
});

await check('big-file', async () => {
  const result = await call('big', { n: 11 * MIB });
  const text = textOf(result);
  assert.ok(text.length < MIB, `${text.length} characters inline`);
  const files = (text.match(/\/[^\s"'`<>()]+/g) ?? []).map(path => path.replace(/[.,;:]+$/, ''));
  const sizes = files.filter(path => fs.existsSync(path)).map(path => fs.statSync(path).size);
  assert.ok(sizes.some(size => size >= 11 * MIB), `names no file with the result: ${text.slice(0, 300)}`);
  await echoes();
});

await check('reload', async () => {
  steer('reload 1500');
  await pause(300);
  const start = performance.now();
  await echoes({ timeout: 8000 });
  // Answered at once means that there was no reload to survive, and the check would prove nothing.
  assert.ok(since(start) > 500, `answered after ${since(start).toFixed(0)} ms: the reload was not in the way`);
  const names = (await client.listTools(undefined, { timeout: 10_000 })).tools.map(tool => tool.name);
  assert.ok(names.includes('echo'), `no echo after the reload: ${names}`);
});

await check('close', async () => {
  const start = performance.now();
  await client.close();
  const took = since(start);
  assert.ok(took < 1900, `took ${took.toFixed(0)} ms: the SDK had to send a signal`);
  assert.equal(server.signalCode, null);
  assert.equal(server.exitCode, 0, `exit code ${server.exitCode}`);
  await pause(200);
  assert.deepEqual(marked(), [], 'processes left behind');
});
console.log('  all checks passed');
process.exit(0);
