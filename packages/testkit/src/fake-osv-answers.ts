import { FIRST_PAGE_TOKEN, isKnownEcosystem, type OsvQuery, type OsvRecords } from './fake-osv-records.ts';
import { isObject } from './json-shape.ts';

/** Most queries in one batch. */
export const BATCH_LIMIT = 1_000;
const PAGE_TOKEN_PREFIX = 'page:';

export type Answer = { status: number; body: unknown };
export type AnswerOptions = { pageSize: number; firstPageTimesOut: boolean };

/** POST /v1/query: full records, one page of them. */
export function answerQuery(records: OsvRecords, body: unknown, options: AnswerOptions): Answer {
  const query = readQuery(body);
  return typeof query === 'string' ? refusal(query) : { status: 200, body: page(records, query, options) };
}

/** POST /v1/querybatch: ids and times in the order of the queries; one bad query fails all of them. */
export function answerBatch(records: OsvRecords, body: unknown, options: AnswerOptions): Answer {
  const queries = isObject(body) && Array.isArray(body.queries) ? body.queries : null;
  if (queries === null) return refusal('invalid JSON: queries is not a list');
  if (queries.length > BATCH_LIMIT) return refusal('too many queries');
  const results: unknown[] = [];
  for (const [index, one] of queries.entries()) {
    const query = readQuery(one);
    if (typeof query === 'string') return refusal(`error in query at index ${index}: ${query}`);
    const { vulns, ...rest } = page(records, query, options);
    results.push(vulns ? { vulns: vulns.map(({ id, modified }) => ({ id, modified })), ...rest } : rest);
  }
  return { status: 200, body: { results } };
}

/** GET /v1/vulns/{id}: the full record, withdrawn or not; ids are case-sensitive. */
export function answerRecord(records: OsvRecords, id: string): Answer {
  const record = records.find(id);
  return record === undefined
    ? { status: 404, body: { code: 5, message: 'Bug not found.' } }
    : { status: 200, body: record };
}

/** A refusal in the form of the API's gateway (3 = INVALID_ARGUMENT). */
export function refusal(message: string): Answer {
  return { status: 400, body: { code: 3, message } };
}

type Page = { vulns?: ReturnType<OsvRecords['match']>; next_page_token?: string };

/** `{}` when clean: without `vulns`, and without a token when there is no further page. */
function page(records: OsvRecords, query: OsvQuery, { pageSize, firstPageTimesOut }: AnswerOptions): Page {
  if (firstPageTimesOut && query.offset < 0) return { next_page_token: FIRST_PAGE_TOKEN };
  const start = Math.max(0, query.offset);
  const hits = records.match(query);
  const vulns = hits.slice(start, start + pageSize);
  const end = start + pageSize;
  return {
    ...(vulns.length > 0 ? { vulns } : {}),
    ...(end < hits.length ? { next_page_token: btoa(PAGE_TOKEN_PREFIX + end) } : {}),
  };
}

/** The query, or what is wrong with it. An offset of -1 is a query without a page token. */
function readQuery(query: unknown): OsvQuery | string {
  if (!isObject(query)) return 'Invalid query.';
  const { package: target, version = null, page_token: token = '' } = query;
  if (typeof token !== 'string') return 'Invalid page token.';
  const offset = readOffset(token);
  if (offset === null) return 'Invalid page token.';
  if (version !== null && typeof version !== 'string') return 'Invalid version.';
  if (!isObject(target)) return 'Invalid query.';
  // A purl of a type that the API does not know is answered as clean; ours knows none (a trap: never query by purl).
  if (typeof target.purl === 'string') return { ecosystem: '', name: '', version, offset };
  if (typeof target.name !== 'string' || target.name === '') return 'Invalid query: no package name.';
  if (typeof target.ecosystem !== 'string' || target.ecosystem === '') return 'Ecosystem not specified.';
  if (!isKnownEcosystem(target.ecosystem)) return 'Invalid ecosystem.';
  return { ecosystem: target.ecosystem, name: target.name, version, offset };
}

function readOffset(token: string): number | null {
  if (token === '') return -1;
  if (token === FIRST_PAGE_TOKEN) return 0;
  const text = Buffer.from(token, 'base64').toString();
  return /^page:\d{1,9}$/.test(text) ? Number(text.slice(PAGE_TOKEN_PREFIX.length)) : null;
}
