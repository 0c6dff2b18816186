// Holds every recorded line that left the gateway's stdout against the specification's JSON schema of the version it was spoken in:
// an answer against the result of its request's method, an error against its code's type, a notification or a request of ours
// against its own.
//
//     node wire_schema.mjs SCHEMAS FOLDER      SCHEMAS: <version>/schema.json of every version; FOLDER: what tests recorded
//     node wire_schema.mjs SCHEMAS --self-test      planted lines: each must be noticed, and good ones pass
//
// A recording (*.wire, written by wire.mjs, checks.py and the Rust tests' clients where HOLDFAST_WIRE names a folder) is one
// process, or one session: lines of `>` (what it was sent) and `<` (what it said), in their order.
import fs from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const [LEGACY, MODERN] = VERSIONS.slice(-2);
const META = 'io.modelcontextprotocol/';
const SHOWN = 20;
const [schemas, folder] = process.argv.slice(2);
if (!schemas || !folder) {
  console.error('usage: node wire_schema.mjs SCHEMAS FOLDER|--self-test');
  process.exit(64);
}

/** One version's schema, its definitions found by what they describe. */
class Spec {
  constructor(version) {
    const schema = JSON.parse(fs.readFileSync(path.join(schemas, version, 'schema.json'), 'utf8'));
    this.version = version;
    this.place = '$defs' in schema ? '$defs' : 'definitions';
    this.defs = schema[this.place];
    const options = { strict: false, allErrors: true };
    this.ajv = schema.$schema.includes('2020-12') ? new Ajv2020(options) : new Ajv(options);
    addFormats(this.ajv);
    this.ajv.addFormat('byte', true); // OpenAPI's word for base64
    this.ajv.addSchema({ ...schema, $id: 'mcp' });
    this.validators = new Map();
    this.messages = new Map(); // by method
    this.errors = new Map(); // by code
    for (const [name, { properties = {} }] of Object.entries(this.defs)) {
      const method = properties.method?.const;
      // A union of one member looks like its member.
      if (method && !/^(Client|Server)/.test(name)) this.messages.set(method, name);
      for (const part of properties.error?.allOf ?? []) {
        if (part.properties?.code?.const) this.errors.set(part.properties.code.const, name);
      }
    }
  }

  faults(name, value) {
    if (!this.validators.has(name)) this.validators.set(name, this.ajv.compile({ $ref: `mcp#/${this.place}/${name}` }));
    const validate = this.validators.get(name);
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, 4).map(error => `${name}${error.instancePath}: ${error.message}`);
  }

  first(...names) {
    return names.find(name => name in this.defs);
  }

  resultOf(method) {
    const request = this.messages.get(method);
    return this.first(`${request?.replace(/Request$/, '')}Result`, 'EmptyResult');
  }

  said(message) {
    const name = this.messages.get(message.method);
    if (!name) return [`${this.version} knows no ${message.method}`];
    if (name.endsWith('Request') !== ('id' in message)) return [`${message.method} is ${'id' in message ? 'no request' : 'no notification'}`];
    return this.faults(name, message);
  }

  error(message) {
    // JSON-RPC 2.0, section 5: what could not be read is answered under the id null. No version of MCP's schema says so.
    const { id, ...rest } = message;
    const sent = id === null ? { ...rest, id: 0 } : message;
    return this.faults(this.errors.get(message.error?.code) ?? this.first('JSONRPCErrorResponse', 'JSONRPCError'), sent);
  }

  result(message, method) {
    const envelope = this.faults(this.first('JSONRPCResultResponse', 'JSONRPCResponse'), message);
    return envelope.length || !method ? envelope : this.faults(this.resultOf(method), message.result);
  }
}
const specs = Object.fromEntries(VERSIONS.map(version => [version, new Spec(version)]));

/** Reads one recording. */
class Session {
  counts = {};
  faults = [];
  asked = new Map(); // by JSON of the id, a list: an id may be used again
  tokens = new Map(); // era of a progress token
  version = undefined; // negotiated by a handshake

