// What every official TypeScript SDK must find true of a server. The SDKs differ in an adapter; the checks, their names (the
// same as in checks.py; run.sh relies on them) and their order stand here once.
//
//     FAKE_UNITY_STEER=FIFO node ts_vN_client.mjs [MODE] -- holdfast --port PORT
//     FAKE_UNITY_STEER=FIFO HOLDFAST_TOKEN=... node ts_vN_client.mjs [MODE] -- http://127.0.0.1:PORT/mcp
//
// FAKE_UNITY_STEER is what the fake Unity reads its orders from (a named pipe at its stdin). PROOF_ONLY=name,name leaves the other
// checks out, but for the first and the last; PROOF_IMAGES=no says that the editor's protocol carries none. PROOF_EXPECTED=name|name
// are the checks that a broken server fails: those do not wait long for what will not come. PROOF_SESSIONS=yes says that a server
// over HTTP has sessions.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { lines, messages, recordChild, recording } from './wire.mjs';

const MIB = 1024 * 1024;
const DEADLINE_MS = 600_000;
const PATIENCE_MS = 60_000; // only a hang misses it
const GOES = 5; // how often a check is tried that only was too late
const META = 'io.modelcontextprotocol/';
export const LEGACY = '2025-11-25';
export const MODERN = '2026-07-28';
const chosen = process.env.PROOF_ONLY?.split(',');
const expected = process.env.PROOF_EXPECTED?.split('|');
const images = process.env.PROOF_IMAGES !== 'no';

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const since = start => performance.now() - start;
const textOf = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('\n');
// A promise of time that did not hold this once: what breaks it breaks it each time, and a busy machine some of the time.
class Late extends Error {}
function inTime(condition, what) {
  if (!condition) throw new Late(what);
}
async function until(what, ms, condition) {
  for (const start = performance.now(); !condition();) {
    assert.ok(since(start) < ms, `${what} did not happen within ${ms} ms`);
    await pause(10);
  }
}

// What an SDK may pass over in silence: it reads the server's lines as they are.
class Wire {
  strays = [];
  crossed; // what came while the server may not yet know that a request was taken back
  open = new Map(); // by id: { method, token, era }
  cancelled = new Set();
  tokens = new Set();
  ignoresCancels = false; // without sessions nothing proves whose request a notification takes back: the answer comes all the same

  stray(what) {
    (this.crossed ?? this.strays).push(what);
  }

  sent(line) {
    const message = JSON.parse(line);
    const meta = message.params?._meta ?? {};
    if (message.method === 'notifications/cancelled') this.cancelled.add(message.params.requestId);
    if (message.id === undefined || message.method === undefined) return;
    const modern = meta[`${META}protocolVersion`] === MODERN;
    this.open.set(message.id, { method: message.method, token: meta.progressToken, modern });
    if (meta.progressToken !== undefined) this.tokens.add(meta.progressToken);
  }

  received(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.stray(`a line that is not JSON: ${line.slice(0, 200)}`);
      return;
    }
    if (message.method === undefined) this.answered(message);
    else if (message.id !== undefined) this.stray(`a request of the server: ${message.method}`);
    else this.notified(message.method, message.params ?? {});
  }

  answered({ id, result }) {
    const request = this.open.get(id);
    if (!request) this.stray(`an answer to nothing open: ${id}`);
    else if (this.cancelled.has(id) && request.method !== 'subscriptions/listen' && !this.ignoresCancels) this.stray(`an answer to the cancelled ${id}`);
    this.open.delete(id);
    if (request?.token !== undefined) this.tokens.delete(request.token);
    if (!request?.modern || result === undefined) return;
    if (result.resultType === undefined) this.stray(`no resultType in the result of ${request.method}`);
    const cached = ['server/discover', 'tools/list'].includes(request.method);
    if (cached && !(Number.isInteger(result.ttlMs) && result.ttlMs >= 0 && ['public', 'private'].includes(result.cacheScope))) {
      this.stray(`no ttlMs or no cacheScope in the result of ${request.method}`);
    }
  }

  notified(method, params) {
    if (method === 'notifications/progress' && !this.tokens.has(params.progressToken)) {
      this.stray(`progress for nothing open: ${params.progressToken}`);
    }
    const modern = [...this.open.values()].some(request => request.modern) || this.era === MODERN;
    if (!modern || !(method.endsWith('/list_changed') || method.endsWith('/acknowledged'))) return;
    const about = params._meta?.[`${META}subscriptionId`];
    const subscription = this.open.get(about);
    if (subscription?.method !== 'subscriptions/listen') this.stray(`${method} outside of a subscription: ${about}`);
    else if (method.endsWith('/acknowledged')) subscription.acknowledged = true;
    else if (!subscription.acknowledged) this.stray(`${method} before the subscription was acknowledged`);
  }
}

