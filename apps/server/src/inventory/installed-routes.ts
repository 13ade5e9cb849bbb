import {
  INSTALLED_SORT_DEFAULT,
  InstalledFilter,
  InstalledItem,
  InstalledSort,
  ReportItem,
} from '@tidegate/protocol/inventory-api';
import { Ecosystem, strict } from '@tidegate/protocol/scalars';
import { UpdateState, VulnerabilityVerdict } from '@tidegate/protocol/states';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { findAgent } from '../agents/store.ts';
import { findTimeliness, type Timeliness } from '../agents/timeliness-store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { pageLimit } from '../platform/http/lists.ts';
import { HostPath } from '../platform/http/paths.ts';
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
import {
  type InstalledRow,
  installedOrder,
  installedPosition,
  isOfferOf,
  listInstalled,
  listReports,
  type OfferRow,
  openOffers,
} from './installed-store.ts';
import { conditionOf, repairDigest } from './order-repair.ts';
import type { ReportRow } from './store.ts';

/** A cursor contains a name, a folder and a version of any length and characters that a report allows. */
const CURSOR_MAX_CHARS = 8_192;

/** Packages that are installed on a host, for operators. */
export function mountInstalled(routes: Routes, { platform }: { platform: Pick<Platform, 'database'> }): void {
  const db = platform.database.read;
  routes.operator({
    method: 'GET',
    url: '/api/v1/agents/:agent_id/inventory',
    access: { role: 'viewer', limit: 'admin_reads', reach: { of: 'agent', by: 'agent_id' } },
    schema: {
      summary: 'Packages that a host reported as installed, page by page',
      description:
        '`reports` are the reports behind the list, one per ecosystem; without one, none has arrived yet.',
      tags: ['hosts'],
      params: HostPath,
      querystring: strict({
        ...SortedPageQuery,
        cursor: Type.Optional(Type.String({ minLength: 1, maxLength: CURSOR_MAX_CHARS })),
        sort: Type.Optional(InstalledSort),
        ...InstalledFilter,
      }),
      response: {
        200: Type.Object({
          ...sortedPageOf(InstalledItem).properties,
          reports: Type.Array(ReportItem, { description: 'sorted by ecosystem' }),
        }),
      },
    },
    handler: async ({ params: { agent_id: agentId }, query }) => {
      if (!isAgentId(agentId) || !(await findAgent(db, agentId))) {
        throw noSuch('agent');
      }
      const { limit: _, cursor, sort = INSTALLED_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const order = installedOrder(sort);
      const of = { sort, filter, key: order.parts };
      const { update, ...named } = filter;
      const selection = {
        agentId,
        filter: { ...named, hasUpdate: update === undefined ? undefined : update === 'true' },
      };
      const list = { ...selection, order, after: positionOf(cursor, of), limit: limit + 1 };
      const { rows, count } = await listInstalled(db, list);
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: installedPosition });
      const timeliness = await findTimeliness(db, agentId);
      const offers = await openOffers(db, { agentId, names: page.map(({ name }) => name) });
      return {
        items: page.map((row) =>
          installedItem(
            row,
            offers.find((offer) => isOfferOf(offer, row)),
          ),
        ),
        next_cursor,
        ...totalOf(count),
        reports: (await listReports(db, agentId)).map((row) => reportItem(row, timeliness)),
      };
    },
  });
}

function installedItem(row: InstalledRow, offer: OfferRow | undefined): InstalledItem {
  return {
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    name: row.name,
    version: row.version,
    arch: row.arch === '' ? null : row.arch,
    source_name: row.source_name,
    source_version: row.source_version,
    origin: row.origin,
    held: row.held === 1,
    update: offer === undefined ? null : offerItem(offer),
  };
}

function offerItem({
  id,
  available_version,
  state,
  verdict,
  security,
}: OfferRow): NonNullable<InstalledItem['update']> {
  return {
    id,
    available_version,
    state: Value.Parse(UpdateState, state),
    verdict: verdict === null ? null : Value.Parse(VulnerabilityVerdict, verdict),
    security: security === 1,
  };
}

function reportItem(row: ReportRow, timeliness: Timeliness | null): ReportItem {
  const condition = conditionOf(row);
  const lists = timeliness?.lists.find(({ ecosystem }) => ecosystem === row.ecosystem);
  return {
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    scanned_at: rfc3339(row.scanned_at),
    received_at: rfc3339(row.received_at),
    complete: row.complete === 1,
    packages: row.package_count,
    lists_confirmed_at: timeliness && lists ? rfc3339(timeliness.receivedMs - lists.ageMs) : null,
    condition,
    repair_sha256: condition?.repair ? repairDigest(condition.repair) : null,
  };
}
