// Runs a program for WASI in node, with the files of this machine: node run.mjs PROGRAM ARGUMENTS

import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const EAGAIN = 6;

const [, , path, ...args] = process.argv;
const wasi = new WASI({
  version: 'preview1',
  args: [path, ...args],
  env: process.env,
  preopens: { '/': '/' },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(path));
// Older libraries lack the functions that say that there are no threads.
const env = {
  pthread_attr_init: () => 0,
  pthread_attr_setstacksize: () => 0,
  pthread_attr_destroy: () => 0,
  pthread_create: () => EAGAIN,
  pthread_join: () => EAGAIN,
  pthread_detach: () => EAGAIN,
};
const instance = await WebAssembly.instantiate(module, { ...wasi.getImportObject(), env });
process.exit(wasi.start(instance));
