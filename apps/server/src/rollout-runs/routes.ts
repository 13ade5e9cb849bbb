import {
  RingApproval,
  RingRollback,
  RingRollbackAnswer,
  RolloutDetail,
  RolloutHost,
  RolloutHostFilter,
  RolloutItem,
  RolloutReason,
  RolloutState,
} from '@tidegate/protocol/rollouts-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { countRollouts, findRollout, listRollouts, type RolloutRow } from '../rollouts/store.ts';
import { type Act, approveRing, cancelRollout, expediteRollout, resumeRollout } from './change-rollout.ts';
import { haltRollout } from './halt-rollout.ts';
import { rollBackRing } from './roll-back-ring.ts';
import { hostView, type RingedRollout, rolloutDetail, rolloutItem, withRings } from './rollout-view.ts';
import { countHosts, listHosts } from './watch-store.ts';

const URL = '/api/v1/rollouts';
const tags = ['rollouts'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** Halting and cancelling only take away: neither waits for a factor, and a monitoring system may halt. */
const stop: OperatorAccess = {
  role: 'approver',
  limit: 'admin_operations',
  reach: 'fleet',
  scope: 'approve',
};
/** Lets more hosts install. */
const release: OperatorAccess = {
  ...{ role: 'approver', limit: 'admin_operations', reach: 'fleet', stepUp: true, scope: null },
};

/** What is undone is approved like any other update. */
const undo: OperatorAccess = { role: 'approver', limit: 'approvals', reach: 'fleet' };

/** Rollouts: waves of versions through the rings of a policy. */
export function mountRollouts(routes: Routes, platform: Platform): void {
  const { database } = platform;
  const db = database.read;

  async function ringedOf(id: string): Promise<RingedRollout> {
    const rollout = await findRollout(db, id);
    const [ringed] = rollout ? await withRings(db, [rollout]) : [];
    if (!ringed) throw noSuch('rollout');
    return ringed;
  }

  /** Acts in one transaction, and answers with what the rollout is then. */
  async function act(
    id: string,
    by: string,
    what: (tx: Tx, given: Pick<Act, 'rollout' | 'policyName' | 'by'>) => Promise<RolloutRow | null>,
  ): Promise<RolloutDetail> {
    const { rollout, policy } = await ringedOf(id);
    const done = await database.transact((tx) => what(tx, { rollout, policyName: policy.name, by }));
    const after = await ringedOf(id);
    if (!done) throw new Refusal('conflict', { detail: conflictOf(after.rollout) });
    return rolloutDetail(db, after, platform.now());
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Rollouts of policies with rings, newest first, with those that have ended',
      tags,
      querystring: strict({
        ...PageQuery,
        policy: Type.Optional(Uuid),
        state: Type.Optional(RolloutState),
      }),
      response: { 200: pageOf(RolloutItem) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const filter = { policyId: query.policy, state: query.state };
      const rows = await listRollouts(db, { ...filter, limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items: RolloutItem[] = [];
      for (const ringed of await withRings(db, page))
        items.push(await rolloutItem(db, ringed, platform.now()));
      return { items, next_cursor, total: await countRollouts(db, filter) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One rollout: each ring with its outcomes and its gate, and what it waits for',
      tags,
      params: IdPath,
      response: { 200: RolloutDetail },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => rolloutDetail(db, await ringedOf(params.id), platform.now()),
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id/hosts`, access: read },
    schema: {
      summary: 'Hosts of a rollout with their outcomes',
      tags,
      params: IdPath,
      querystring: strict({ ...PageQuery, ...RolloutHostFilter }),
      response: { 200: pageOf(RolloutHost) },
      refuses: ['not_found'],
    },
    handler: async ({ params, query }) => {
      const { limit, after } = askedPage(query);
      const { rollout } = await ringedOf(params.id);
      const ring = query.ring === undefined ? undefined : Number(query.ring);
      const filter = { rolloutId: rollout.id, ring, outcome: query.outcome };
      const rows = await listHosts(db, { ...filter, limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ agent_id: id }) => id });
      return { items: page.map(hostView), next_cursor, total: await countHosts(db, filter) };
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/halt`, access: stop },
    schema: {
      summary:
        'Halt a rollout at once: nothing more is approved, and what no host has taken yet is withdrawn',
      tags,
      params: IdPath,
      body: RolloutReason,
      response: { 200: RolloutDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: ({ operator, params, body }) =>
      act(params.id, operator.username, (tx, given) =>
        haltRollout(tx, platform, { ...given, reason: body.reason }),
      ),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/cancel`, access: stop },
    schema: {
      summary: 'Cancel a rollout: its versions are left to people, and newer ones need not wait for it',
      tags,
      params: IdPath,
      body: RolloutReason,
      response: { 200: RolloutDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: ({ operator, params, body }) =>
      act(params.id, operator.username, (tx, given) =>
        cancelRollout(tx, platform, { ...given, reason: body.reason }),
      ),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/resume`, access: release },
    schema: {
      summary: 'Let a halted rollout go on; the hosts that have failed do not count any more',
      tags,
      params: IdPath,
      body: RolloutReason,
      response: { 200: RolloutDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: ({ operator, params, body }) =>
      act(params.id, operator.username, (tx, given) =>
        resumeRollout(tx, platform, { ...given, reason: body.reason }),
      ),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/emergency`, access: release },
    schema: {
      summary: 'Skip the soak of the rings from now on; no ring and nothing of the gate is skipped',
      tags,
      params: IdPath,
      body: RolloutReason,
      response: { 200: RolloutDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: ({ operator, params, body }) =>
      act(params.id, operator.username, (tx, given) =>
        expediteRollout(tx, platform, { ...given, reason: body.reason }),
      ),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/approve`, access: release },
    schema: {
      summary:
        'Approve the gate of the ring that was entered last; its other conditions still have to be met',
      tags,
      params: IdPath,
      body: RingApproval,
      response: { 200: RolloutDetail },
      refuses: ['conflict', 'not_found'],
    },
    handler: ({ operator, params, body }) =>
      act(params.id, operator.username, (tx, given) =>
        approveRing(tx, platform, { ...given, ring: body.ring }),
      ),
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/:id/rollback`, access: undo },
    schema: {
      summary: 'Undo what a rollout that stands still or has ended has installed on the hosts of a ring',
      description:
        'Each installation becomes an update of its own, judged and approved like any other: a vulnerable old version needs an override.',
      tags,
      params: IdPath,
      body: RingRollback,
      response: { 200: RingRollbackAnswer },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: { username }, params, body }) => {
      const { ring, reason, dry_run: dryRun = false, after = null } = body;
      const { rollout, rings } = await ringedOf(params.id);
      if (reason === undefined && !dryRun)
        throw new Refusal('invalid_request', { detail: 'A rollback needs a reason.' });
      if (ring >= rings.length)
        throw new Refusal('invalid_request', {
          detail: `The rollout has ${rings.length} rings, counted from 0.`,
        });
      const by = { operator: username, actor: username };
      const answer = await rollBackRing(platform, {
        rollout,
        ring,
        reason: reason ?? '',
        dryRun,
        after,
        ...by,
      });
      if (!answer) throw new Refusal('conflict', { detail: 'The rollout is running: halt it first.' });
      return answer;
    },
  });
}

/** Why an act does not fit what a rollout is now. */
function conflictOf({ state, ring }: RolloutRow): string {
  return state === 'running'
    ? `The rollout is running, and ring ${ring} was entered last.`
    : `The rollout is ${state}.`;
}
