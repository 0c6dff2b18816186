#!/usr/bin/env node
'use strict';
// Finds the program in the package of this platform and becomes it: where Node can replace its own process, nothing stays in
// between; elsewhere the program gets our stdin, stdout and stderr themselves, so no byte passes through here.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const tty = require('node:tty');
const { version, optionalDependencies } = require('./package.json');

const platform = `${process.platform}-${process.arch}`;
// Windows on ARM runs programs for x64.
const wanted = [platform, process.platform === 'win32' ? 'win32-x64' : platform].map(name => `@holdfast-mcp/${name}`);

function find() {
  for (const name of wanted) {
    try {
      return path.join(path.dirname(require.resolve(`${name}/package.json`)), process.platform === 'win32' ? 'holdfast.exe' : 'holdfast');
    } catch { /* not installed: the next, or the complaint */ }
  }
  return null;
}

function complain(text) {
  fs.writeSync(2, `holdfast-mcp ${version}: ${text}\n`);
  process.exit(1);
}

function missing() {
  const known = Object.keys(optionalDependencies);
  if (!wanted.some(name => known.includes(name))) {
    complain(`there is no build for ${platform}, only for ${known.map(name => name.split('/')[1]).join(', ')}. Nothing was started. `
      + 'Build it with Rust: cargo install --git https://github.com/holdfast-mcp/holdfast');
  }
  complain(`the program is missing: the package ${wanted[0]} was not installed. npm leaves it out with --omit=optional or `
    + '--no-optional, and when node_modules or a lock file came from another system. Nothing was started. Install again without that: '
    + `npm install --include=optional holdfast-mcp@${version}`);
}

const program = find() ?? missing();
const args = process.argv.slice(2);
try {
  fs.accessSync(program, fs.constants.X_OK);
} catch (error) {
  complain(`${program} cannot be run (${error.code}). Nothing was started. Install again: npm install --force holdfast-mcp@${version}`);
}

if (process.execve) {
  // An experimental function says so on stderr, in whatever the client shows of it.
  process.emitWarning = () => {};
  process.execve(program, [program, ...args], process.env);
}

const child = spawn(program, args, { stdio: 'inherit', windowsHide: true });
child.on('error', error => complain(`${program} could not be started: ${error.message}`));
// A terminal sends Ctrl-C to the program as well; two of them would be one too many.
const passed = tty.isatty(0) ? ['SIGTERM', 'SIGHUP'] : ['SIGTERM', 'SIGHUP', 'SIGINT'];
for (const signal of passed) process.on(signal, () => child.kill(signal));
if (tty.isatty(0)) process.on('SIGINT', () => {});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
