import {
  POLICY_HOSTS_SHOWN,
  POLICY_UPDATES_SHOWN,
  type PolicyPreview,
  type PolicyRequest,
  type PolicyScope,
  type PolicyTerms,
} from '@tidegate/protocol/policies-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { hostsInScope, withTags } from '../agents/host-scope.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { WAIT_MS } from '../approvals/deps.ts';
import { CHUNK_UPDATES, type Decided, judgeGroups } from '../approvals/judge-groups.ts';
import { storedOnly } from '../approvals/load-facts.ts';
import { DRAFT_POLICY, requestInForce } from '../approvals/standing.ts';
import { withPolicyInForce } from '../approvals/vulnerability-policy.ts';
import { createFreezes } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { ringsAsked, windowTimes } from '../policies/policy-view.ts';
import { lastOpening, nextWindows, openBesides, windowOf } from '../policies/policy-windows.ts';
import type { Windowed } from '../policies/window-actions.ts';
import { groupUpdates, judgedGroups } from '../updates/many-store.ts';
import {
  hostsOf,
  hostsThatWait,
  type ReachedHost,
  type WaitingUpdate,
  waitingUpdates,
} from './candidates-store.ts';
import { leftOut } from './match-rules.ts';
import { missedHosts } from './missed-store.ts';
import { previewRings } from './preview-rings.ts';

const PAGE_HOSTS = 200;
/** Updates that a preview judges; what the terms leave out is counted for all. */
export const PREVIEW_JUDGED_MAX = 2_000;
/** Longest wait of a preview for packages that no update brings by itself, in milliseconds. */
const SETS_WAIT_MS = 3_000;

type Draft = Windowed & Pick<PolicyRequest, 'scope' | 'terms' | 'rings' | 'unproven'>;

/**
 * What a policy with this scope and these terms would do now, by the same gate on stored data; writes nothing. A draft
 * is judged as if every ring had been entered: it has no rollouts yet.
 */
export async function previewPolicy(
  opened: ApprovalDeps,
  asked: Draft & { policy_id?: string },
): Promise<PolicyPreview> {
  const { scope, terms, rings, policy_id: policyId = DRAFT_POLICY.policyId } = asked;
  const deps = await withPolicyInForce(opened);
  const { platform } = deps;
  const db = platform.database.read;
  const { count, hosts: shown } = await hostsOf(db, { scope, limit: POLICY_HOSTS_SHOWN });
  const { hosts, matching, reasons } = await readWaiting(deps, { scope, terms });
  const sum = createSum(hosts, reasons);
  const judged = matching.slice(0, PREVIEW_JUDGED_MAX);
  const rows = new Map(matching.map((update) => [update.id, update]));
  const policy = {
    ...DRAFT_POLICY,
    policyId,
    terms,
    rings: asked.policy_id === undefined ? null : ringsAsked(asked),
  };
  const asker = {
    ...{ operator: '', actor: 'policy', via: 'policy', scope: null, until: null, policy: null },
    requestOf: (loaded, facts) =>
      requestInForce(db, policy, { by: 'policy', loaded, facts, atMs: platform.now() }),
  } as const satisfies Parameters<typeof judgeGroups>[1]['asker'];
  const untilMs = platform.now() + Math.min(deps.waitMs ?? WAIT_MS, SETS_WAIT_MS);
  const ids = judged.map(({ id }) => id);
  for (const groups of judgedGroups(await groupUpdates(db, ids), CHUNK_UPDATES)) {
    const { decided, blocks, skipped } = await judgeGroups(deps, {
      ...{ groups, asker, untilMs },
      waited: storedOnly(deps),
    });
    const stopped = [...blocks, ...decided.flatMap((one) => (one.kind === 'split' ? one.blocks : []))];
    for (const { loaded, verdict } of stopped) sum.leave(rows.get(loaded.update.id), verdict.stop.reason);
    for (const { update_id: id, code } of skipped) sum.leave(rows.get(id), code);
    for (const one of decided) sum.approve(one, rows);
  }
  for (const update of matching.slice(PREVIEW_JUDGED_MAX)) sum.leave(update, 'not_judged_here');
  const window = windowOf(asked, 'install', platform.now());
  return {
    open_window: window.kind === 'open' ? windowTimes(window.occurrence) : null,
    open_besides: openBesides(asked, platform.now()).map(windowTimes),
    next_windows: nextWindows(asked, platform.now()).map(windowTimes),
    hosts: count,
    hosts_shown: shown.map(({ id, hostname }) => ({ agent_id: id, hostname })),
    ...sum.result(),
    ...(rings && { rings: await previewRings(db, { policyId, scope, rings }) }),
    ...(await missedIn(db, asked, platform.now())),
  };
}