  sent(line) {
    let messages;
    try {
      messages = [JSON.parse(line)].flat();
    } catch {
      return; // a test of bad input
    }
    for (const message of messages) {
      if (message === null || typeof message !== 'object' || message.method === undefined || !('id' in message)) continue;
      const meta = message.params?._meta ?? {};
      const asks = typeof meta === 'object' && meta !== null ? meta[`${META}protocolVersion`] : undefined;
      const era = asks === undefined && message.method !== 'server/discover' ? undefined : MODERN;
      const key = JSON.stringify(message.id);
      this.asked.set(key, [...(this.asked.get(key) ?? []), { method: message.method, era }]);
      if (meta?.progressToken !== undefined) this.tokens.set(JSON.stringify(meta.progressToken), era);
    }
  }

  received(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.note('unknown', 'line', ['not JSON'], line);
    }
    if (Array.isArray(message)) return this.note('unknown', 'batch', ['a batch'], line);
    if (message === null || typeof message !== 'object') return this.note('unknown', 'line', ['not an object'], line);
    if (message.method !== undefined) {
      const version = this.eraOf(message.params ?? {}) ?? this.version ?? LEGACY;
      if ('id' in message && (version === MODERN || !this.version)) {
        return this.note(version, message.method, ['a request of the server without a handshake'], line);
      }
      return this.note(version, message.method, specs[version].said(message), line);
    }
    const key = JSON.stringify(message.id);
    const requests = this.asked.get(key) ?? [];
    if ('error' in message) {
      const version = requests.at(0)?.era ?? this.version ?? LEGACY;
      requests.shift();
      return this.note(version, `error ${message.error?.code}`, specs[version].error(message), line);
    }
    const request = requests.shift();
    if (request?.method === 'initialize') {
      const version = message.result?.protocolVersion;
      if (!VERSIONS.includes(version) || version === MODERN) return this.note('unknown', 'initialize', [`negotiated ${version}`], line);
      this.version = version;
    }
    const version = request?.era ?? this.version ?? LEGACY;
    // Nothing says what an answer to an unknown request is: only its envelope can be held against the schema.
    return this.note(version, request?.method ?? 'unknown request', specs[version].result(message, request?.method), line);
  }

  eraOf(params) {
    if (params._meta?.[`${META}subscriptionId`] !== undefined) return MODERN;
    return this.tokens.get(JSON.stringify(params.progressToken));
  }

  note(version, kind, faults, line) {
    this.counts[version] ??= {};
    this.counts[version][kind] = (this.counts[version][kind] ?? 0) + 1;
    if (faults.length) this.faults.push({ version, kind, faults, line });
  }
}

function read(text) {
  const session = new Session();
  for (const line of text.split('\n')) {
    if (line.startsWith('>')) session.sent(line.slice(1));
    else if (line.startsWith('<')) session.received(line.slice(1));
    else if (line !== '') session.note('unknown', 'recording', ['neither sent nor received'], line);
  }
  return session;
}

