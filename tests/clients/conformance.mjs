// The official conformance suite against a stdio server, through the bridge, on both wires. A check that fails must stand in the
// file of expected failures, and one that stands there must not pass.
//
//     node conformance.mjs EXPECTED_FAILURES [VERSION:SCENARIO ...] -- SERVER [ARGS...]
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const AT_ONCE = 3;
const here = path.dirname(fileURLToPath(import.meta.url));
const suite = path.join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
// What applies: the resources and prompts of the suite are those of its own example server; no completion, nothing that asks the
// client, nothing of HTTP itself.
const TOOLS = [
  'tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource',
  'tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress', 'json-schema-2020-12',
];
const ALL = [
  ...['server-initialize', 'ping', ...TOOLS].map(name => ['2025-11-25', name]),
  ...['server-stateless', ...TOOLS, 'caching', 'input-required-result-unsupported-methods', 'input-required-result-ignore-extra-params']
    .map(name => ['2026-07-28', name]),
];
// It reads its answers by itself, past the suite's own validation.
const UNVALIDATED = ['server-stateless'];
// It changes the editor's tools in the middle, and all scenarios have one editor: another that lists twice would see two lists.
const ALONE = ['server-stateless'];

const dashes = process.argv.indexOf('--');
const [expected, ...chosen] = dashes < 0 ? [] : process.argv.slice(2, dashes);
const server = process.argv.slice(dashes + 1);
if (!expected || server.length === 0) {
  console.error('usage: node conformance.mjs EXPECTED_FAILURES [VERSION:SCENARIO ...] -- SERVER [ARGS...]');
  process.exit(64);
}
const scenarios = chosen.length ? chosen.map(one => one.split(':')) : ALL;
const results = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'));
process.on('exit', () => fs.rmSync(results, { recursive: true, force: true }));

const bridge = spawn(process.execPath, [path.join(here, 'stdio_http_bridge.mjs'), ...server], { stdio: ['ignore', 'pipe', 'inherit'] });
const port = await new Promise((resolve, reject) => {
  readline.createInterface({ input: bridge.stdout }).on('line', line => resolve(line.split(' ')[1]));
  bridge.on('exit', code => reject(new Error(`the bridge ended with ${code}`)));
});

function run(version, name) {
  const folder = path.join(results, `${version}-${name}`);
  const child = spawn(process.execPath, [
    suite, 'server', '--url', `http://127.0.0.1:${port}/mcp`, '--scenario', name, '--spec-version', version,
    '--expected-failures', expected, '--output-dir', folder,
  ], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => { said += chunk; });
  return new Promise(resolve => child.on('close', code => resolve(verdict(version, name, code, folder, said))));
}

function verdict(version, name, code, folder, said) {
  const file = fs.existsSync(folder) && fs.readdirSync(folder, { recursive: true }).find(one => one.endsWith('checks.json'));
  const checks = file ? JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) : [];
  const of = (...kinds) => checks.filter(({ status }) => kinds.includes(status));
  const wire = checks.find(({ id }) => id === 'wire-schema-valid');
  const validated = wire?.details?.messagesValidated ?? 0;
  const faults = [];
  if (code !== 0) faults.push(`the suite ended with ${code}`);
  if (of('SUCCESS').length === 0) faults.push('nothing was checked');
  if (validated === 0 && !UNVALIDATED.includes(name)) faults.push('no message was held against the schema');
  const failed = of('FAILURE', 'WARNING');
  return { title: `${version} ${name}`, passed: of('SUCCESS').length, failed, validated, faults, said };
}

const isAlone = ([, name]) => ALONE.includes(name);
const queue = scenarios.filter(one => !isAlone(one));
const done = [];
for (const one of scenarios.filter(isAlone)) done.push(await run(...one));
async function worker() {
  for (let next = queue.shift(); next; next = queue.shift()) done.push(await run(...next));
}
await Promise.all(Array.from({ length: AT_ONCE }, worker));
bridge.removeAllListeners('exit');
bridge.kill();

const total = { passed: 0, failed: 0, validated: 0, broken: 0 };
for (const { title, passed, failed, validated, faults, said } of done.sort((a, b) => a.title.localeCompare(b.title))) {
  total.passed += passed;
  total.failed += failed.length;
  total.validated += validated;
  total.broken += faults.length ? 1 : 0;
  const known = failed.length ? `, ${failed.length} ${faults.length ? 'failed' : 'expected to fail'}: ${failed.map(({ id }) => id).join(', ')}` : '';
  console.log(`  ${faults.length ? 'FAIL' : 'ok'} ${title}: ${passed} checks${known}${faults.length ? ` (${faults.join('; ')})` : ''}`);
  if (faults.length) {
    for (const { id, errorMessage } of failed) console.log(`       ${id}: ${errorMessage?.slice(0, 300)}`);
    console.log(said.split('\n').filter(line => /[✗✓]|rror/.test(line)).slice(-8).map(line => `       ${line.slice(0, 300)}`).join('\n'));
  }
}
console.log(`  conformance: ${done.length} scenarios, ${total.passed} checks passed, ${total.failed} expected or not to fail, ${total.validated} messages valid, ${total.broken} scenarios broken`);
process.exit(total.broken ? 1 : 0);
