import {
  KnownSince,
  PackageChange,
  PackageChangeFilter,
  PackageDifference,
  PackageHistoryFilter,
  PackageThen,
} from '@tidegate/protocol/package-history-api';
import { strict, Timestamp } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { findAgent } from '../agents/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { KeyPart, Position } from '../platform/db/keyset.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { badCursor, pageLimit } from '../platform/http/lists.ts';
import { HostPath } from '../platform/http/paths.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { causesOf, REPORTED_WITHIN_MS } from './causes.ts';
import { changesByReport, netChanges, type PackageOf } from './change-rules.ts';
import { differenceItem, knownItems, packageItem } from './history-view.ts';
import { isMeant, pageAfter } from './page-of-found.ts';
import { inventoryAt, isKnown, knownChanges, knownSince } from './read-history.ts';

/** A cursor contains a name, a folder and a version of any length and characters that a report allows. */
const CURSOR_MAX_CHARS = 8_192;
const NAMES: readonly KeyPart[] = [{ type: 'string' }, { type: 'string' }, { type: 'string' }];

const access: OperatorAccess = {
  role: 'viewer',
  limit: 'admin_reads',
  reach: { of: 'agent', by: 'agent_id' },
};
const Page = {
  ...SortedPageQuery,
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: CURSOR_MAX_CHARS })),
};
const Known = Type.Array(KnownSince, {
  description: 'of each ecosystem that the host reports, from when on its changes are all kept',
});