// Sends a request for an SDK, and reads both ways beside it.
async function tapped(url, init, wire, record) {
  if (init?.body) {
    record.sent(init.body);
    wire.sent(init.body);
  }
  const response = await fetch(url, init);
  const read = messages(response.headers.get('content-type'), line => {
    record.received(line);
    wire.received(line);
  });
  // What is refused before its body is read has no answer.
  if (!response.body || !init?.body || response.status === 401) return response;
  const tap = new TransformStream({
    transform: (chunk, out) => {
      read.chunk(chunk);
      out.enqueue(chunk);
    },
    flush: read.end,
  });
  return new Response(response.body.pipeThrough(tap), { status: response.status, statusText: response.statusText, headers: response.headers });
}

/** Runs the checks. `make` makes the adapter of an SDK: see ts_v1_client.mjs. `go` counts the sessions, `only` chooses checks. */
export async function prove(make, go = 1, only = chosen) {
  const steerPath = process.env.FAKE_UNITY_STEER;
  const dashes = process.argv.indexOf('--');
  const [command, ...args] = dashes < 0 ? [] : process.argv.slice(dashes + 1);
  if (!command || !steerPath) {
    console.error('usage: FAKE_UNITY_STEER=FIFO node CLIENT [MODE] -- SERVER [ARGS...]|URL');
    process.exit(64);
  }
  const overHttp = command.startsWith('http://');

  // Every process that the server starts inherits the marker, so a child is found even after its parent is gone.
  const marker = randomUUID();
  const wire = new Wire();
  let stderrTail = '';
  let listChanges = 0;
  let server;
  const client = make({
    command, args,
    env: { HOLDFAST_PROOF: marker },
    stderr: chunk => { stderrTail = (stderrTail + chunk).slice(-4000); },
    // Called with the child process as soon as it is there: its lines are read beside the SDK, and its end is its own.
    started: child => {
      server = child;
      recordChild(child, client.name);
      child.stdout.on('data', lines(line => wire.received(line)));
      const write = child.stdin.write;
      const sent = lines(line => wire.sent(line));
      child.stdin.write = function (chunk, ...more) {
        sent(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
        return write.call(this, chunk, ...more);
      };
    },
    // For a server over HTTP: where it is, and what reads the messages beside the SDK.
    http: overHttp && {
      url: new URL(command),
      requestInit: { headers: { Authorization: `Bearer ${process.env.HOLDFAST_TOKEN}` } },
      fetch: (url, init) => tapped(url, init, wire, record),
    },
    stray: error => {
      const late = wire.ignoresCancels && error.message.includes('unknown message ID');
      // An answer with a status of its own is told here and to its caller.
      const refused = overHttp && error.message.includes('Error POSTing to endpoint: {"jsonrpc"');
      // Closing a session ends its own stream.
      const closed = overHttp && error.message.includes('AbortError');
      if (!late && !refused && !closed) wire.stray(error.message);
    },
    listChanged: () => { listChanges++; },
  });
  const record = recording(`${client.name}-http`);
  wire.era = client.era;
  // Over HTTP the gateway has no sessions: in the era with a handshake it can neither tell of changes nor be told of a cancellation.
  const noSession = overHttp && client.era === LEGACY && process.env.PROOF_SESSIONS !== 'yes';
  wire.ignoresCancels = noSession;
  const call = (name, toolArguments, options = {}) => client.call(name, toolArguments, { timeout: patience(10_000), ...options });
  const steer = line => fs.appendFileSync(steerPath, `${line}\n`);
  const names = async () => (await client.tools({ timeout: patience(10_000) })).map(tool => tool.name).sort();
  // What the server had to say until now is here: it says it before it answers a second time.
  async function turns() {
    for (let turn = 0; turn < 2; turn++) await names();
  }
  // What comes before the server has read of a cancellation, and answered to what it read behind that, is no stray.
  async function crossing(body) {
    const crossed = wire.crossed = [];
    try {
      await body();
      await turns();
    } finally {
      wire.crossed = undefined;
    }
    return crossed;
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
        return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOLDFAST_PROOF=${marker}`);
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
  let passed = 0;
  setTimeout(() => fail(current, `no end within ${DEADLINE_MS} ms`), DEADLINE_MS).unref();
  // How long a check waits: for so long where a broken server is to fail it, and otherwise until it must be a hang.
  function patience(ms) {
    const broken = expected && (expected.includes(current) || only?.includes(current));
    return broken ? ms : PATIENCE_MS;
  }
  async function check(name, body, always = false) {
    if (only && !always && !only.includes(name)) return;
    current = name;
    let start;
    let fault;
    for (let tried = 0; tried < GOES; tried++) {
      start = performance.now();
      fault = undefined;
      try {
        await body();
      } catch (error) {
        fault = error;
      }
      if (!(fault instanceof Late) || wire.strays.length || always || expected?.includes(name)) break;
      console.log(`  late ${name}: ${fault.message}`);
    }
    // A line that is not MCP, or a doubled answer, may be what broke the check: it is the better name for the fault.
    if (wire.strays.length) fail('stray', wire.strays[0]);
    if (fault) fail(name, fault);
    passed++;
    console.log(`  ok ${name} (${since(start).toFixed(0)} ms)`);
  }

  await check('initialize', async () => {
    await client.connect({ timeout: patience(5000) });
    const { name, version, listChanged } = client.about();
    assert.equal(name, 'holdfast');
    assert.equal(version, client.era);
    assert.equal(listChanged ?? false, !noSession, 'capabilities.tools.listChanged');
  }, true);

  await check('tools', async () => {
    const wanted = ['holdfast_status', 'echo', 'sleep', 'swap', 'big', ...(images ? ['test_image_content'] : [])];
    let listed = await names();
    if (wanted.some(name => !listed.includes(name)) && client.subscribes) {
      // Who has an ear for changes is answered at once with what is known, and told when the editor's tools are there.
      await until(`all of ${wanted} or an announced change`, patience(5000), () => listChanges > 0);
      listed = await names();
    }
    for (const name of wanted) assert.ok(listed.includes(name), `no ${name} in ${listed}`);
  });

  await check('echo', () => echoes());

  await check('image', async () => {
    if (!images) return;
    const { content } = await call('test_image_content', {});
    const image = content.find(block => block.type === 'image');
    assert.equal(image?.mimeType, 'image/png');
    assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG');
  });

  await check('progress', async () => {
    const seen = [];
    const start = performance.now();
    // The call outlives its timeout, so it only ends well if progress keeps resetting it.
    const result = await call('sleep', { ms: 3000 }, {
      onprogress: ({ progress }) => seen.push({ progress, at: since(start) }),
      resetTimeoutOnProgress: true, timeout: 2600, maxTotalTimeout: patience(20_000),
    }).catch(async error => {
      if (!/timed? ?out/i.test(error.message)) throw error;
      await crossing(() => pause(3000));
      throw new Late(`${error.message}, after ${seen.length} progress notifications`);
    });
    assert.ok(!result.isError, textOf(result));
    assert.ok(since(start) >= 2900, `slept ${since(start)} ms only`);
    assert.ok(seen.length >= 2, `${seen.length} progress notifications`);
    inTime(seen[0].at < 1000, `the first progress came after ${seen[0].at} ms`);
    seen.forEach(({ progress }, i) => assert.ok(i === 0 || progress > seen[i - 1].progress, `progress does not increase: ${seen.map(s => s.progress)}`));
    await pause(100); // late progress would be a stray
    await turns();
  });

  await check('cancel', async () => {
    const abort = new AbortController();
    let ended = false;
    const running = call('sleep', { ms: 1500 }, { signal: abort.signal }).finally(() => { ended = true; });
    running.catch(() => {});
    await pause(300);
    inTime(!ended, 'answered before it could be cancelled');
    let took;
    const crossed = await crossing(async () => {
      const start = performance.now();
      abort.abort('user');
      await assert.rejects(running);
      took = since(start);
    });
    inTime(crossed.length === 0 || noSession, `when it was cancelled: ${crossed[0]}`);
    await echoes();
    await pause(1600); // an answer to the cancelled call would be a stray
    await turns();
    inTime(took < 200, `the cancelled call ended after ${took} ms`);
  });

  await check('list-changed', async () => {
    const before = (await names()).join();
    const changesBefore = listChanges;
    await call('swap', {});
    if (noSession) await pause(500);
    else await until('notifications/tools/list_changed', patience(5000), () => listChanges > changesBefore);
    assert.notEqual((await names()).join(), before, 'the list was announced as changed but is the same');
  });

  await check('unknown-tool', async () => {
    await assert.rejects(call('no_such_tool', {}), error => {
      assert.equal(error.code, -32602, `code ${error.code}: ${error.message}`);
      return true;
    });
  });

  await check('unknown-method', async () => {
    // In the era without a handshake `ping` is gone, too: an SDK that still sent it would be told so.
    await assert.rejects(client.request('completion/complete', { timeout: patience(5000) }), error => {
      // Over HTTP the stateless era answers this with 404, whose body the SDK passes on as a text.
      const code = error.data?.status === 404 ? JSON.parse(error.data.text).error.code : error.code;
      assert.equal(code, -32601, `code ${error.code}: ${error.message}`);
      return true;
    });
  });

  await check('resources', async () => {
    const { resources, text, prompts, prompt } = await client.offers({ timeout: patience(5000) });
    assert.ok(resources.includes('holdfast://status'), `no status in ${resources}`);
    assert.equal(typeof JSON.parse(text ?? ''), 'object', 'holdfast://status is read as JSON');
    assert.ok(prompts.includes('why-is-unity-silent'), `not in ${prompts}`);
    assert.ok(prompt?.length > 0, 'the prompt says nothing');
  });

  await check('big-inline', async () => {
    const result = await call('big', { n: 4 * MIB });
    assert.ok(!result.isError);
    assert.ok(textOf(result).length >= 4 * MIB, `${textOf(result).length} characters`);
  });

  await check('big-file', async () => {
    const text = textOf(await call('big', { n: 11 * MIB }));
    assert.ok(text.length < MIB, `${text.length} characters inline`);
    const files = (text.match(/\/[^\s"'`<>()]+/g) ?? []).map(path => path.replace(/[.,;:]+$/, ''));
    const sizes = files.filter(path => fs.existsSync(path)).map(path => fs.statSync(path).size);
    assert.ok(sizes.some(size => size >= 11 * MIB), `names no file with the result: ${text.slice(0, 300)}`);
    await echoes();
  });

  await check('reload', async () => {
    await echoes();
    steer('reload 1500');
    await pause(300);
    const start = performance.now();
    await echoes({ timeout: patience(8000) });
    // Answered at once means that there was no reload to survive, and the check would prove nothing.
    inTime(since(start) > 500, `answered after ${since(start).toFixed(0)} ms: the reload was not in the way`);
    assert.ok((await names()).includes('echo'), 'no echo after the reload');
  });

  let late = false;
  await check('close', async () => {
    const start = performance.now();
    await client.close();
    const took = since(start);
    late = took >= 1900;
    const inVain = late && (expected?.includes('close') || go === GOES);
    assert.ok(!inVain, `took ${took.toFixed(0)} ms: the SDK had to send a signal`);
    if (!late && !overHttp) assert.equal(server.signalCode, null);
    if (!late && !overHttp) assert.equal(server.exitCode, 0, `exit code ${server.exitCode}`);
    await pause(200);
    await until('the end of what was started', patience(1), () => marked().length === 0);
  }, true);
  if (late) {
    console.log('  late close: the SDK had to send a signal');
    // Another session, for its end alone.
    return prove(make, go + 1, ['close']);
  }
  console.log(`  all ${passed} checks passed, in ${client.era}`);
  process.exit(0);
}
