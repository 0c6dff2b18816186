// A small MCP server that keeps every promise the clients check (`good`), or breaks exactly one of them: the proof that
// the clients can fail. It stands in for the gateway and for the Unity behind it.
//
//     FAKE_UNITY_STEER=FIFO node broken_server.mjs MODE
//     node broken_server.mjs --list          every mode with the check (or checks) that may fail for it, one pair a line
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const MODES = {
  good: '-',
  'wrong-name': 'initialize',
  'wrong-version': 'initialize',
  'no-list-changed-capability': 'initialize',
  'silent-initialize': 'initialize',
  'tool-missing': 'tools',
  'wrong-echo': 'echo',
  'echo-is-error': 'echo',
  'answers-twice': 'stray',
  'dirty-stdout': 'stray',
  'no-progress': 'progress',
  'slow-progress': 'progress',
  'stuck-progress': 'progress',
  'late-progress': 'stray',
  'answers-cancelled': 'stray',
  'stuck-after-cancel': 'cancel',
  'silent-swap': 'list-changed',
  'stale-swap': 'list-changed',
  'unknown-is-result': 'unknown-tool',
  'unknown-wrong-code': 'unknown-tool',
  'cuts-big': 'big-inline',
  'dies-on-big': 'big-inline',
  'huge-inline': 'big-file|stray', // the TypeScript SDK drops the session, the Python one takes it
  'ghost-file': 'big-file',
  'fails-in-reload': 'reload',
  'forgets-in-reload': 'reload',
  'ignores-reload': 'reload',
  'tools-lost-in-reload': 'reload',
  'ignores-eof': 'close',
  'bad-exit-code': 'close',
  'leaves-child': 'close',
};
const mode = process.argv[2];
if (mode === '--list') {
  for (const [name, fails] of Object.entries(MODES)) console.log(name, fails);
  process.exit(0);
}
if (!(mode in MODES)) {
  console.error(`no such mode: ${mode}`);
  process.exit(64);
}

const MIB = 1024 * 1024;
const is = name => mode === name;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const note = (method, params) => send({ method, params });
const text = value => ({ content: [{ type: 'text', text: value }] });
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-broken-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

let names = ['holdfast_status', 'echo', 'sleep', 'swap', 'big'].filter(name => !(is('tool-missing') && name === 'holdfast_status'));
let reloadEnds = 0;
let queue = Promise.resolve(); // one call at a time, like the bridges
const cancelled = new Set();

// Opened without blocking: a file stream on a pipe parks a thread in read(), and the process could not end.
const steering = fs.openSync(process.env.FAKE_UNITY_STEER, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
new net.Socket({ fd: steering, readable: true, writable: false }).setEncoding('utf8').on('data', lines => {
  const order = /reload (\d+)/.exec(lines);
  if (order && !is('ignores-reload')) reloadEnds = Date.now() + Number(order[1]);
}).unref();

const tools = {
  echo: async ({ text: word }) => {
    if (is('echo-is-error')) return { ...text(word), isError: true };
    return text(is('wrong-echo') ? 'something else' : word);
  },
  holdfast_status: async () => text('ready'),
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
    if (!is('silent-swap')) setTimeout(() => note('notifications/tools/list_changed'), 20);
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

async function answerCall({ id, params }) {
  const tool = names.includes(params.name) ? tools[params.name] : undefined;
  if (!tool) {
    if (is('unknown-is-result')) return send({ id, result: { ...text('unknown tool'), isError: true } });
    return send({ id, error: { code: is('unknown-wrong-code') ? -32603 : -32602, message: `unknown tool: ${params.name}` } });
  }
  const turn = queue;
  let done;
  queue = new Promise(resolve => { done = resolve; });
  await turn;
  if (Date.now() < reloadEnds) {
    if (is('fails-in-reload')) { done(); return send({ id, result: { ...text('Unity is reloading'), isError: true } }); }
    if (is('forgets-in-reload')) return done();
    if (is('tools-lost-in-reload')) names = ['holdfast_status'];
    await pause(reloadEnds - Date.now());
  }
  const result = await tool(params.arguments ?? {}, params._meta?.progressToken, id);
  done();
  if (cancelled.has(id) && !is('answers-cancelled')) return undefined;
  send({ id, result });
  if (is('answers-twice')) send({ id, result });
}

function handle(message) {
  switch (message.method) {
    case 'initialize':
      if (is('silent-initialize')) return;
      send({ id: message.id, result: {
        protocolVersion: is('wrong-version') ? '2025-06-18' : '2025-11-25',
        serverInfo: { name: is('wrong-name') ? 'someone-else' : 'holdfast', version: '0.0.0' },
        capabilities: { tools: is('no-list-changed-capability') ? {} : { listChanged: true } },
      } });
      if (is('dirty-stdout')) process.stdout.write('Starting up...\n');
      if (is('leaves-child')) spawn('sleep', ['20'], { detached: true, stdio: 'ignore' }).unref();
      return;
    case 'tools/list':
      send({ id: message.id, result: { tools: names.map(name => ({ name, inputSchema: { type: 'object' } })) } });
      return;
    case 'tools/call':
      void answerCall(message);
      return;
    case 'notifications/cancelled':
      cancelled.add(message.params.requestId);
      return;
    case 'ping':
      send({ id: message.id, result: {} });
      return;
    default:
      if (message.id !== undefined) send({ id: message.id, error: { code: -32601, message: 'unknown method' } });
  }
}

readline.createInterface({ input: process.stdin }).on('line', line => handle(JSON.parse(line))).on('close', () => {
  if (is('ignores-eof')) setInterval(() => {}, 1000);
  else process.exit(is('bad-exit-code') ? 3 : 0);
});