/** Of a policy that has been published: the hosts that missed its last window. */
async function missedIn(
  db: Db,
  asked: Windowed & { policy_id?: string },
  nowMs: number,
): Promise<Pick<PolicyPreview, 'missed'>> {
  const opening = asked.policy_id === undefined ? null : lastOpening(asked, nowMs);
  if (asked.policy_id === undefined || opening === null) return {};
  const missed = { policyId: asked.policy_id, opening, limit: POLICY_HOSTS_SHOWN };
  const { count, hosts } = await missedHosts(db, missed);
  if (count === 0) return {};
  const window = windowOf(asked, 'install', nowMs);
  const isCaughtUp = window.kind === 'catch_up' && window.occurrence.startMs === opening.startMs;
  const until = isCaughtUp ? rfc3339(window.until.notAfterMs) : null;
  return {
    missed: { window: windowTimes(opening), catch_up_until: until, hosts: count, hosts_shown: hosts },
  };
}

/** The waiting updates that the terms match before any verdict, and how many they leave out. */
async function readWaiting(
  { platform }: ApprovalDeps,
  policy: { scope: PolicyScope; terms: PolicyTerms },
): Promise<{ hosts: Map<string, ReachedHost>; matching: WaitingUpdate[]; reasons: Map<string, number> }> {
  const db = platform.database.read;
  const blackouts = await liveBlackouts(db, platform.now());
  const freezes = createFreezes(blackouts, platform.now());
  const scopes = [policy, ...blackouts].map(({ scope }) => scope);
  const isReached = hostsInScope(policy.scope);
  const reasons = new Map<string, number>();
  const hosts = new Map<string, ReachedHost>();
  const matching: WaitingUpdate[] = [];
  let after = '';
  for (;;) {
    const page = await withTags(db, await hostsThatWait(db, { after, limit: PAGE_HOSTS }), scopes);
    const last = page.at(-1);
    if (!last) return { hosts, matching, reasons };
    after = last.id;
    const reached = page.filter(isReached);
    for (const host of reached) hosts.set(host.id, host);
    const frozen = new Set(reached.flatMap((host) => (freezes.of(host) ? host.id : [])));
    const ids = reached.map(({ id }) => id);
    for await (const some of waitingUpdates(db, ids)) {
      for (const update of some) {
        const subject = { ...update, ecosystem: Value.Parse(Ecosystem, update.ecosystem) };
        const reason =
          leftOut({ ...policy, sha256: DRAFT_POLICY.sha256 }, subject) ??
          (frozen.has(update.agent_id) ? 'blackout' : null);
        if (reason === null) matching.push(update);
        else reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
      await takeTurn();
    }
  }
}

function createSum(hosts: ReadonlyMap<string, ReachedHost>, reasons: Map<string, number>) {
  const updates: PolicyPreview['updates'] = [];
  let [approves, unplanned] = [0, 0];

  function show(update: WaitingUpdate, reason: string | null): void {
    if (updates.length >= POLICY_UPDATES_SHOWN) return;
    const { id, agent_id, ecosystem, name, available_version } = update;
    updates.push({
      ...{ update_id: id, agent_id, hostname: hosts.get(agent_id)?.hostname ?? '', reason },
      ...{ ecosystem: Value.Parse(Ecosystem, ecosystem), name, to_version: available_version },
    });
  }

  return {
    approve(one: Decided, rows: ReadonlyMap<string, WaitingUpdate>): void {
      const ids = one.kind === 'mint' ? one.loaded.updates : one.sets.flat();
      if (one.kind === 'mint') approves += ids.length;
      else unplanned += ids.length;
      for (const { id } of ids) {
        const update = rows.get(id);
        if (update) show(update, null);
      }
    },
    leave(update: WaitingUpdate | undefined, reason: string): void {
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      if (update) show(update, reason);
    },
    result: () => ({
      ...{ approves, unplanned, updates },
      leaves: reasons.values().reduce((sum, count) => sum + count, 0),
      reasons: [...reasons]
        .map(([reason, count]) => ({ reason, count }))
        .toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
    }),
  };
}
