// A small MCP server of both eras that keeps every promise the clients check (`good`), or breaks exactly one of them: the proof
// that the clients can fail. It stands in for the gateway and for the Unity behind it.
//
//     FAKE_UNITY_STEER=FIFO node broken_server.mjs MODE
//     node broken_server.mjs --list      every mode: its eras, the check (or checks) that may fail for it, the checks to run
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const both = (fails, runs = fails) => ({ eras: 'both', fails, runs });
const legacy = (fails, runs = fails) => ({ eras: 'legacy', fails, runs });
const modern = (fails, runs = fails) => ({ eras: 'modern', fails, runs });
const inspector = (fails, runs = fails) => ({ eras: 'inspector', fails, runs });
const MODES = {
  good: both('-', 'all'),
  'wrong-name': both('initialize'),
  'wrong-version': legacy('initialize'),
  'no-list-changed-capability': both('initialize'),
  'silent-initialize': legacy('initialize'),
  'tool-missing': both('tools'),
  'wrong-echo': both('echo'),
  'echo-is-error': both('echo'),
  'no-image': both('image'),
  'answers-twice': both('stray', 'echo,unknown-tool'),
  'dirty-stdout': both('stray|initialize', 'tools'), // an SDK may give up at once
  'asks-the-client': both('stray', 'echo'),
  'no-progress': both('progress'),
  'slow-progress': both('progress'),
  'stuck-progress': both('progress'),
  'late-progress': both('stray', 'progress'),
  'answers-cancelled': both('stray', 'cancel'),
  'stuck-after-cancel': both('cancel'),
  'silent-swap': both('list-changed'),
  'stale-swap': both('list-changed'),
  'unknown-is-result': both('unknown-tool'),
  'unknown-wrong-code': both('unknown-tool'),
  'answers-undeclared': both('unknown-method'),
  'method-wrong-code': both('unknown-method'),
  'lists-no-resources': both('resources'),
  'reads-nothing': both('resources'),
  'empty-prompt': both('resources'),
  'cuts-big': both('big-inline'),
  'dies-on-big': both('big-inline'),
  'huge-inline': both('big-file|stray', 'big-file'), // the TypeScript SDKs drop the session, the Python ones take it
  'ghost-file': both('big-file'),
  'fails-in-reload': both('reload'),
  'forgets-in-reload': both('reload'),
  'ignores-reload': both('reload'),
  'tools-lost-in-reload': both('reload'),
  'ignores-eof': both('close'),
  'bad-exit-code': both('close'),
  'leaves-child': both('close'),
  // What the Inspector looks at.
  'unportable-schema': inspector('tools'),
  'fails-under-load': inspector('load'),
  // The era without a handshake.
  'silent-discover': modern('initialize'),
  'discover-unknown': modern('initialize'),
  'discover-other-version': modern('initialize'),
  'no-result-type': modern('stray', 'echo'),
  'no-cache-hints': modern('stray', 'tools'),
  'untagged-change': modern('stray|list-changed', 'list-changed'),
  'change-for-nobody': modern('stray', 'echo'),
  'no-acknowledgement': modern('initialize|list-changed|stray', 'list-changed'), // one SDK subscribes as it connects
  'change-before-acknowledgement': modern('stray|initialize', 'list-changed'),
  'subscription-never-ends': modern('close', 'list-changed'),
};
const mode = process.argv[2];
if (mode === '--list') {
  for (const [name, { eras, fails, runs }] of Object.entries(MODES)) console.log(name, eras, fails, runs);
  process.exit(0);
}
if (!(mode in MODES)) {
  console.error(`no such mode: ${mode}`);
  process.exit(64);
}

const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const INFO = { name: mode === 'wrong-name' ? 'someone-else' : 'holdfast', version: '0.0.0' };
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';
const MIB = 1024 * 1024;
const is = name => mode === name;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const note = (method, params) => send({ method, params });
const text = value => ({ content: [{ type: 'text', text: value }] });
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-broken-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

let names = ['holdfast_status', 'echo', 'sleep', 'swap', 'big', 'test_image_content'].filter(name => !(is('tool-missing') && name === 'holdfast_status'));
let reloadEnds = 0;
let queue = Promise.resolve(); // one call at a time, like the bridges
const cancelled = new Set();
const subscriptions = new Map(); // by id: whether it was acknowledged