/** What has changed on a host, and what it had installed, for operators. */
export function mountPackageHistory(
  routes: Routes,
  { platform }: { platform: Pick<Platform, 'database' | 'now'> },
): void {
  const db = platform.database.read;
  const demandHost = async (agentId: string) => {
    if (!(await findAgent(db, agentId))) throw noSuch('agent');
  };

  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/inventory/changes',
    access,
    schema: {
      summary: 'Packages that a host installed, changed or removed, the newest first',
      description:
        'As its reports say, with the command that brought each change where one did. Changes are kept for 180 days, and the newest 5,000 of a host.',
      tags: ['hosts'],
      params: HostPath,
      querystring: strict({ ...Page, ...PackageChangeFilter }),
      response: {
        200: Type.Object({ ...sortedPageOf(PackageChange).properties, ecosystems: Known }),
      },
    },
    handler: async ({ params: { agent_id: agentId }, query }) => {
      await demandHost(agentId);
      const { limit: _, cursor, ...filter } = query;
      const limit = pageLimit(query);
      const of = { sort: 'changes', filter, key: [] };
      const after = numberIn(positionOf(cursor, of));
      const { kind, cause, since, until } = filter;
      const sinceMs = since === undefined ? 0 : Date.parse(since);
      const known = await knownSince(db, agentId);
      const span = {
        ...{ agentId, afterMs: sinceMs - REPORTED_WITHIN_MS - 1 },
        untilMs: until === undefined ? platform.now() : Date.parse(until) - 1,
      };
      const all = changesByReport(await knownChanges(db, span, known));
      let found = all.filter(
        (one) =>
          one.changedAtMs >= sinceMs && isMeant(one, filter) && (kind === undefined || one.kind === kind),
      );
      const narrowed = cause === undefined ? null : await causesOf(db, { agentId, changes: found, all });
      if (narrowed) found = found.filter(({ position }) => narrowed.get(position)?.cause === cause);
      const rest = found.filter(({ position }) => position < after);
      const { page, next_cursor } = pageOfRows(rest, {
        ...{ limit, of, positionOf: ({ position }) => ({ key: [], id: String(position) }) },
      });
      const causes = narrowed ?? (await causesOf(db, { agentId, changes: page, all }));
      return {
        items: page.map((one) => ({
          ...differenceItem(one),
          reported_at: rfc3339(one.changedAtMs),
          ...(causes.get(one.position) ?? { cause: 'unknown' as const, command: null }),
        })),
        next_cursor,
        ...totalOf(found.length),
        ecosystems: knownItems(known, sinceMs),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/inventory/at',
    access,
    schema: {
      summary: 'Packages that a host had installed at a time, by name; now, unless a time is given',
      description:
        'Without those of ecosystems of which it is not known: `ecosystems` says which, and from when on it is.',
      tags: ['hosts'],
      params: HostPath,
      querystring: strict({ ...Page, at: Type.Optional(Timestamp), ...PackageHistoryFilter }),
      response: { 200: Type.Object({ ...sortedPageOf(PackageThen).properties, ecosystems: Known }) },
      refuses: ['unavailable'],
    },
    handler: async ({ params: { agent_id: agentId }, query }) => {
      await demandHost(agentId);
      const { limit: _, cursor, ...filter } = query;
      const nowMs = platform.now();
      const atMs = filter.at === undefined ? nowMs : pastTime('at', filter.at, nowMs);
      const of = { sort: 'name', filter, key: NAMES };
      const after = positionOf(cursor, of);
      const meant = (one: PackageOf) => isMeant(one, filter);
      const then = await inventoryAt(db, { agentId, atMs, nowMs, isMeant: meant });
      if (then === null) {
        throw new Refusal('unavailable', { detail: 'The host reports just now.', retryAfterSeconds: 5 });
      }
      const { page, next_cursor } = await pageAfter(then.packages, {
        ...{ limit: pageLimit(query), of, after },
        positionOf: ({ name, ecosystem, arch, version }) => ({ key: [name, ecosystem, arch], id: version }),
      });
      return {
        items: page.map(packageItem),
        next_cursor,
        ...totalOf(then.packages.length),
        ecosystems: knownItems(then.since, atMs),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/inventory/difference',
    access,
    schema: {
      summary: 'Packages of a host that differ between two times, by name',
      description:
        'Without those of ecosystems of which the first time is not known: `ecosystems` says which, and from when on it is.',
      tags: ['hosts'],
      params: HostPath,
      querystring: strict({
        ...{ ...Page, from: Timestamp, to: Type.Optional(Timestamp) },
        ...PackageHistoryFilter,
      }),
      response: {
        200: Type.Object({ ...sortedPageOf(PackageDifference).properties, ecosystems: Known }),
      },
    },
    handler: async ({ params: { agent_id: agentId }, query }) => {
      await demandHost(agentId);
      const { limit: _, cursor, ...filter } = query;
      const nowMs = platform.now();
      const fromMs = pastTime('from', filter.from, nowMs);
      const toMs = filter.to === undefined ? nowMs : pastTime('to', filter.to, nowMs);
      if (fromMs > toMs) throw badTime('from', 'must not be later than to');
      const of = { sort: 'name', filter, key: NAMES };
      const after = positionOf(cursor, of);
      const known = await knownSince(db, agentId);
      const changes = await knownChanges(db, { agentId, afterMs: fromMs, untilMs: toMs }, known);
      const whole = changes.filter(({ ecosystem }) => isKnown(known.get(ecosystem), fromMs));
      const found = netChanges(whole).filter((one) => isMeant(one, filter));
      const { page, next_cursor } = await pageAfter(found, {
        ...{ limit: pageLimit(query), of, after },
        positionOf: ({ name, ecosystem, arch, position }) => ({
          ...{ key: [name, ecosystem, arch], id: String(position).padStart(10, '0') },
        }),
      });
      return {
        items: page.map(differenceItem),
        next_cursor,
        ...totalOf(found.length),
        ecosystems: knownItems(known, fromMs),
      };
    },
  });
}

function pastTime(name: string, text: string, nowMs: number): number {
  const ms = Date.parse(text);
  if (ms > nowMs) throw badTime(name, 'must not be later than now');
  return ms;
}

function badTime(name: string, message: string): Refusal {
  return notValid([{ path: `querystring/${name}`, message }], 'querystring');
}

/** The position of the last change of the page before. */
function numberIn(after: Position | null): number {
  if (after === null) return Number.POSITIVE_INFINITY;
  if (/^\d{1,15}$/.test(after.id)) return Number(after.id);
  throw badCursor('is not a cursor that this list gave');
}
