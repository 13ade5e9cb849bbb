import { BULK_MAX_UPDATES } from '@tidegate/protocol/approvals-api';
import { POLICIES_MAX, type PolicyScope } from '@tidegate/protocol/policies-api';
import { type ScopedHost, withTags } from '../agents/host-scope.ts';
import type { Asker } from '../approvals/asker.ts';
import { bulkApprove } from '../approvals/bulk-approve.ts';
import { NO_PROGRESS } from '../approvals/bulk-progress.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { requestInForce } from '../approvals/standing.ts';
import { createFreezes } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { findOperator } from '../operators/store.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { lostRight } from '../policies/author-rules.ts';
import { recordEndedPolicies, suspendPoliciesOf } from '../policies/end-policies.ts';
import { askingPolicy, payloadOf } from '../policies/policy-view.ts';
import { untilOf, windowOf } from '../policies/policy-windows.ts';
import { type PolicyRow, policiesInForce, recordRun, runsOf } from '../policies/store.ts';
import { askFollowUps } from './ask-follow-ups.ts';
import { hostsThatWait, type ReachedHost, type WaitingUpdate, waitingUpdates } from './candidates-store.ts';
import { type Asked, createMatcher } from './match-policies.ts';
import type { MatchedPolicy } from './match-rules.ts';
import { missedOf } from './missed-store.ts';
import { countStop, type Refused, type Stops, stopColumns } from './refused.ts';

/** Hosts whose updates are read together. */
const PAGE_HOSTS = 200;
/** Updates that one pass asks for; the next pass continues with what still waits. */
const PASS_UPDATES_MAX = 50_000;
/** A run that changed nothing is recorded again after this time, so that the page shows that policies run. */
export const RECORDED_AGAIN_MS = 10 * 60_000;

/** How far the passes over the fleet have come. */
export interface Turn {
  /** The host after which the next pass begins, so that those behind many that stay refused get their turn. */
  after: string;
  readonly updatesMax: number;
  readonly pageHosts: number;
}

export function createTurn({ updatesMax = PASS_UPDATES_MAX, pageHosts = PAGE_HOSTS } = {}): Turn {
  return { after: '', updatesMax, pageHosts };
}

/**
 * One pass over the fleet: every policy in force asks the ordinary path for approvals, as its author and with its terms.
 * What is refused is asked for again when its facts change, or after a time.
 */
export async function runPoliciesOnce(
  deps: ApprovalDeps,
  refused: Refused,
  isStopped: () => boolean = () => false,
  turn: Turn = createTurn(),
): Promise<void> {
  const { platform } = deps;
  await recordEndedPolicies(platform);
  const rows = await policiesInForce(platform.database.read, { nowMs: platform.now(), limit: POLICIES_MAX });
  const running: PolicyRow[] = [];
  const kept: PolicyRow[] = [];
  for (const row of rows) {
    const policy = payloadOf(row);
    // Those with rings ask by their rollouts.
    if (policy.rings) continue;
    if (!(await keepsAuthor(deps, row))) continue;
    kept.push(row);
    const isClosed = windowOf(policy, 'install', platform.now()).kind === 'closed';
    if (!isClosed) running.push(row);
  }
  await askAll(deps, { running, refused, isStopped, turn });
  // Windows for reboots and restarts may be others than those for installing.
  for (const row of kept) if (!isStopped()) await askFollowUps(platform, row);
}

async function askAll(
  deps: ApprovalDeps,
  given: { running: readonly PolicyRow[]; refused: Refused; isStopped: () => boolean; turn: Turn },
): Promise<void> {
  const { running, refused, isStopped, turn } = given;
  if (running.length === 0) return;
  const catchUp = createCatchUp(deps, running);
  const { asked, stops } = await collect(deps, {
    ...{ policies: running.map(matchedPolicy), refused, isStopped, turn },
    allowing: catchUp.allowing,
  });
  // Several policies may ask for one update: the first that gets it has it.
  const done = new Set<string>();
  for (const row of running) {
    if (isStopped()) return;
    const updates = (asked.get(row.sha256) ?? []).filter(({ id }) => !done.has(id));
    const isCatchUp = catchUp.has(row.sha256);
    for (const id of await runPolicy(deps, row, { updates, isCatchUp, refused, stops })) done.add(id);
  }
}

