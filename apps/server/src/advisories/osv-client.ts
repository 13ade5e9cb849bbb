import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { createOutgoing } from '../platform/outgoing.ts';
import { parseAs } from '../platform/parse-as.ts';
import { callUpstream, type UpstreamAnswer } from '../platform/upstream.ts';
import { BatchAnswer, BatchEntry, OsvRecord } from './osv-schema.ts';
import type { Subject } from './subjects.ts';

/** Most queries in one batch (the API's limit). */
export const BATCH_MAX_QUERIES = 1_000;
/** Most pages of one query. */
const PAGES_MAX = 50;
/** Most calls for one batch, including paging and bisecting. */
const CALLS_MAX = 256;
const BATCH_TIMEOUT_MS = 35_000;
const SINGLE_TIMEOUT_MS = 20_000;

export interface VulnerabilityId {
  readonly id: string;
  readonly modified: string;
}

/** The source's answer about one subject. */
export type SubjectAnswer =
  /** Every page was read. No ids means "clean" only if the ecosystem is covered. */
  | { readonly kind: 'hits'; readonly ids: readonly VulnerabilityId[] }
  /** `ids`: read before the source failed; they count, but the list is incomplete. */
  | {
      readonly kind: 'unreachable' | 'garbage';
      readonly ids: readonly VulnerabilityId[];
      readonly cause: string;
    }
  /** The source rejects this particular query. */
  | { readonly kind: 'refused' };

