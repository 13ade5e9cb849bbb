import {
  type BulkApproveRequest,
  type BulkPreview,
  PREVIEW_NAMES_MAX,
  PREVIEW_SETS_MAX,
  type TransactionPreview,
} from '@tidegate/protocol/approvals-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgents } from '../agents/store.ts';
import { groupUpdates, judgedGroups } from '../updates/many-store.ts';
import { hasPlaces } from '../updates/scan-rules.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { Asker } from './asker.ts';
import { type Named, namedUpdates } from './bulk-approve.ts';
import { type ApprovalDeps, WAIT_MS } from './deps.ts';
import { CHUNK_UPDATES, type Decided, type Judged, judgeGroups } from './judge-groups.ts';
import { storedOnly } from './load-facts.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

/** Longest wait of a request for packages that no update brings by itself, in milliseconds. */
const SETS_WAIT_MS = 3_000;

export type PreviewOutcome =
  | { readonly kind: 'preview'; readonly preview: BulkPreview }
  | Exclude<Named, { kind: 'ids' }>;

/** A transaction that the request would approve, or ask the host for. */
interface Transaction {
  readonly updates: readonly UpdateRow[];
  readonly actions: readonly PlanAction[] | null;
}

/**
 * What a bulk request would do now, by the same gate on stored data: it waits a moment for what only a joint transaction
 * brings, and mints and writes nothing.
 */
export async function previewMany(
  opened: ApprovalDeps,
  { request, asker }: { request: BulkApproveRequest; asker: Asker },
): Promise<PreviewOutcome> {
  const deps = await withPolicyInForce(opened);
  const named = await namedUpdates(deps, { request, scope: asker.scope });
  if (named.kind !== 'ids') return named;
  const db = deps.platform.database.read;
  const sum = createSum();
  const waited = storedOnly(deps);
  const untilMs = deps.platform.now() + Math.min(deps.waitMs ?? WAIT_MS, SETS_WAIT_MS);
  for (const groups of judgedGroups(await groupUpdates(db, named.ids), CHUNK_UPDATES)) {
    sum.add(await judgeGroups(deps, { groups, asker, waited, untilMs }));
  }
  const { largest, ...preview } = sum.result();
  const agents = await findAgents(
    db,
    largest.flatMap(({ updates: [first] }) => first?.agent_id ?? []),
  );
  const sets = largest.map((one) =>
    describe(one, agents.get(one.updates[0]?.agent_id ?? '')?.hostname ?? ''),
  );
  return { kind: 'preview', preview: { ...preview, sets } };
}

/** Adds up what is judged part by part: of ten thousand updates only the largest transactions stay in memory. */
function createSum() {
  const hosts = new Set<string>();
  let largest: Transaction[] = [];
  let [updates, transactions, unplanned, leftOut] = [0, 0, 0, 0];
  const left_out: BulkPreview['left_out'] = [];

  function leaveOut(update_id: string, code: string): void {
    leftOut += 1;
    if (left_out.length < PREVIEW_NAMES_MAX) left_out.push({ update_id, code });
  }

  function addTransaction(one: Transaction): void {
    transactions += 1;
    updates += one.updates.length;
    if (one.actions === null) unplanned += 1;
    for (const { agent_id: agentId } of one.updates) hosts.add(agentId);
    largest.push(one);
  }

  return {
    add({ decided, blocks, skipped }: Judged): void {
      for (const { update_id: id, code } of skipped) leaveOut(id, code);
      const stopped = [...blocks, ...decided.flatMap((one) => (one.kind === 'split' ? one.blocks : []))];
      for (const { loaded, verdict } of stopped) leaveOut(loaded.update.id, verdict.stop.by);
      for (const one of decided.flatMap(transactionsOf)) addTransaction(one);
      largest = largest.toSorted((a, b) => b.updates.length - a.updates.length).slice(0, PREVIEW_SETS_MAX);
    },
    result: () => ({
      ...{ updates, hosts: hosts.size, transactions, unplanned },
      ...{ left_out, left_out_count: leftOut, largest },
    }),
  };
}

function transactionsOf(one: Decided): Transaction[] {
  if (one.kind !== 'mint') return one.sets.map((updates) => ({ updates, actions: null }));
  const { updates, planned } = one.loaded;
  return [{ updates, actions: planned?.plan.actions ?? null }];
}

function describe({ updates, actions }: Transaction, hostname: string): TransactionPreview {
  const { agent_id = '', ecosystem, arch = '' } = updates[0] ?? {};
  return {
    ...{ agent_id, hostname, ecosystem: Value.Parse(Ecosystem, ecosystem) },
    place: ecosystem !== undefined && hasPlaces(ecosystem) && arch !== '' ? arch : null,
    update_ids: updates.map(({ id }) => id),
    plan: actions && planOf(actions),
  };
}

function planOf(actions: readonly PlanAction[]): NonNullable<TransactionPreview['plan']> {
  const namesOf = (kind: PlanAction['action']) =>
    actions.filter(({ action }) => action === kind).map(({ name }) => name);
  const kinds = ['remove', 'install', 'downgrade', 'upgrade'] as const;
  const [remove, install, downgrade, upgrade] = kinds.map(namesOf);
  const shown = (names: readonly string[] | undefined) => (names ?? []).slice(0, PREVIEW_NAMES_MAX);
  return {
    ...{ removes: shown(remove), installs: shown(install), downgrades: shown(downgrade) },
    counts: {
      ...{ remove: remove?.length ?? 0, install: install?.length ?? 0 },
      ...{ downgrade: downgrade?.length ?? 0, upgrade: upgrade?.length ?? 0 },
    },
    download_bytes: actions.reduce((sum, { artifact }) => sum + (artifact?.size_bytes ?? 0), 0),
  };
}