/** Suspends the policies of an author who lost the right in a way that no request has seen, such as by a restore. */
export async function keepsAuthor(
  { platform }: ApprovalDeps,
  { author_id: authorId }: PolicyRow,
): Promise<boolean> {
  const lost = lostRight(await findOperator(platform.database.read, authorId));
  if (!lost) return true;
  await platform.database.transact((tx) =>
    suspendPoliciesOf(tx, platform, { authorId, reason: lost, actor: 'server' }),
  );
  return false;
}

/** Whether a policy may ask for an update now. */
export type MayAsk = (policy: MatchedPolicy, update: WaitingUpdate) => boolean;

/**
 * While its windows are closed, a policy asks for nothing but what its hosts missed that are caught up. Returns for a page of hosts which
 * updates policies may ask for as far as their windows go.
 */
export function createCatchUp({ platform }: Pick<ApprovalDeps, 'platform'>, rows: readonly PolicyRow[]) {
  const openings = rows.flatMap((row) => {
    const window = windowOf(payloadOf(row), 'install', platform.now());
    return window.kind === 'catch_up' ? { row, opening: window.occurrence } : [];
  });

  async function allowing(hosts: readonly ReachedHost[]): Promise<MayAsk> {
    const agentIds = hosts.map(({ id }) => id);
    const missed = new Map<string, Set<string>>();
    for (const { row, opening } of openings) {
      const asked = { policyId: row.policy_id, opening, agentIds };
      missed.set(row.sha256, await missedOf(platform.database.read, asked));
    }
    return ({ sha256 }, { agent_id: id }) => missed.get(sha256)?.has(id) ?? true;
  }

  return { allowing, has: (sha256: string) => openings.some(({ row }) => row.sha256 === sha256) };
}

export function matchedPolicy(row: PolicyRow): MatchedPolicy {
  const { scope, terms } = payloadOf(row);
  return { sha256: row.sha256, scope, terms };
}

/** What policies ask for, and what they do not ask for again, by digest. */
export interface Collected {
  readonly asked: Asked;
  readonly stops: ReadonlyMap<string, Stops>;
}

/** What each policy asks for. All updates of a host are in one pass, so that they can be one transaction. */
export async function collect(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  given: {
    policies: readonly MatchedPolicy[];
    refused: Pick<Refused, 'reasonOf'>;
    isStopped: () => boolean;
    turn: Turn;
    /** Of rings: what the hosts are told apart by besides. */
    scopes?: readonly PolicyScope[];
    /** Of these hosts with what waits there: which updates a policy may ask for besides. */
    allowing?: (hosts: readonly (ReachedHost & ScopedHost)[]) => Promise<MayAsk>;
  },
): Promise<Collected> {
  const { policies, refused, isStopped, turn, allowing = allowAll, scopes: besides = [] } = given;
  const db: Db = platform.database.read;
  const match = createMatcher(policies);
  const asked: Asked = new Map();
  const stops = new Map(policies.map(({ sha256 }) => [sha256, new Map() as Stops]));
  const nowMs = platform.now();
  const blackouts = await liveBlackouts(db, nowMs);
  const freezes = createFreezes(blackouts, nowMs);
  const scopes = [...[...policies, ...blackouts].map(({ scope }) => scope), ...besides];
  for await (const page of pagesOfHosts(db, turn)) {
    if (isStopped()) break;
    const hosts = await withTags(db, page, scopes);
    const allows = await allowing(hosts);
    const mayAsk: MayAsk = (policy, update) => {
      if (!allows(policy, update)) return false;
      const reason = refused.reasonOf(policy.sha256, update, nowMs);
      const own = stops.get(policy.sha256);
      if (reason !== null && own) countStop(own, reason);
      return reason === null;
    };
    const open = new Map(hosts.filter((host) => !freezes.of(host)).map((host) => [host.id, host]));
    for await (const some of waitingUpdates(db, [...open.keys()])) {
      for (const [id, updates] of Map.groupBy(some, ({ agent_id: of }) => of)) {
        const host = open.get(id);
        if (host) match(host, { updates, mayAsk, asked });
      }
      await takeTurn();
    }
    const total = asked.values().reduce((sum, list) => sum + list.length, 0);
    if (total >= turn.updatesMax) break;
  }
  return { asked, stops };
}

