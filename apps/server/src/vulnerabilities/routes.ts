import { Ecosystem, nullable, strict, VulnerabilityId } from '@tidegate/protocol/scalars';
import {
  AFFECTED_STATES,
  AffectedHost,
  VULNERABILITY_SORT_DEFAULT,
  VulnerabilityCoverage,
  VulnerabilityDetail,
  VulnerabilityFilter,
  VulnerabilityItem,
  VulnerabilitySort,
} from '@tidegate/protocol/vulnerabilities-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { kevListView } from '../advisories/exploited/kev-list.ts';
import { readKevDates, readKevList } from '../advisories/exploited/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { askedPage, encodeCursor, PageQuery, pageLimit } from '../platform/http/lists.ts';
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
import { coverageOf } from '../unfixed/list-store.ts';
import { readPass } from '../unfixed/pass-store.ts';
import { type HostsDeps, listAffectedHosts } from './list-hosts.ts';
import {
  countVulnerabilities,
  distributionsOf,
  findVulnerability,
  listVulnerabilities,
  readUnjudged,
  vulnerabilityOrder,
  vulnerabilityPosition,
} from './list-store.ts';
import { coveredBy, namesOf, vulnerabilityItem } from './vulnerability-view.ts';

const URL = '/api/v1/vulnerabilities';
const tags = ['vulnerabilities'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const NamePath = strict({ id: VulnerabilityId });

/** Known vulnerabilities of what hosts have installed, each with its hosts and what fixes it. */
export function mountVulnerabilities(
  routes: Routes,
  { platform, config }: { platform: Platform; config: HostsDeps['config'] },
): void {
  const db = platform.database.read;
  const kevList = () => readKevList(db, platform.now());
  const demand = async (name: string, scope: GroupScope) => {
    const row = await findVulnerability(db, { name, scope });
    if (!row) throw noSuch('vulnerability');
    return row;
  };

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Known vulnerabilities of what is installed, the most urgent first',
      tags,
      querystring: strict({
        ...SortedPageQuery,
        sort: Type.Optional(VulnerabilitySort),
        ...VulnerabilityFilter,
      }),
      response: { 200: sortedPageOf(VulnerabilityItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = VULNERABILITY_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const order = vulnerabilityOrder(sort);
      const of = { sort, filter, key: order.parts };
      const kev = await kevList();
      const selection = { scope: operator.groups, kev, ...filter };
      const asked = { selection, order, limit: limit + 1, after: positionOf(cursor, of) };
      const { page, next_cursor } = pageOfRows(await listVulnerabilities(db, asked), {
        ...{ limit, of },
        positionOf: (row) => vulnerabilityPosition(sort, row),
      });
      const total = totalOf(await countVulnerabilities(db, selection));
      const seen = await distributionsOf(db, operator.groups);
      return { items: page.map((row) => vulnerabilityItem(row, { seen, kev })), next_cursor, ...total };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/coverage`, access: read },
    schema: {
      summary: 'What the list of vulnerabilities rests on, and what nobody could judge',
      tags,
      response: { 200: VulnerabilityCoverage },
    },
    handler: async ({ operator }) => {
      const { endedAtMs } = await readPass(db);
      const { hosts, unknown } = await coverageOf(db, operator.groups);
      const unjudged = operator.groups === null ? await readUnjudged(db) : [];
      const not_judged = unjudged.map((row) => ({
        ...row,
        ecosystem: Value.Parse(Ecosystem, row.ecosystem),
      }));
      return {
        at: endedAtMs === null ? null : rfc3339(endedAtMs),
        hosts,
        unknown_hosts: unknown,
        exploited_list: kevListView(await kevList()),
        not_judged,
      };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One vulnerability, by its id or an alias',
      tags,
      params: NamePath,
      response: { 200: VulnerabilityDetail },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const row = await demand(params.id, operator.groups);
      const { endedAtMs } = await readPass(db);
      const { unknown } = await coverageOf(db, operator.groups);
      const dates = await readKevDates(db, row.id);
      const kev = await kevList();
      return {
        ...vulnerabilityItem(row, { seen: await distributionsOf(db, operator.groups), kev }),
        covers: coveredBy(row),
        exploited_list: kevListView(kev),
        ...{ exploited_since: dates?.addedOn ?? null, fix_due_on: dates?.dueOn ?? null },
        ...{ counted_at: endedAtMs === null ? null : rfc3339(endedAtMs), unknown_hosts: unknown },
      };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id/hosts`, access: read },
    schema: {
      summary: 'The hosts that have a vulnerability now, or had it, with what fixes it',
      description: 'A page may have fewer hosts than asked for, or none, and still a cursor.',
      tags,
      params: NamePath,
      querystring: strict({
        ...PageQuery,
        state: Type.Optional(
          Type.Enum(AFFECTED_STATES, { description: 'without it: every host that has it now' }),
        ),
      }),
      response: { 200: strict({ items: Type.Array(AffectedHost), next_cursor: nullable(Type.String()) }) },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, query }) => {
      const row = await demand(params.id, operator.groups);
      const { id } = row;
      const names = namesOf(row);
      const { limit, after } = askedPage(query);
      const of = { id, names, state: query.state, scope: operator.groups };
      const { items, last } = await listAffectedHosts(
        { platform, config },
        { ...of, after: after ?? '', limit },
      );
      return { items, next_cursor: last === null ? null : encodeCursor([last]) };
    },
  });
}
