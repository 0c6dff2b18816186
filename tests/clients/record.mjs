// Stands between a client and a server and records what they say (wire.mjs), for clients whose pipes nobody else can reach.
//
//     HOLDFAST_WIRE=FOLDER node record.mjs NAME SERVER [ARGS...]
import { spawn } from 'node:child_process';
import { recordChild } from './wire.mjs';

const [name, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
recordChild(child, name);
child.stdin.on('error', () => {}); // it may be gone before we write
process.stdin.on('data', chunk => child.stdin.write(chunk)).on('end', () => child.stdin.end());
child.stdout.pipe(process.stdout);
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
child.on('close', (code, signal) => process.exit(signal ? 1 : code));
