// Records what crossed a server's stdin and stdout, so that wire_schema.mjs can hold every line against the specification.
// Off unless HOLDFAST_WIRE names a folder. A file is one server process: lines of `>` (to it) and `<` (from it), in their order.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const LONG_LINE = 64 * 1024;
const LONG_TEXT = 256;
const folder = process.env.HOLDFAST_WIRE;

// A text of megabytes says no more to a schema than its beginning.
function shortened(line) {
  if (line.length <= LONG_LINE) return line;
  try {
    return JSON.stringify(JSON.parse(line, (_, value) => (typeof value === 'string' ? value.slice(0, LONG_TEXT) : value)));
  } catch {
    return line.slice(0, LONG_LINE);
  }
}

export function recording(name) {
  if (!folder) return { sent() {}, received() {} };
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `${name}-${process.pid}-${randomUUID().slice(0, 8)}.wire`);
  const write = (sign, line) => fs.appendFileSync(file, `${sign}${shortened(line)}\n`);
  return { sent: line => write('>', line), received: line => write('<', line) };
}

// Calls `each` with every whole line of a stream's chunks.
export function lines(each) {
  const decoder = new TextDecoder();
  let rest = '';
  return chunk => {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop();
    for (const line of parts) each(line);
  };
}

// Reads the messages of a response of Streamable HTTP from its chunks: JSON, or a stream of events.
export function messages(type, each) {
  if (type?.startsWith('text/event-stream')) {
    return { chunk: lines(line => line.startsWith('data: ') && each(line.slice('data: '.length))), end() {} };
  }
  const decoder = new TextDecoder();
  let text = '';
  return {
    chunk: chunk => { text += decoder.decode(chunk, { stream: true }); },
    end: () => { if (type?.startsWith('application/json') && text) each(text); },
  };
}

// Records a child process that somebody else talks to: its pipes are listened to and written through as before.
export function recordChild(child, name) {
  const record = recording(name);
  child.stdout.on('data', lines(record.received));
  const write = child.stdin.write;
  const sent = lines(record.sent);
  child.stdin.write = function (chunk, ...more) {
    sent(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    return write.call(this, chunk, ...more);
  };
}
