// Puts a stdio server behind Streamable HTTP, line by line: the official conformance suite speaks HTTP only. Every message
// passes through as it is; HTTP's own parts (sessions, statuses) are the bridge's.
//
//     node stdio_http_bridge.mjs SERVER [ARGS...]      prints "bridge PORT" once it listens on 127.0.0.1
//
// The handshake era gets one process a session; a stateless request gets a process of its own, which knows nothing before it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { lines, recordChild } from './wire.mjs';

const [command, ...args] = process.argv.slice(2);
const META = 'io.modelcontextprotocol/';
// What the transport's page says of errors that refuse a request: 404 for a method, 400 for a request.
const STATUS = { [-32601]: 404, [-32602]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400 };
const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
const sessions = new Map();
const servers = new Set();

class Server {
  constructor(stateless) {
    this.stateless = stateless;
    this.open = new Map(); // by JSON of the id: { response, token, subscription }
    this.stream = undefined; // the session's own stream of messages
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    recordChild(this.child, 'bridge');
    servers.add(this.child);
    this.child.stdin.on('error', () => {}); // it may be gone before we write
    this.child.stdout.on('data', lines(line => this.route(line)));
    this.child.on('exit', () => {
      servers.delete(this.child);
      this.gone = true;
      for (const { response } of this.open.values()) response.end();
      this.stream?.end();
    });
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  end() {
    this.child.stdin.end();
  }

  request(message, response) {
    const key = JSON.stringify(message.id);
    const meta = message.params?._meta;
    // A tool's own complaint about its arguments is an answer; only a request that could not be one is refused.
    const whole = meta?.[`${META}protocolVersion`] === '2026-07-28' && meta[`${META}clientCapabilities`] !== undefined;
    const entry = { response, token: meta?.progressToken, whole };
    this.open.set(key, entry);
    this.send(message);
    response.on('close', () => {
      if (this.open.get(key) !== entry) return;
      this.open.delete(key);
      this.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } });
      if (this.stateless) this.end();
    });
  }

  route(line) {
    const message = JSON.parse(line);
    if (message.method === undefined) return this.answer(message, line);
    const about = message.params?._meta?.[`${META}subscriptionId`];
    const token = message.params?.progressToken;
    const owner = [...this.open].find(([key, { token: theirs }]) =>
      about !== undefined ? key === JSON.stringify(about) : token !== undefined && theirs === token);
    const response = owner?.[1].response ?? (message.method.endsWith('list_changed') ? this.stream : [...this.open.values()].at(-1)?.response);
    if (response) stream(response, line);
    return undefined;
  }

  answer(message, line) {
    const key = JSON.stringify(message.id);
    const entry = this.open.get(key);
    if (!entry) return;
    this.open.delete(key);
    const { response, whole } = entry;
    const code = message.error?.code;
    const status = code === -32602 && whole ? 200 : STATUS[code] ?? 200;
    if (this.stateless && code !== undefined && !response.headersSent) json(response, status, line);
    else {
      stream(response, line);
      response.end();
    }
    if (this.stateless) this.end();
  }
}

function stream(response, line) {
  if (!response.headersSent) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...response.session });
  }
  response.write(`event: message\ndata: ${line}\n\n`);
}

function json(response, status, text) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

function post(request, response, body) {
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return json(response, 400, '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}');
  }
  const id = request.headers['mcp-session-id'];
  const asks = message.id !== undefined && message.method !== undefined;
  let server = sessions.get(id);
  // The suite knows the two wires apart by the request's own marks, as a server does.
  const stateless = id === undefined && !(message.method === 'initialize' && message.params?._meta?.[`${META}protocolVersion`] === undefined);
  if (id !== undefined && (!server || server.gone)) return response.writeHead(404).end();
  if (!server) {
    server = new Server(stateless);
    if (!stateless) {
      const fresh = randomUUID();
      sessions.set(fresh, server);
      response.session = { 'mcp-session-id': fresh };
    }
  }
  if (asks) return server.request(message, response);
  server.send(message);
  if (stateless) server.end();
  return response.writeHead(202).end();
}

const listener = http.createServer((request, response) => {
  const { host, origin } = request.headers;
  if (!LOCAL.test(host ?? '') || (origin && !LOCAL.test(new URL(origin).host))) return response.writeHead(403).end();
  const id = request.headers['mcp-session-id'];
  const server = sessions.get(id);
  if (request.method === 'POST') {
    let body = '';
    request.setEncoding('utf8').on('data', chunk => { body += chunk; }).on('end', () => post(request, response, body));
    return undefined;
  }
  if (!server) return response.writeHead(request.method === 'GET' ? 405 : 404).end();
  if (request.method === 'DELETE') {
    sessions.delete(id);
    server.end();
    return response.writeHead(200).end();
  }
  server.stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
  return response.flushHeaders();
});
listener.listen(0, '127.0.0.1', () => console.log(`bridge ${listener.address().port}`));
process.on('SIGTERM', () => {
  for (const child of servers) child.stdin.end();
  setTimeout(() => process.exit(0), 200);
});
