import { nullable, strict } from '@tidegate/protocol/scalars';
import {
  MitigationBody,
  UNFIXED_SORT_DEFAULT,
  UnfixedCoverage,
  UnfixedFilter,
  UnfixedHost,
  UnfixedItem,
  UnfixedName,
  UnfixedSort,
} from '@tidegate/protocol/unfixed-api';
import { Type } from 'typebox';
import { type KevList, kevListView } from '../advisories/exploited/kev-list.ts';
import { readKevList } from '../advisories/exploited/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { askedPage, encodeCursor, PageQuery, pageLimit } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { type HostsDeps, listUnfixedHosts } from './list-hosts.ts';
import {
  countUnfixed,
  coverageOf,
  findByName,
  findUnfixed,
  listUnfixed,
  unfixedOrder,
  unfixedPosition,
} from './list-store.ts';
import { noteMitigation } from './note-mitigation.ts';
import { readPass } from './pass-store.ts';
import { unfixedItems } from './unfixed-view.ts';
import type { UnfixedRow } from './write-store.ts';

const URL = '/api/v1/unfixed';
const tags = ['unfixed'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
/** A note that lets nothing pass: no factor is asked for. All operators see it, so it is one for the whole fleet. */
const note: OperatorAccess = {
  ...{ role: 'approver', limit: 'admin_operations', reach: 'fleet', scope: 'approve' },
};

/** Known vulnerabilities of what is installed that no pending update fixes. */
export function mountUnfixed(
  routes: Routes,
  { platform, config }: { platform: Platform; config: HostsDeps['config'] },
): void {
  const { database } = platform;
  const kevList = () => readKevList(database.read, platform.now());
  const itemsOf = (rows: readonly UnfixedRow[], of: { scope: GroupScope; kev: KevList }) =>
    unfixedItems(database.read, rows, { ...of, nowMs: platform.now() });

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Known vulnerabilities of what is installed that no pending update is judged to fix',
      tags,
      querystring: strict({ ...SortedPageQuery, sort: Type.Optional(UnfixedSort), ...UnfixedFilter }),
      response: { 200: sortedPageOf(UnfixedItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = UNFIXED_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const order = unfixedOrder(sort);
      const of = { sort, filter, key: order.parts };
      const seen = { scope: operator.groups, kev: await kevList() };
      const selection = { ...seen, ...filter };
      const asked = { selection, order, limit: limit + 1, after: positionOf(cursor, of) };
      const { page, next_cursor } = pageOfRows(await listUnfixed(database.read, asked), {
        ...{ limit, of },
        positionOf: (row) => unfixedPosition(sort, row),
      });
      const items = await itemsOf(page, seen);
      return { items, next_cursor, ...totalOf(await countUnfixed(database.read, selection)) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/coverage`, access: read },
    schema: {
      summary:
        'What the list of vulnerabilities without a fix rests on, and of how many hosts it does not know all',
      tags,
      response: { 200: UnfixedCoverage },
    },
    handler: async ({ operator }) => {
      const { endedAtMs, leftOut } = await readPass(database.read);
      const { hosts, unknown } = await coverageOf(database.read, operator.groups);
      const at = endedAtMs === null ? null : rfc3339(endedAtMs);
      const exploited_list = kevListView(await kevList());
      return { at, hosts, unknown_hosts: unknown, left_out: leftOut, exploited_list };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/hosts`, access: read },
    schema: {
      summary: 'The hosts that have such a vulnerability without a pending fix now',
      description: 'A page may have fewer hosts than asked for, or none, and still a cursor.',
      tags,
      querystring: strict({ ...PageQuery, ...UnfixedName }),
      response: { 200: strict({ items: Type.Array(UnfixedHost), next_cursor: nullable(Type.String()) }) },
    },
    handler: async ({ operator, query }) => {
      const { limit, after } = askedPage(query);
      const { distribution, package: name, vulnerability } = query;
      const row = await findByName(database.read, { distribution, name, vulnerability });
      if (!row) return { items: [], next_cursor: null };
      const asked = { row, scope: operator.groups, after: after ?? '', limit };
      const { items, last } = await listUnfixedHosts({ platform, config }, asked);
      return { items, next_cursor: last === null ? null : encodeCursor([last]) };
    },
  });

  routes.operator({
    ...{ method: 'PUT', url: `${URL}/:id/mitigation`, access: note },
    schema: {
      summary: 'Note the hook that mitigates a vulnerability, or take the note back',
      description:
        'A note for people. Nothing runs, and nothing is approved or counted otherwise because of it.',
      tags,
      params: IdPath,
      body: MitigationBody,
      response: { 200: UnfixedItem },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params: { id }, body: { mitigation } }) => {
      const noted = { id, mitigation, actor: operator.username };
      const isThere = await database.transact((tx) => noteMitigation(tx, platform, noted));
      const row = isThere ? await findUnfixed(database.read, id) : null;
      const [item] = row ? await itemsOf([row], { scope: operator.groups, kev: await kevList() }) : [];
      if (!item) throw noSuch('vulnerability');
      return item;
    },
  });
}
