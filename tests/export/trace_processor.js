// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace processor as its viewer runs it, WebAssembly in a worker, without the browser: speaks the protocol of
// protos/perfetto/trace_processor (TraceProcessorRpcStream) on standard input and output.
//   node trace_processor.js DIRECTORY_OF_THE_VIEWER
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const directory = process.argv[2];
const read = (name) => fs.readFileSync(path.join(directory, path.basename(name)));
const say = (...words) => process.stderr.write(words.join(' ') + '\n');

// The worker loads its WebAssembly while it starts, with a request that it waits for.
class FileRequest {
  open(method, name) { this.name = name; }
  send() { this.response = new Uint8Array(read(String(this.name))).buffer; }
}

// What the worker's code sees: it must take this for a browser.
const worker = {location: {href: ''}};
const surroundings = {
  self: worker,
  process: undefined,
  WorkerGlobalScope: class {},
  XMLHttpRequest: FileRequest,
  console: {log: say, warn: say, error: say},
};
vm.runInThisContext(`(function(${Object.keys(surroundings).join()}) {${read('engine_bundle.js')}\n})`)(
    ...Object.values(surroundings));

setImmediate(() => {
  const port = {postMessage: (reply) => process.stdout.write(reply)};
  worker.onmessage({data: port});
  process.stdin.on('data', (bytes) => port.onmessage({data: new Uint8Array(bytes)}));
  process.stdin.on('end', () => process.exit(0));
});
