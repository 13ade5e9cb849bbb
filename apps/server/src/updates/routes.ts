import { PlanAnswer, PlanReport } from '@tidegate/protocol/agent-api';
import { type HeldBack, NOTHING_HELD } from '@tidegate/protocol/holds-api';
import { wayBackOf } from '@tidegate/protocol/rollbacks';
import { Ecosystem, strict, Uuid } from '@tidegate/protocol/scalars';
import {
  PACKAGE_SORT_DEFAULT,
  PackageItem,
  PackageSort,
  PendingFilter,
  SIBLINGS_MAX,
  UPDATE_SORT_DEFAULT,
  UPDATED_HOST_SORT_DEFAULT,
  UpdateDetail,
  UpdatedHost,
  UpdatedHostSort,
  UpdateFilter,
  UpdateItem,
  UpdateSort,
} from '@tidegate/protocol/updates-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { REPORT_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { createLargeWork, demandRoomFor } from '../platform/http/large-work.ts';
import { pageLimit } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { withHeld } from './held-store.ts';
import { listUpdatedHosts, updatedHostOrder } from './host-store.ts';
import { listedUpdate, listUpdates } from './list-store.ts';
import { listPackages, packageOrder } from './package-store.ts';
import { siblingsOf } from './siblings-store.ts';
import { updateOrder, updatePosition } from './sort-store.ts';
import { readHistory, readPlan } from './store.ts';
import { takePlan } from './take-plan.ts';
import { historyView, packageItem, planView, siblingView, updatedHost, updateItem } from './update-view.ts';

export interface UpdatesDeps {
  platform: Platform;
  /** The gate's current verdict for an update (approvals). */
  gateOf: (updateId: string) => Promise<unknown>;
  /** What holds keep back of packages, by their places in the list; those without any are left out. */
  heldOfPackages: (of: {
    packages: readonly { ecosystem: Ecosystem; name: string }[];
    scope: GroupScope;
  }) => Promise<ReadonlyMap<number, HeldBack>>;
}

const listOf = <Sort extends Type.TSchema>(sort: Sort) =>
  strict({ ...SortedPageQuery, sort: Type.Optional(sort), ...UpdateFilter.properties });
const listing: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const one: OperatorAccess = { ...listing, reach: { of: 'update', by: 'id' } };
const tags = ['updates'];

/** Most faults of a plan in one answer. */
const PLAN_FAULTS_MAX = 20;
/** A larger plan is refused before it is read when its queue is full. */
const LARGE_PLAN_BYTES = 131_072;
const LARGE_PLANS = { what: 'large plans', running: 1, waiting: 8 };

/** Updates, packages with their updates, and the plans that agents send. */
export function mountUpdates(routes: Routes, { platform, gateOf, heldOfPackages }: UpdatesDeps): void {
  const { database, random } = platform;
  const large = createLargeWork({ ...LARGE_PLANS, random });

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates',
    access: listing,
    schema: {
      summary: 'Updates, sorted and filtered, page by page',
      tags,
      querystring: listOf(UpdateSort),
      response: { 200: sortedPageOf(UpdateItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = UPDATE_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const scope = operator.groups;
      const order = updateOrder(sort);
      const of = { sort, filter, key: order.parts };
      const list = {
        filter: await withHeld(platform, filter),
        scope,
        order,
        after: positionOf(cursor, of),
        limit: limit + 1,
      };
      const { rows, count } = await listUpdates(database.read, list);
      const position = (row: (typeof rows)[number]) => updatePosition(order, row);
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: position });
      return { items: page.map(updateItem), next_cursor, ...totalOf(count) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/by-host',
    access: listing,
    schema: {
      summary: 'Hosts with updates that wait for a decision, and what these fix',
      tags,
      querystring: strict({
        ...SortedPageQuery,
        sort: Type.Optional(UpdatedHostSort),
        ...PendingFilter.properties,
      }),
      response: { 200: sortedPageOf(UpdatedHost) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = UPDATED_HOST_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const order = updatedHostOrder(sort);
      const of = { sort, filter, key: order.parts };
      const list = {
        filter: await withHeld(platform, filter),
        scope: operator.groups,
        order,
        after: positionOf(cursor, of),
        limit: limit + 1,
      };
      const { rows, count } = await listUpdatedHosts(database.read, list);
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: ({ position }) => position });
      return { items: page.map(updatedHost), next_cursor, ...totalOf(count) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/updates/:id',
    access: one,
    schema: {
      summary: 'One update with its plan, its history and the verdict of the gate',
      tags,
      params: IdPath,
      response: { 200: UpdateDetail },
    },
    handler: async ({ operator, params }) => {
      const { id } = params;
      const row = await listedUpdate(database.read, { id, scope: operator.groups });
      if (!row) throw noSuch('update');
      const plan = row.plan_id === null ? null : await readPlan(database.read, row.plan_id);
      return {
        ...updateItem(row),
        plan: plan && planView(plan),
        way_back: plan && wayBackOf(plan.actions),
        listed_siblings: (await siblingsOf(database.read, row, SIBLINGS_MAX)).map(siblingView),
        history: (await readHistory(database.read, row.id)).map(historyView),
        gate: await gateOf(row.id),
      };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/packages',
    access: listing,
    schema: {
      summary: 'Updates of all hosts, grouped by package',
      tags,
      querystring: listOf(PackageSort),
      response: { 200: sortedPageOf(PackageItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = PACKAGE_SORT_DEFAULT, ...filter } = query;
      const limit = pageLimit(query);
      const scope = operator.groups;
      const order = packageOrder(sort);
      const of = { sort, filter, key: order.parts };
      const list = {
        filter: await withHeld(platform, filter),
        scope,
        order,
        after: positionOf(cursor, of),
        limit: limit + 1,
      };
      const { rows, count } = await listPackages(database.read, list);
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: ({ key }) => key });
      const packages = page.map(({ ecosystem, name }) => ({
        ecosystem: Value.Parse(Ecosystem, ecosystem),
        name,
      }));
      const held = await heldOfPackages({ packages, scope });
      const items = page.map((row, i) => packageItem(row, held.get(i) ?? NOTHING_HELD));
      return { items, next_cursor, ...totalOf(count) };
    },
  });

  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/plans',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: REPORT_MAX_BYTES,
    beforeBody: (caller) => demandRoomFor(large, caller, { plain: LARGE_PLAN_BYTES }),
    schema: {
      summary: 'A plan, as the agent resolved it, and the sets of updates that it brings',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: PlanReport,
      response: { 200: PlanAnswer },
      refuses: ['host_budget_spent'],
    },
    handler: async ({ agent: { agentId }, body: report }) => {
      const outcome = await takePlan({ platform, large }, { agentId, report });
      switch (outcome.kind) {
        case 'stored':
          return { plan_sha256: outcome.planSha256 };
        case 'not_found':
          throw noSuch('update');
        case 'unsound': {
          const errors = outcome.faults.slice(0, PLAN_FAULTS_MAX);
          throw notValid(errors, 'plan');
        }
      }
    },
  });
}
