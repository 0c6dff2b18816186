// A server that breaks one promise, to see that probe.mjs notices: node broken_server.mjs MODE. Without a mode it keeps them.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

const mode = process.argv[2];
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
const tool = name => ({ name, inputSchema: { type: 'object' } });
const big = n => JSON.stringify({ Text: 'x'.repeat(mode === 'large' ? n - 1 : n) });
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} },
    serverInfo: { name: 'holdfast', version: mode === 'version' ? '9.9.9' : '0.0.0' },
  }),
  'tools/list': () => ({ tools: mode === 'tools' ? [tool('echo')] : [tool('holdfast_status')] }),
  'tools/call': ({ name, arguments: { n } }) => ({ isError: mode === 'status', content: [{ type: 'text', text: name === 'big' ? big(n) : 'ready' }] }),
};
if (mode === 'stdout') console.log('Starting up ...');
if (mode === 'orphan') spawn('sleep', ['20'], { stdio: 'ignore', detached: true }).unref();
const lines = readline.createInterface({ input: process.stdin });
lines.on('line', line => {
  const { id, method, params } = JSON.parse(line);
  if (mode === 'initialize') process.exit(1);
  if (id !== undefined) answer(id, answers[method](params));
});
lines.on('close', () => {
  if (mode === 'lingers') setInterval(() => {}, 1000);
  else process.exit(0);
});
