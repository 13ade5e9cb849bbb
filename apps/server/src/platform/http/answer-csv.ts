import { nullable } from '@tidegate/protocol/scalars';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { takeTurn } from '../turns.ts';
import { createTurnstile } from '../work-queue.ts';
import { createFileAnswers } from './answer-file.ts';
import { CSV_MEDIA_TYPE, CSV_ROWS_MAX, type CsvList, csvEnd, csvHeader, csvRows } from './csv-rules.ts';
import { PAGE_MAX } from './lists.ts';

const Listed = Type.Object({
  items: Type.Array(Type.Unknown()),
  next_cursor: Type.Optional(nullable(Type.String())),
});
const Asked = Type.Object({ limit: Type.Optional(Type.String()), cursor: Type.Optional(Type.String()) });

/** A list, and its answer as JSON to a query, which is checked like that of a request. */
type Answering = CsvList & { readonly page: (query: unknown) => Promise<unknown> };

export type AnswerCsv = (
  list: Answering,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

/**
 * Answers lists as CSV: the pages of the JSON, one after the other as the client takes them. One page of all open files
 * is read at a time. With `limit` it is that page alone.
 */
export function createCsvAnswers({ stopping }: { stopping: AbortSignal }): AnswerCsv {
  const answerFile = createFileAnswers({ stopping, what: 'CSV files' });
  const lane = createTurnstile(1);

  return (list, request, reply) => {
    const page = (query: unknown) =>
      lane.pass(async () => {
        await takeTurn();
        return Value.Parse(Listed, await list.page(query));
      });
    const name = request.routeOptions.url?.split('/').findLast((part) => !part.startsWith(':')) ?? 'list';
    return answerFile({
      ...{ request, reply, name: `${name}.csv`, type: `${CSV_MEDIA_TYPE}; charset=utf-8; header=present` },
      pieces: linesOf({ ...list, page, query: request.query }),
    });
  };
}

type Page = (query: unknown) => Promise<{ items: unknown[]; next_cursor?: string | null }>;

/** The file, a page at a time; its first part has the header and the first page. */
async function* linesOf(args: CsvList & { page: Page; query: unknown }): AsyncGenerator<string> {
  const { columns, isPaged, page, query } = args;
  const asked = isPaged && Value.Check(Asked, query) ? query : null;
  let rows = 0;
  let head = csvHeader(columns);
  for (let cursor = asked?.cursor; ; ) {
    const here = asked && { limit: String(PAGE_MAX), ...asked, ...(cursor === undefined ? {} : { cursor }) };
    const { items, next_cursor: next = null } = await page(here ?? query);
    yield head + csvRows(columns, items);
    head = '';
    rows += items.length;
    if (next === null) return;
    if (asked?.limit !== undefined || rows >= CSV_ROWS_MAX)
      return yield csvEnd(columns, { rows, cursor: next });
    cursor = next;
  }
}