export type RecordAnswer =
  | { readonly kind: 'record'; readonly record: OsvRecord; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreachable' | 'garbage'; readonly cause: string };

export interface OsvClient {
  /** Answers in the order of the subjects, at most BATCH_MAX_QUERIES of them. Never throws for upstream faults. */
  query(subjects: readonly Subject[], limits?: { readonly timeoutMs?: number }): Promise<SubjectAnswer[]>;
  fetchRecord(id: string): Promise<RecordAnswer>;
  close(): Promise<void>;
}

export interface OsvClientOptions {
  readonly baseUrl: string;
  readonly timeouts?: { batchMs: number; singleMs: number };
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Client of the OSV API, which limits batches, pages each query separately, and fails a batch for one bad query. */
export function createOsvClient(options: OsvClientOptions): OsvClient {
  const { timeouts = { batchMs: BATCH_TIMEOUT_MS, singleMs: SINGLE_TIMEOUT_MS } } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');
  const closing = new AbortController();
  const dispatcher: Dispatcher = createOutgoing({ connections: 8 });
  const shared = { dispatcher, signal: closing.signal, sleep: options.sleep ?? pause(closing.signal) };

  function post(path: string, body: unknown, timeoutMs: number): Promise<UpstreamAnswer> {
    return callUpstream({ ...shared, url: baseUrl + path, body: JSON.stringify(body), timeoutMs });
  }

  async function query(
    subjects: readonly Subject[],
    { timeoutMs = Number.POSITIVE_INFINITY }: { readonly timeoutMs?: number } = {},
  ): Promise<SubjectAnswer[]> {
    if (subjects.length > BATCH_MAX_QUERIES) throw new RangeError(`more than ${BATCH_MAX_QUERIES} queries`);
    const work = subjects.map((subject) => newWork(subject));
    const budget = { calls: CALLS_MAX, timeoutMs };
    while (work.some((one) => one.answer === null)) {
      await askPage(
        work.filter((one) => one.answer === null),
        budget,
      );
    }
    return work.map(({ answer }) => answer ?? { kind: 'garbage', ids: [], cause: 'no answer' });
  }

  /** Requests the next page of each; a rejected batch is halved until the rejected query is alone. */
  async function askPage(work: readonly Work[], budget: Budget): Promise<void> {
    if (budget.calls-- <= 0) return fail(work, { kind: 'garbage', cause: 'too many pages or refusals' });
    const timeoutMs = Math.min(timeouts.batchMs, budget.timeoutMs);
    const answer = await post('/v1/querybatch', { queries: work.map(queryOf) }, timeoutMs);
    if (answer.kind !== 'refused') return settle(work, answer, readBatch(answer, work.length));
    const [only] = work;
    if (only && work.length === 1) return askAlone(only, budget);
    const half = Math.ceil(work.length / 2);
    await askPage(work.slice(0, half), budget);
    await askPage(work.slice(half), budget);
  }

  async function askAlone(one: Work, budget: Budget): Promise<void> {
    if (budget.calls-- <= 0) return fail([one], { kind: 'garbage', cause: 'too many pages or refusals' });
    const timeoutMs = Math.min(timeouts.singleMs, budget.timeoutMs);
    const answer = await post('/v1/query', queryOf(one), timeoutMs);
    if (answer.kind === 'refused') {
      one.answer = { kind: 'refused' };
      return;
    }
    const entry = answer.kind === 'answer' ? parseAs(BatchEntry, answer.text) : null;
    settle([one], answer, entry && [entry]);
  }

  async function fetchRecord(id: string): Promise<RecordAnswer> {
    const url = `${baseUrl}/v1/vulns/${encodeURIComponent(id)}`;
    const answer = await callUpstream({ ...shared, url, timeoutMs: timeouts.singleMs });
    switch (answer.kind) {
      case 'answer': {
        const record = parseAs(OsvRecord, answer.text);
        if (record?.id === id) return { kind: 'record', record, text: answer.text };
        return { kind: 'garbage', cause: 'not a record of that id' };
      }
      case 'refused':
        return { kind: 'garbage', cause: 'refused' };
      case 'absent':
      case 'unreachable':
      case 'garbage':
        return answer;
    }
  }

  return {
    query,
    fetchRecord,
    async close() {
      closing.abort();
      await dispatcher.destroy();
    },
  };
}

/** Limits of one batch: calls, including paging and bisecting, and milliseconds per call. */
interface Budget {
  calls: number;
  readonly timeoutMs: number;
}

interface Work {
  readonly subject: Subject;
  readonly ids: Map<string, VulnerabilityId>;
  pageToken: string | null;
  pages: number;
  answer: SubjectAnswer | null;
}

function newWork(subject: Subject): Work {
  return { subject, ids: new Map(), pageToken: null, pages: 0, answer: null };
}

/** By name and ecosystem, never by purl: the API answers an unknown purl type as clean. */
function queryOf({ subject, pageToken }: Work): unknown {
  const { ecosystem, name, version } = subject;
  return { package: { ecosystem, name }, version, ...(pageToken === null ? {} : { page_token: pageToken }) };
}

function readBatch(answer: UpstreamAnswer, expected: number): BatchEntry[] | null {
  const batch = answer.kind === 'answer' ? parseAs(BatchAnswer, answer.text) : null;
  return batch?.results.length === expected ? batch.results : null;
}

function settle(work: readonly Work[], answer: UpstreamAnswer, entries: readonly BatchEntry[] | null): void {
  if (answer.kind === 'unreachable') {
    fail(work, answer);
  } else if (entries === null) {
    fail(work, { kind: 'garbage', cause: 'not a valid API response' });
  } else {
    for (const [index, one] of work.entries()) takePage(one, entries[index] ?? {});
  }
}

/** A token without `vulns` means that the server ran out of time, not that the package is clean. */
function takePage(one: Work, { vulns = [], next_page_token: token = '' }: BatchEntry): void {
  one.pages += 1;
  for (const { id, modified } of vulns) one.ids.set(id, { id, modified });
  if (token === '') {
    one.answer = { kind: 'hits', ids: [...one.ids.values()] };
  } else if (one.pages >= PAGES_MAX) {
    fail([one], { kind: 'garbage', cause: 'too many pages' });
  } else {
    one.pageToken = token;
  }
}

function fail(work: readonly Work[], fault: { kind: 'unreachable' | 'garbage'; cause: string }): void {
  for (const one of work) one.answer = { kind: fault.kind, ids: [...one.ids.values()], cause: fault.cause };
}

function pause(signal: AbortSignal): (ms: number) => Promise<void> {
  return (ms) => wait(ms, undefined, { signal }).catch(() => undefined);
}