// Opened without blocking: a file stream on a pipe parks a thread in read(), and the process could not end.
const steering = fs.openSync(process.env.FAKE_UNITY_STEER, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
new net.Socket({ fd: steering, readable: true, writable: false }).setEncoding('utf8').on('data', lines => {
  const order = /reload (\d+)/.exec(lines);
  if (order && !is('ignores-reload')) reloadEnds = Date.now() + Number(order[1]);
}).unref();

const tools = {
  echo: async ({ text: word }) => {
    if (is('asks-the-client')) send({ id: 4711, method: 'ping' });
    if (is('change-for-nobody')) note('notifications/tools/list_changed');
    if (is('echo-is-error')) return { ...text(word), isError: true };
    if (is('fails-under-load') && word === 'x' && Math.random() < 0.1) return { ...text('busy'), isError: true };
    return text(is('wrong-echo') ? 'something else' : word);
  },
  holdfast_status: async () => text('ready'),
  test_image_content: async () => (is('no-image') ? text('no picture') : { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }),
  sleep: async ({ ms }, progressToken, id) => {
    let progress = 0;
    const tell = () => {
      if (progressToken === undefined || is('no-progress') || cancelled.has(id)) return;
      if (!is('stuck-progress')) progress++;
      note('notifications/progress', { progressToken, progress });
    };
    if (!is('slow-progress')) tell();
    const beat = setInterval(tell, 2000);
    await pause(ms);
    clearInterval(beat);
    if (is('late-progress')) setTimeout(tell, 30);
    if (is('stuck-after-cancel') && cancelled.has(id)) await new Promise(() => {});
    return text('slept');
  },
  swap: async () => {
    if (!is('stale-swap')) names = names.includes('extra') ? names.filter(name => name !== 'extra') : [...names, 'extra'];
    if (!is('silent-swap')) setTimeout(changed, 20);
    return text('swapped');
  },
  big: async ({ n }) => {
    if (is('dies-on-big')) process.exit(1);
    if (is('cuts-big')) return text('x'.repeat(MIB));
    if (n < 8 * MIB || is('huge-inline')) return text('x'.repeat(n));
    const file = path.join(scratch, 'result.txt');
    if (!is('ghost-file')) fs.writeFileSync(file, 'x'.repeat(n));
    return text(`The result has ${n} characters and is in ${file}.`);
  },
};

function listed(name) {
  const properties = name === 'echo' ? { text: is('unportable-schema') ? true : { type: 'string' } } : {};
  return { name, description: `What ${name} does`, inputSchema: { type: 'object', properties } };
}

// A result as the era of its request wants it.
function complete(request, result, cached = false) {
  if (!request.modern) return result;
  const hints = cached && !is('no-cache-hints') ? { ttlMs: 0, cacheScope: 'private' } : {};
  return {
    ...(is('no-result-type') && request.method === 'tools/call' ? {} : { resultType: 'complete' }),
    ...hints, ...result, _meta: { [`${META}serverInfo`]: INFO, ...result._meta },
  };
}

function changed() {
  if (!opened.modern) return note('notifications/tools/list_changed');
  for (const [id] of subscriptions) {
    note('notifications/tools/list_changed', is('untagged-change') ? {} : { _meta: { [`${META}subscriptionId`]: id } });
  }
  return undefined;
}

async function answerCall(request) {
  const { id, params } = request;
  const tool = names.includes(params.name) ? tools[params.name] : undefined;
  const result = answer => send({ id, result: complete(request, answer) });
  if (!tool) {
    if (is('unknown-is-result')) return result({ ...text('unknown tool'), isError: true });
    const error = { code: is('unknown-wrong-code') ? -32603 : -32602, message: `unknown tool: ${params.name}` };
    if (is('answers-twice')) send({ id, error });
    return send({ id, error });
  }
  const turn = queue;
  let done;
  queue = new Promise(resolve => { done = resolve; });
  await turn;
  if (Date.now() < reloadEnds) {
    if (is('fails-in-reload')) { done(); return result({ ...text('Unity is reloading'), isError: true }); }
    if (is('forgets-in-reload')) return done();
    if (is('tools-lost-in-reload')) names = ['holdfast_status'];
    await pause(reloadEnds - Date.now());
  }
  const answer = await tool(params.arguments ?? {}, params._meta?.progressToken, id);
  done();
  if (cancelled.has(id) && !is('answers-cancelled')) return undefined;
  result(answer);
  if (is('answers-twice')) result(answer);
  return undefined;
}

function listen({ id, params }) {
  const about = { _meta: { [`${META}subscriptionId`]: id } };
  if (is('change-before-acknowledgement')) note('notifications/tools/list_changed', about);
  if (is('no-acknowledgement')) return;
  const asked = params.notifications ?? {};
  note('notifications/subscriptions/acknowledged', {
    ...about, notifications: asked.toolsListChanged ? { toolsListChanged: true } : {},
  });
  subscriptions.set(id, asked);
}

const capabilities = { tools: is('no-list-changed-capability') ? {} : { listChanged: true }, resources: {}, prompts: {} };
function begun() {
  if (is('dirty-stdout')) process.stdout.write('Starting up...\n');
  if (is('leaves-child')) spawn('sleep', ['20'], { detached: true, stdio: 'ignore' }).unref();
}

let opened; // the request that opened the session
function handle(message) {
  const { id, method } = message;
  const version = message.params?._meta?.[`${META}protocolVersion`];
  const request = { ...message, modern: version !== undefined };
  if (id !== undefined && !opened) {
    opened = request;
    setImmediate(begun);
  }
  if (request.modern && version !== MODERN) {
    return send({ id, error: { code: -32022, message: 'version', data: { supported: [MODERN], requested: version } } });
  }
  switch (method) {
    case 'server/discover':
      if (is('silent-discover')) return undefined;
      if (is('discover-unknown') || !request.modern) break;
      send({ id, result: complete(request, {
        supportedVersions: is('discover-other-version') ? ['2025-11-25'] : ['2025-11-25', MODERN], capabilities,
      }, true) });
      return undefined;
    case 'initialize':
      if (request.modern) break;
      if (is('silent-initialize')) return undefined;
      send({ id, result: {
        protocolVersion: is('wrong-version') ? '2025-06-18' : '2025-11-25', serverInfo: INFO, capabilities,
      } });
      return undefined;
    case 'subscriptions/listen':
      if (!request.modern) break;
      return listen(message);
    case 'tools/list':
      return send({ id, result: complete(request, { tools: names.map(listed) }, true) });
    case 'tools/call':
      return void answerCall(request);
    case 'notifications/cancelled':
      cancelled.add(message.params.requestId);
      subscriptions.delete(message.params.requestId);
      return undefined;
    case 'resources/list': {
      const resources = is('lists-no-resources') ? [] : [{ uri: 'holdfast://status', name: 'status' }];
      return send({ id, result: complete(request, { resources }, true) });
    }
    case 'resources/read': {
      const contents = is('reads-nothing') ? [] : [{ uri: message.params.uri, text: '{}' }];
      return send({ id, result: complete(request, { contents }, true) });
    }
    case 'prompts/list':
      return send({ id, result: complete(request, { prompts: [{ name: 'why-is-unity-silent' }] }, true) });
    case 'prompts/get': {
      const messages = is('empty-prompt') ? [] : [{ role: 'user', content: { type: 'text', text: 'Look.' } }];
      return send({ id, result: complete(request, { messages }) });
    }
    case 'completion/complete':
      if (is('answers-undeclared')) return send({ id, result: complete(request, { completion: { values: [] } }) });
      break;
    case 'ping':
      if (request.modern) break;
      return send({ id, result: {} });
    default:
  }
  if (id !== undefined) send({ id, error: { code: is('method-wrong-code') ? -32603 : -32601, message: `unknown method: ${method}` } });
  return undefined;
}

readline.createInterface({ input: process.stdin }).on('line', line => handle(JSON.parse(line))).on('close', () => {
  if (is('ignores-eof') || (is('subscription-never-ends') && opened.modern)) return setInterval(() => {}, 1000);
  return process.exit(is('bad-exit-code') ? 3 : 0);
});
