import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FullRecord } from './fake-osv-records.ts';
import { answerFaultily, type Fault, isFault } from './faults.ts';
import { listenOnLoopback } from './loopback.ts';
import { zipArchive } from './zip-archive.ts';

const BOMB_BYTES = 64 * 1024 * 1024;

/**
 * How the export behaves.
 * - `stall`: the first half of an answer and then silence; `truncated`: the first half, and the connection is closed
 * - `redirect`: to an address of this machine
 * - `bomb`: an archive whose one record unpacks to far more than it says
 */
export type ExportMode = Fault | 'up' | 'stall' | 'truncated' | 'redirect' | 'bomb';

/** A running fake of OSV's exports. */
export type FakeOsvExport = {
  readonly url: string;
  mode: ExportMode;
  /** Paths in the order of arrival, also those that a fault swallowed. */
  readonly requests: string[];
  /** What replaces the files that the records would give, by path such as `Debian/all.zip`; null is no such file. */
  readonly files: Map<string, string | Uint8Array | null>;
  stop(): Promise<void>;
};

export type ExportSource = { all(): readonly FullRecord[] };

/** Serves `<ECO>/all.zip`, `<ECO>/modified_id.csv` and `<ECO>/<ID>.json` of the records that a fake OSV holds. */
export async function startFakeOsvExport(source: ExportSource): Promise<FakeOsvExport> {
  const { url, stop } = await listenOnLoopback(answer);
  const fake: FakeOsvExport = { url, stop, mode: 'up', requests: [], files: new Map() };

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent((request.url ?? '').slice(1));
    fake.requests.push(path);
    const { mode } = fake;
    if (isFault(mode)) {
      answerFaultily(mode, request, response);
      return;
    }
    switch (mode) {
      case 'redirect':
        response.writeHead(302, { location: `${url}/elsewhere/${path}` }).end();
        return;
      case 'bomb':
        send(response, path.endsWith('.zip') ? bomb() : contentOf(path));
        return;
      case 'stall':
      case 'truncated':
        sendHalf(response, contentOf(path), mode === 'truncated');
        return;
      case 'up':
        send(response, contentOf(path));
    }
  }

  function contentOf(path: string): Buffer | null {
    const given = fake.files.get(path);
    if (given !== undefined) return given === null ? null : Buffer.from(given);
    const [base = '', name = ''] = path.split('/');
    const records = source.all().filter((record) => basesOf(record).has(base));
    if (name === 'all.zip') {
      return zipArchive(
        records.map((record) => ({ name: `${record.id}.json`, content: JSON.stringify(record) })),
      );
    }
    if (name === 'modified_id.csv') {
      const newestFirst = records.toSorted((a, b) => (a.modified < b.modified ? 1 : -1));
      return Buffer.from(newestFirst.map(({ modified, id }) => `${modified},${id}\n`).join(''));
    }
    const record = records.find(({ id }) => `${id}.json` === name);
    return record ? Buffer.from(JSON.stringify(record)) : null;
  }

  return fake;
}

function basesOf(record: FullRecord): Set<string> {
  const affected = Array.isArray(record.affected) ? record.affected : [];
  return new Set(affected.map((one) => String(one?.package?.ecosystem ?? '').split(':')[0] ?? ''));
}

function send(response: ServerResponse, content: Buffer | null): void {
  if (content === null) response.writeHead(404).end();
  else response.writeHead(200, { 'content-length': content.length }).end(content);
}

function sendHalf(response: ServerResponse, content: Buffer | null, isClosed: boolean): void {
  if (content === null) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-length': content.length });
  response.write(content.subarray(0, Math.floor(content.length / 2)), () => {
    if (isClosed) response.destroy();
  });
}

function bomb(): Buffer {
  return zipArchive([{ name: 'BOMB-1.json', content: Buffer.alloc(BOMB_BYTES, ' '), saidLength: 100 }]);
}