/** The hosts that wait, once around from where the pass before ended; a pass that breaks off is continued by the next. */
async function* pagesOfHosts(db: Db, turn: Turn): AsyncGenerator<ReachedHost[]> {
  const begin = turn.after;
  for (let isAround = begin === ''; ; ) {
    const page = await hostsThatWait(db, { after: turn.after, limit: turn.pageHosts });
    const last = page.at(-1);
    const isOver = isAround && begin !== '' && (last === undefined || last.id > begin);
    const hosts = isOver ? page.filter(({ id }) => id <= begin) : page;
    turn.after = hosts.at(-1)?.id ?? '';
    if (hosts.length > 0) yield hosts;
    if (isOver || (last === undefined && isAround)) {
      turn.after = '';
      return;
    }
    isAround ||= last === undefined;
  }
}

const allowAll = async (): Promise<MayAsk> => () => true;

/** Returns the ids of the updates that it got. */
export async function runPolicy(
  deps: ApprovalDeps,
  row: PolicyRow,
  given: {
    updates: readonly WaitingUpdate[];
    /** They were chosen for a catch-up: all are of hosts that missed the window. */
    isCatchUp: boolean;
    refused: Refused;
    /** Of what is not asked for again, by policy. */
    stops: ReadonlyMap<string, Stops>;
  },
): Promise<string[]> {
  const { platform } = deps;
  const { updates, refused } = given;
  const done: string[] = [];
  const stops: Stops = new Map(given.stops.get(row.sha256));
  const sums = { approved: 0, awaiting_plan: 0 };
  const hosts = new Set(updates.map(({ agent_id: id }) => id));
  for (const some of requestsOf(updates)) {
    const request = { update_ids: some.map(({ id }) => id) };
    const outcome = await bulkApprove(deps, {
      request,
      asker: askerOf(deps, row, given),
      progress: NO_PROGRESS,
    });
    if (outcome.kind !== 'done') throw new Error(`a policy asked for what nobody can: ${outcome.kind}`);
    const { answer } = outcome;
    sums.approved += answer.approved.length;
    sums.awaiting_plan += answer.awaiting_plan.length;
    done.push(...answer.approved.map(({ update_id: id }) => id), ...answer.awaiting_plan);
    const stopped = new Map(answer.blocked.map(({ update_id: id, reason }) => [id, reason]));
    const nowMs = platform.now();
    for (const update of some) {
      const reason = stopped.get(update.id);
      if (reason === undefined) continue;
      refused.add(row.sha256, { update, reason, nowMs });
      countStop(stops, reason);
    }
  }
  const before = (await runsOf(platform.database.read, [row.policy_id])).get(row.policy_id);
  const stopped = stopColumns(stops);
  const isNews =
    updates.length > 0 ||
    before?.stopped_by !== stopped.stopped_by ||
    platform.now() - before.at >= RECORDED_AGAIN_MS;
  if (!isNews) return done;
  const run = { policy_id: row.policy_id, at: platform.now(), hosts: hosts.size, ...sums, ...stopped };
  await platform.database.transact((tx) => recordRun(tx, run));
  return done;
}

/** Requests that the bulk path takes, the updates of one host together. */
function requestsOf(updates: readonly WaitingUpdate[]): WaitingUpdate[][] {
  const byHost = [...Map.groupBy(updates, ({ agent_id: id }) => id).values()];
  const parts = weighedChunks(byHost, { weigh: (list) => list.length, most: BULK_MAX_UPDATES });
  return [...parts].flatMap((part) => {
    const all = part.flat();
    return all.length <= BULK_MAX_UPDATES ? [all] : [all.slice(0, BULK_MAX_UPDATES)];
  });
}

/** A policy asks as its author, whose right has just been looked at; minting looks whether the policy is in force. */
export function askerOf(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  row: PolicyRow,
  { isCatchUp }: { isCatchUp: boolean },
): Asker {
  const policy = askingPolicy(row);
  const window = windowOf(payloadOf(row), 'install', platform.now());
  // One that closes during a pass mints nothing more: what was chosen before its catch-up is of all hosts.
  const until = untilOf(window.kind === 'catch_up' && !isCatchUp ? { kind: 'closed' } : window);
  return {
    ...{ operator: row.author, actor: 'policy', via: 'policy', scope: null, until },
    policy: { policy_id: row.policy_id, sha256: row.sha256 },
    requestOf: (loaded, facts) =>
      requestInForce(platform.database.read, policy, {
        ...{ by: 'policy', loaded, facts, atMs: platform.now() },
      }),
  };
}
