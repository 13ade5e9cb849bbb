import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Answer, answerBatch, answerQuery, answerRecord, refusal } from './fake-osv-answers.ts';
import { type Affects, createOsvRecords, type FullRecord, type OsvRecord } from './fake-osv-records.ts';
import { answerFaultily, type Fault, isFault } from './faults.ts';
import { parseJson } from './json-shape.ts';
import { listenOnLoopback, readBody } from './loopback.ts';

const BODY_MAX_BYTES = 32 * 1024 * 1024;
const DEFAULT_COVERED = ['Debian:12', 'AlmaLinux:9', 'npm', 'PyPI'];
const RECORD_PATH = /^\/v1\/vulns\/([^/]+)$/;

/**
 * How the service behaves.
 * - `refuse-batch`: every batch is 400 as if its first query were bad; single queries work
 * - `page-token-without-vulns`: the first page of every query is a token and nothing else (out of time, not clean)
 */
export type OsvMode = Fault | 'up' | 'refuse-batch' | 'page-token-without-vulns';

export type OsvRequest = { readonly method: string; readonly path: string; readonly body: unknown };

export type FakeOsvOptions = {
  /** Ecosystems that hold data, so that the sentinel hits there; all others answer as an unknown release does. */
  covered?: readonly string[];
  /** Records on a page. */
  pageSize?: number;
};

/** A running fake of the OSV API. */
export type FakeOsv = {
  readonly url: string;
  mode: OsvMode;
  pageSize: number;
  readonly covered: Set<string>;
  /** Every request in the order of arrival, also those that a fault swallowed. */
  readonly requests: OsvRequest[];
  /** Adds a record, or replaces the one of the same id. Returns it with the schema's required fields filled in. */
  addRecord(record: OsvRecord, affects: readonly Affects[]): FullRecord;
  /** Withdraws a record at a time (RFC 3339). Throws where there is none of that id. */
  withdraw(id: string, at?: string): void;
  clear(): void;
  /** Every record, those that prove coverage too: what an export is made of. */
  all(): FullRecord[];
  /** Holds every answer back until the returned function is called. */
  hold(): () => void;
  stop(): Promise<void>;
};

/** Serves POST /v1/query, POST /v1/querybatch and GET /v1/vulns/{id} on the loopback interface. */
export async function startFakeOsv(options: FakeOsvOptions = {}): Promise<FakeOsv> {
  const covered = new Set(options.covered ?? DEFAULT_COVERED);
  const records = createOsvRecords(covered);
  let held: Promise<void> = Promise.resolve();
  const { url, stop } = await listenOnLoopback((request, response) => {
    handle(request, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    );
  });
  const fake: FakeOsv = {
    url,
    stop,
    mode: 'up',
    pageSize: options.pageSize ?? 1_000,
    covered,
    requests: [],
    addRecord: records.add,
    withdraw: (id, at = new Date().toISOString()) => records.withdraw(id, at),
    clear: records.clear,
    all: records.all,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const text = await readBody(request, BODY_MAX_BYTES);
    const body = text === null || text === '' ? undefined : parseJson(text);
    fake.requests.push({ method, path, body });
    await held;
    const { mode } = fake;
    if (isFault(mode)) return answerFaultily(mode, request, response);
    switch (mode) {
      case 'up':
      case 'refuse-batch':
      case 'page-token-without-vulns':
        return send(response, answer({ method, path, body }));
    }
  }

  function answer({ method, path, body }: OsvRequest): Answer {
    const paging = { pageSize: fake.pageSize, firstPageTimesOut: fake.mode === 'page-token-without-vulns' };
    if (method === 'POST' && path === '/v1/query') return answerQuery(records, body, paging);
    if (method === 'POST' && path === '/v1/querybatch') {
      if (fake.mode === 'refuse-batch') return refusal('error in query at index 0: Invalid query.');
      return answerBatch(records, body, paging);
    }
    const id = method === 'GET' ? RECORD_PATH.exec(path)?.[1] : undefined;
    if (id !== undefined) return answerRecord(records, decodeURIComponent(id));
    return { status: 404, body: { code: 5, message: 'Not Found' } };
  }

  return fake;
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
