import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerFaultily, type Fault, isFault } from './faults.ts';
import { listenOnLoopback } from './loopback.ts';
import { buildPypiFile, type PypiFile, type PypiPackage } from './pypi-packages.ts';

const SIMPLE_JSON = 'application/vnd.pypi.simple.v1+json';
const DEFAULT_UPLOAD = '2026-01-01T00:00:00Z';

/**
 * How the index behaves.
 * - `garbage`: 200 and a page that says it is JSON and is not
 * - `html`: pages in the old form alone, whatever is asked for
 * - `not-found`: 404 for everything
 */
export type PypiIndexMode = Fault | 'up' | 'html' | 'not-found';

/** A running simple index (PEP 503, PEP 691, PEP 700). */
export type PypiIndex = {
  /** The address to give to pip, ending in `/simple`. */
  readonly url: string;
  mode: PypiIndexMode;
  /** Every path that was asked for, in order. */
  readonly requests: string[];
  /** Adds versions; a file of the same name is replaced, and with it what the pages say of it. */
  publish(...packages: PypiPackage[]): void;
  /** Takes a file away from the pages and from the server. */
  withdraw(filename: string): void;
  /** Changes one byte of a file at equal size, while the pages keep the hash. Throws where there is none. */
  tamper(filename: string): void;
  /** The bytes that are served. Throws where there are none. */
  bytesOf(filename: string): Buffer;
  stop(): Promise<void>;
};

type Served = PypiFile & { sha256: string };

/** Serves projects on the loopback interface. */
export async function startPypiIndex(packages: readonly PypiPackage[] = []): Promise<PypiIndex> {
  const files = new Map<string, Served>();
  const { url, stop } = await listenOnLoopback((request, response) => answer(request, response));

  function fileOf(filename: string): Served {
    const file = files.get(filename);
    if (file === undefined) throw new RangeError(`${filename} was never published`);
    return file;
  }

  const index: PypiIndex = {
    url: `${url}/simple`,
    stop,
    mode: 'up',
    requests: [],
    publish: (...published) => {
      for (const pkg of published) {
        const file = buildPypiFile(pkg);
        files.set(file.filename, { ...file, sha256: createHash('sha256').update(file.bytes).digest('hex') });
      }
    },
    withdraw: (filename) => {
      fileOf(filename);
      files.delete(filename);
    },
    tamper: (filename) => {
      const file = fileOf(filename);
      const bytes = Buffer.from(file.bytes);
      const at = bytes.indexOf('VERSION = ');
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      files.set(filename, { ...file, bytes });
    },
    bytesOf: (filename) => fileOf(filename).bytes,
  };
  index.publish(...packages);

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', url).pathname;
    index.requests.push(path);
    const { mode } = index;
    if (mode === 'garbage') {
      response.writeHead(200, { 'content-type': SIMPLE_JSON }).end('<h1>Please log in</h1>');
      return;
    }
    if (isFault(mode)) {
      answerFaultily(mode, request, response);
      return;
    }
    switch (mode) {
      case 'not-found':
        response.writeHead(404).end();
        return;
      case 'html':
      case 'up':
        serve(path, request, response);
    }
  }

  function serve(path: string, request: IncomingMessage, response: ServerResponse): void {
    const [, file] = /^\/files\/([^/]+)$/.exec(path) ?? [];
    const [, project] = /^\/simple\/([a-z0-9-]+)\/$/.exec(path) ?? [];
    const bytes = file === undefined ? undefined : files.get(decodeURIComponent(file))?.bytes;
    if (bytes !== undefined) {
      response.writeHead(200, { 'content-length': bytes.length, 'content-type': 'application/octet-stream' });
      response.end(request.method === 'HEAD' ? undefined : bytes);
      return;
    }
    const listed = [...files.values()].filter(({ pkg }) => normalised(pkg.name) === project);
    if (project === undefined || listed.length === 0) {
      response.writeHead(404).end();
      return;
    }
    const wantsJson = index.mode !== 'html' && (request.headers.accept ?? '').includes(SIMPLE_JSON);
    const [type, body] = wantsJson
      ? [SIMPLE_JSON, jsonPage(project, listed)]
      : ['text/html', htmlPage(listed)];
    response.writeHead(200, { 'content-type': type }).end(body);
  }

  return index;
}

function jsonPage(name: string, files: readonly Served[]): string {
  return JSON.stringify({
    meta: { 'api-version': '1.1' },
    name,
    versions: [...new Set(files.map(({ pkg }) => pkg.version))],
    files: files.map(({ filename, bytes, sha256, pkg }) => ({
      ...{
        filename,
        url: `../../files/${encodeURIComponent(filename)}`,
        hashes: { sha256 },
        size: bytes.length,
      },
      ...{ 'upload-time': pkg.uploadedAt ?? DEFAULT_UPLOAD, yanked: pkg.yanked ?? false },
      ...(pkg.requiresPython === undefined ? {} : { 'requires-python': pkg.requiresPython }),
    })),
  });
}

function htmlPage(files: readonly Served[]): string {
  const links = files.map(({ filename, sha256, pkg }) => {
    const python = pkg.requiresPython?.replaceAll('>', '&gt;').replaceAll('<', '&lt;');
    const attributes = [
      `href="../../files/${encodeURIComponent(filename)}#sha256=${sha256}"`,
      ...(python === undefined ? [] : [`data-requires-python="${python}"`]),
      ...(pkg.yanked ? ['data-yanked=""'] : []),
    ];
    return `    <a ${attributes.join(' ')}>${filename}</a><br/>`;
  });
  return `<!DOCTYPE html>\n<html>\n  <body>\n${links.join('\n')}\n  </body>\n</html>\n`;
}

function normalised(name: string): string {
  return name.replace(/[-_.]+/g, '-').toLowerCase();
}
