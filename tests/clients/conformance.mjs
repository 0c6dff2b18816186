// The official conformance suite on both wires, against a stdio server through the bridge, or against a server over HTTP through a
// proxy that adds the token. A check that fails must stand in the file of expected failures, and one that stands there must not pass.
//
//     node conformance.mjs EXPECTED_FAILURES [VERSION:SCENARIO ...] -- SERVER [ARGS...]
//     HOLDFAST_TOKEN=... node conformance.mjs EXPECTED_FAILURES [VERSION:SCENARIO ...] -- URL
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const AT_ONCE = 3;
const here = path.dirname(fileURLToPath(import.meta.url));
const suite = path.join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
// What applies to a gateway of an editor's tools, over stdio too.
const BOTH = [
  'tools-list', 'tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource',
  'tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress', 'json-schema-2020-12', 'resources-list', 'prompts-list',
];
const ALL = [
  ...['server-initialize', 'ping', ...BOTH].map(name => ['2025-11-25', name]),
  ...[
    'server-stateless', ...BOTH, 'caching', 'sep-2164-resource-not-found', 'input-required-result-unsupported-methods',
    'input-required-result-ignore-extra-params',
  ].map(name => ['2026-07-28', name]),
];
const OVER_HTTP = [
  ['2025-11-25', 'dns-rebinding-protection'],
  ...['dns-rebinding-protection', 'server-sse-multiple-streams', 'http-header-validation', 'http-custom-header-server-validation']
    .map(name => ['2026-07-28', name]),
];
// What does not apply, by its reason. A scenario of the suite that stands nowhere here fails the run.
const INAPPLICABLE = {
  'the suite asks for resources of its own example server': /resources-(?!list)/,
  'the suite asks for prompts of its own example server': /prompts-(?!list)/,
  'holdfast declares no completions': /completion-complete/,
  'holdfast declares no logging: it logs on stderr': /logging/,
  'no tool of an editor asks anything of the client': /elicitation|sampling|input-required-result-(?!unsupported-methods|ignore-extra)/,
  'holdfast declares no extensions': /tasks-|skills-/,
  'there are no sessions': /server-session-lifecycle|2025-11-25 server-sse-/,
};
// It reads its answers by itself, past the suite's own validation.
const UNVALIDATED = ['server-stateless', 'dns-rebinding-protection', 'server-sse-multiple-streams'];
// It changes the editor's tools in the middle, and all scenarios have one editor: another that lists twice would see two lists.
const ALONE = ['server-stateless'];

const dashes = process.argv.indexOf('--');
const [expected, ...chosen] = dashes < 0 ? [] : process.argv.slice(2, dashes);
const server = process.argv.slice(dashes + 1);
if (!expected || server.length === 0) {
  console.error('usage: node conformance.mjs EXPECTED_FAILURES [VERSION:SCENARIO ...] -- SERVER [ARGS...]|URL');
  process.exit(64);
}
const overHttp = server[0].startsWith('http://');
const scenarios = chosen.length ? chosen.map(one => one.split(':')) : overHttp ? [...ALL, ...OVER_HTTP] : ALL;
const results = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'));
process.on('exit', () => fs.rmSync(results, { recursive: true, force: true }));

for (const [, name, versions] of execFileSync(process.execPath, [suite, 'list', '--server'], { encoding: 'utf8' }).matchAll(/- (\S+) \[(.*)\]/g)) {
  for (const version of ['2025-11-25', '2026-07-28', 'extension'].filter(one => versions.includes(one))) {
    const applies = [...ALL, ...OVER_HTTP].some(one => one.join() === `${version},${name}`);
    const reasons = Object.keys(INAPPLICABLE).filter(reason => INAPPLICABLE[reason].test(`${version} ${name}`));
    if (reasons.length !== (applies ? 0 : 1)) throw new Error(`${version} ${name}: it applies, or there is one reason why it does not`);
  }
}

// The suite speaks HTTP only, and sends no token.
const front = overHttp ? ['http_proxy.mjs', server[0]] : ['stdio_http_bridge.mjs', ...server];
const bridge = spawn(process.execPath, [path.join(here, front[0]), ...front.slice(1)], { stdio: ['ignore', 'pipe', 'inherit'] });
const port = await new Promise((resolve, reject) => {
  readline.createInterface({ input: bridge.stdout }).on('line', line => resolve(line.split(' ')[1]));
  bridge.on('exit', code => reject(new Error(`${front[0]} ended with ${code}`)));
});
const url = `http://127.0.0.1:${port}${overHttp ? new URL(server[0]).pathname : '/mcp'}`;

function run(version, name) {
  const folder = path.join(results, `${version}-${name}`);
  const child = spawn(process.execPath, [
    suite, 'server', '--url', url, '--scenario', name, '--spec-version', version,
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
