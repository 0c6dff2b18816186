// Stands between a client and a server that speak HTTP. Everything passes as it is, Host and Origin too. It adds the token for a
// client that cannot send one (HOLDFAST_TOKEN), and records what both say (NAME, see wire.mjs).
//
//     node http_proxy.mjs URL [NAME [SOCKET]]      prints "proxy WHERE" once it listens: on a port of 127.0.0.1, or on a Unix socket
import http from 'node:http';
import { messages, recording } from './wire.mjs';

const [address, name, socket] = process.argv.slice(2);
const { hostname, port } = new URL(address);
const token = process.env.HOLDFAST_TOKEN;
const record = name ? recording(name) : undefined;

const listener = http.createServer((request, response) => {
  // As a list, because an object would join headers that occur twice.
  const headers = token ? [...request.rawHeaders, 'Authorization', `Bearer ${token}`] : request.rawHeaders;
  const onward = http.request({ hostname, port, method: request.method, path: request.url, headers, setHost: false });
  onward.on('response', answer => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
    if (record) {
      const read = messages(answer.headers['content-type'], record.received);
      answer.on('data', read.chunk).on('end', read.end);
    }
    answer.on('data', chunk => response.write(chunk)).on('end', () => response.end()).on('error', () => response.destroy());
    response.flushHeaders();
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  if (record) {
    let body = '';
    request.setEncoding('utf8').on('data', chunk => { body += chunk; }).on('end', () => body && record.sent(body));
  }
  request.pipe(onward);
});
listener.listen(socket ? { path: socket } : { port: 0, host: '127.0.0.1' }, () => console.log(`proxy ${socket ?? listener.address().port}`));
