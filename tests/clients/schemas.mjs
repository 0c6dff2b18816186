// Every schema that the gateway lists compiles in Ajv's strict mode: the lists of all simulated packages, through the binary, and
// 1,000 made-up schemas in the catalogue on disk, nearly all of which Ajv refuses as they are.
//
//     node tests/clients/schemas.mjs BINARY FOLDER
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const [binary, folder] = process.argv.slice(2);
const CLIENTS = ['nobody', 'claude-code', 'vscode'];
const MADE_UP = 1000;
// The packages that the program plays, the first of them first.
const told = spawnSync(binary, ['fake-unity', '--help'], { encoding: 'utf8' }).stdout.split('--dialect')[1].split('[default:')[0];
const DIALECTS = [...told.matchAll(/^ +- (\S+):/gm)].map(([, name]) => name);
let failed = 0;

const fault = (schema) => {
  // `strictRequired` would refuse the conformance suite's own schema, in which branches require properties of the schema around them.
  const ajv = new Ajv2020({ strict: true, strictRequired: false, logger: false });
  (addFormats.default ?? addFormats)(ajv);
  // MCP's mark for a parameter that is in a header too, and a keyword of 2020-12 that Ajv reads but does not list.
  ajv.addVocabulary(['x-mcp-header', '$anchor']);
  try {
    ajv.compile(schema);
  } catch (error) {
    return error.message;
  }
};

const check = (what, ok, why) => {
  console.log(ok ? `  ok ${what}` : `FAIL schemas: ${what}: ${why}`);
  if (!ok) failed += 1;
};

const home = (room) => ({ ...process.env, HOME: join(room, 'home'), TMPDIR: join(room, 'tmp') });
const listed = (room, client, at = []) => {
  const args = ['tools', '--json', '--project', join(room, 'project'), '--state-dir', join(room, 'state'), '--client', client, ...at];
  const done = spawnSync(binary, args, { env: home(room), encoding: 'utf8', maxBuffer: 1 << 28 });
  return JSON.parse(done.stdout);
};

async function withEditor(room, dialect, use) {
  for (const name of ['home', 'tmp', 'project']) mkdirSync(join(room, name), { recursive: true });
  const args = ['fake-unity', '--dialect', dialect, '--project', join(room, 'project'), '--conformance-tools'];
  const editor = spawn(binary, args, { env: home(room), stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const began = await new Promise((resolve, reject) => {
      editor.stdout.once('data', resolve);
      editor.once('exit', reject);
    });
    return use(['--dialect', dialect, '--port', String(JSON.parse(String(began).split('\n')[0]).port)]);
  } finally {
    editor.kill();
  }
}

// A generator of its own, so that this does not depend on what the tests in Rust make up. The same numbers in each run.
let state = 20260728;
const below = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const one = (...of) => of[below(of.length)];
const some = (make, most = 3) => Array.from({ length: below(most + 1) }, make);
const name = () => one('a', 'b', 'c', 'größe', 'シーン名', 'rule[]', 'a b', '$type', 'x'.repeat(70));
const kind = () => one('string', 'number', 'integer', 'boolean', 'object', 'array', 'null');
const named = (depth) => Object.fromEntries(some(() => [name(), made(depth - 1)]));
function made(depth) {
  if (depth <= 0) return one({}, true, null, { type: kind() }, { type: [kind(), 'null'] }, { $ref: one('#/$defs/a', '#/$defs/a[]', '#/$defs/no', '#', 'x.json') });
  const schema = {};
  for (let n = below(5); n >= 0; n -= 1) {
    const [keyword, value] = one(
      () => ['type', one(kind(), kind(), [kind(), 'null'], [kind(), kind()], 'int')],
      () => ['properties', named(depth)],
      () => ['required', some(name)],
      () => ['items', one(made(depth - 1), some(() => made(depth - 1)), true, false)],
      () => ['prefixItems', some(() => made(depth - 1))],
      () => [one('anyOf', 'oneOf', 'allOf'), some(() => made(depth - 1))],
      () => [one('not', 'if', 'then', 'else', 'contains', 'additionalProperties', 'propertyNames'), made(depth - 1)],
      () => ['enum', one([], ['x', null], ['x', 'x'], ['', 'y'], null, [1, 2])],
      () => [one('minLength', 'minimum', 'maxItems', 'minProperties'), one(0, 2, -1, '3', null)],
      () => [one('description', 'title', 'default', 'nullable', 'exclusiveMinimum', 'format'), one(null, true, 'uuid', 5)],
      () => [one('$defs', 'definitions', 'patternProperties'), named(depth)],
      () => ['$schema', 'http://json-schema.org/draft-04/schema#'],
    )();
    schema[keyword] = value;
  }
  return schema;
}

check(`${DIALECTS.length} packages in the help`, DIALECTS.length >= 5, told);
for (const dialect of DIALECTS) {
  const room = join(folder, dialect);
  const lists = await withEditor(room, dialect, (at) => CLIENTS.map((client) => listed(room, client, at)));
  lists.forEach((list, at) => {
    const bad = list.tools.map((tool) => [tool.name, fault(tool.inputSchema)]).filter(([, why]) => why);
    check(`${dialect} for ${CLIENTS[at]}: ${list.tools.length} tools`, list.source === 'live' && list.tools.length > 4 && !bad.length, `${list.source}; ${JSON.stringify(bad)}`);
  });
}

const room = join(folder, DIALECTS[0]);
const folderOfLists = join(room, 'state', 'catalogues');
const file = join(folderOfLists, readdirSync(folderOfLists).find((entry) => entry.endsWith('.json')));
const catalogue = JSON.parse(readFileSync(file, 'utf8'));
const schemas = Array.from({ length: MADE_UP }, () => ({ ...made(3), type: 'object', properties: named(4), $defs: { a: made(2), 'a[]': made(2) } }));
catalogue.tools = schemas.map((schema, n) => ({ ...catalogue.tools[0], name: `made-up-${n}`, input_schema: schema }));
writeFileSync(file, JSON.stringify(catalogue));
const refused = schemas.filter(fault).length;
check(`Ajv refuses ${refused} of ${MADE_UP} made-up schemas as they are`, refused > MADE_UP / 2, 'too few');
// A client's first list is not waited for without end. On a busy machine it may come before this large file is read.
const fromDisk = (client) => {
  for (let again = 20; again > 0; again -= 1) {
    const { tools } = listed(room, client);
    if (tools.length) return tools;
  }
  return [];
};
for (const client of CLIENTS) {
  const tools = fromDisk(client).filter((tool) => tool.name.startsWith('made-up-'));
  const bad = tools.map((tool) => [tool, fault(tool.inputSchema)]).filter(([, why]) => why);
  const [tool, why] = bad[0] ?? [];
  const first = tool && `${why} in ${JSON.stringify(tool.inputSchema)}`;
  check(`${tools.length} made-up schemas for ${client}`, tools.length === MADE_UP && !bad.length, `${bad.length} refused: ${first}`);
}
process.exit(failed ? 1 : 0);