function selfTest() {
  const meta = { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {} };
  const hello = version => [
    `>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${version}"}}`,
    `<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"${version}","capabilities":{},"serverInfo":{"name":"n","version":"1"}}}`,
  ];
  const asks = (method, params = {}) => `>${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}`;
  const modern = method => asks(method, { _meta: meta });
  const says = result => `<${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}`;
  const note = (method, params) => `<${JSON.stringify({ jsonrpc: '2.0', method, params })}`;
  const call = { content: [{ type: 'text', text: 't' }] };
  const list = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  const hints = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const audio = { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] };
  const id = { _meta: { [`${META}subscriptionId`]: 1 } };
  const cases = [
    ['a session in every version of the handshake', VERSIONS.slice(0, 4).flatMap(version => [
      ...hello(version), asks('tools/list'), says(list), asks('tools/call'), says(call), asks('ping'), says({}),
      note('notifications/tools/list_changed'), '<{"jsonrpc":"2.0","id":7,"method":"roots/list"}', '<{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}',
    ]), true],
    ['a session without one', [
      modern('server/discover'), says({ ...hints, supportedVersions: [MODERN], capabilities: {} }),
      modern('tools/list'), says({ ...list, ...hints }), modern('tools/call'), says({ ...call, resultType: 'complete' }),
      note('notifications/subscriptions/acknowledged', { ...id, notifications: { toolsListChanged: true } }),
      note('notifications/tools/list_changed', id),
      modern('x'), '<{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["a"],"requested":"b"}}}',
    ], true],
    ['a line that is no JSON', ['<Starting up...']],
    ['a batch', ['<[]']],
    ['no envelope', ['<{"id":1,"result":{}}']],
    ['neither result nor error', ['<{"jsonrpc":"2.0","id":1}']],
    ['an error without a message', ['<{"jsonrpc":"2.0","id":1,"error":{"code":-32603}}']],
    ['an error with a number that is none', ['<{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}']],
    ['a handshake that names the stateless version', hello(MODERN)],
    ['a handshake without a name', [hello(LEGACY)[0], '<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}']],
    ['a tool without a schema', [...hello(LEGACY), asks('tools/list'), says({ tools: [{ name: 'echo' }] })]],
    ['a tool whose schema is of no object', [...hello(LEGACY), asks('tools/list'), says({ tools: [{ name: 'echo', inputSchema: { type: 'array' } }] })]],
    ['a result without content', [...hello(LEGACY), asks('tools/call'), says({})]],
    ['content of an unknown type', [...hello(LEGACY), asks('tools/call'), says({ content: [{ type: 'smell' }] })]],
    ['a sound in a version that knew none', [...hello('2024-11-05'), asks('tools/call'), says(audio)]],
    ['progress without its number', [note('notifications/progress', { progressToken: 1 })]],
    ['a notification that nobody knows', [note('notifications/reload', {})]],
    ['a notification as a request', ['<{"jsonrpc":"2.0","id":1,"method":"notifications/tools/list_changed"}']],
    ['a request of ours in the stateless era', [modern('tools/call'), '<{"jsonrpc":"2.0","id":7,"method":"roots/list"}']],
    ['a result without its type', [modern('tools/call'), says(call)]],
    ['a list without caching hints', [modern('tools/list'), says({ ...list, resultType: 'complete' })]],
    ['an acknowledgement of nothing', [note('notifications/subscriptions/acknowledged', id)]],
    ['a version refused without saying which are known', [modern('x'), '<{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}']],
  ];
  let failed = 0;
  for (const [what, recording, good] of cases) {
    const { faults } = read(recording.join('\n'));
    const right = good ? faults.length === 0 : faults.length > 0;
    failed += right ? 0 : 1;
    console.log(`${right ? 'ok  ' : 'FAIL'} ${good ? 'passes' : 'is noticed'}: ${what}${good && faults.length ? ` ${JSON.stringify(faults[0])}` : ''}`);
  }
  return failed === 0;
}

function validate() {
  const files = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true }).filter(file => file.endsWith('.wire')) : [];
  const total = {};
  const faults = [];
  for (const file of files) {
    const session = read(fs.readFileSync(path.join(folder, file), 'utf8'));
    for (const [version, kinds] of Object.entries(session.counts)) {
      for (const [kind, count] of Object.entries(kinds)) {
        total[version] ??= {};
        total[version][kind] = (total[version][kind] ?? 0) + count;
      }
    }
    faults.push(...session.faults.map(fault => ({ file, ...fault })));
  }
  const sum = kinds => Object.values(kinds).reduce((a, b) => a + b, 0);
  for (const [version, kinds] of Object.entries(total).sort()) {
    const parts = Object.entries(kinds).sort((a, b) => b[1] - a[1]).map(([kind, count]) => `${kind} ${count}`);
    console.log(`${version}: ${sum(kinds)} lines (${parts.join(', ')})`);
  }
  for (const { file, version, kind, faults: why, line } of faults.slice(0, SHOWN)) {
    console.log(`FAIL ${file}: ${version} ${kind}: ${why.join('; ')}\n     ${line.slice(0, 400)}`);
  }
  const missing = VERSIONS.filter(version => !total[version]);
  if (missing.length) console.log(`FAIL no line was recorded in ${missing.join(', ')}`);
  const all = Object.values(total).reduce((a, kinds) => a + sum(kinds), 0);
  console.log(`wire schema: ${all} lines of ${files.length} recordings, ${faults.length} faults`);
  return all > 0 && faults.length === 0 && missing.length === 0;
}

process.exit((folder === '--self-test' ? selfTest() : validate()) ? 0 : 1);
