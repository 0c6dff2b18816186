#!/usr/bin/env node
'use strict';
// Finds the program in the package of this platform and becomes it: where Node can replace its own process, nothing stays in
// between; elsewhere the program gets our stdin, stdout and stderr themselves, so no byte passes through here.
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const tty = require('node:tty');
const { version, optionalDependencies } = require('./package.json');

const windows = process.platform === 'win32';
// Windows on ARM runs programs for x64.
const platform = `${process.platform}-${windows && process.arch === 'arm64' ? 'x64' : process.arch}`;
const wanted = `@holdfast-mcp/${platform}`;

function find() {
  try {
    return path.join(path.dirname(require.resolve(`${wanted}/package.json`)), windows ? 'holdfast.exe' : 'holdfast');
  } catch {
    return null; // not installed
  }
}

function complain(text) {
  fs.writeSync(2, `holdfast-mcp ${version}: ${text}\n`);
  process.exit(1);
}

function missing() {
  const known = Object.keys(optionalDependencies);
  if (!known.includes(wanted)) {
    complain(`there is no build for ${platform}, only for ${known.map(name => name.split('/')[1]).join(', ')}. Nothing was started. `
      + 'Build it with Rust: cargo install --git https://github.com/holdfast-mcp/holdfast holdfast');
  }
  complain(`the program is missing: the package ${wanted} was not installed. npm leaves it out with --omit=optional or `
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

// On Windows the function is there too, and throws.
if (process.execve && !windows) {
  // An experimental function says so on stderr, in whatever the client shows of it.
  process.emitWarning = () => {};
  process.execve(program, [program, ...args], process.env);
}

const child = spawn(program, args, { stdio: 'inherit', windowsHide: true });
child.on('error', error => complain(`${program} could not be started: ${error.message}`));
// A terminal sends Ctrl-C to the program as well; two of them would be one too many. Windows' console tells everything to both, and
// a signal from here would end the program there at once, in the middle of its own ending.
const outlived = windows ? ['SIGINT', 'SIGBREAK', 'SIGHUP'] : tty.isatty(0) ? ['SIGINT'] : [];
const passed = windows ? [] : ['SIGTERM', 'SIGHUP', 'SIGINT'].filter(signal => !outlived.includes(signal));
for (const signal of outlived) process.on(signal, () => {});
for (const signal of passed) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
