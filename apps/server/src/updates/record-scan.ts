import type { InventoryReport, InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { UpdateState } from '@tidegate/protocol/states';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { closureByScan, packageKey, type ScanFacts, scanFacts } from './scan-rules.ts';
import { insertHistory, insertUpdates, refreshUpdate, type UpdateRow, updatesOf } from './store.ts';
import { storePlan } from './store-plan.ts';
import { CLOSED_STATES, SCAN_CLOSES, stepsToSeenInstalled } from './transition-rules.ts';
import { transitionUpdate } from './transition-update.ts';

export interface ScannedUpdate {
  update_id: string;
  name: string;
  available_version: string;
  arch?: string;
}

export interface ScanOutcome {
  /** Every update of the agent and ecosystem that is not over. */
  updates: ScannedUpdate[];
  /** Updates that were approved and that the scan closed: their commands and tokens are to be withdrawn. */
  withdrawn: string[];
}

export interface Scan {
  agentId: string;
  ecosystem: Ecosystem;
  report: Pick<InventoryReport, 'scanned_at' | 'complete' | 'packages' | 'updates'>;
}

/**
 * Records what a scan found: new updates are pending, a newer version supersedes an older one, and what a complete
 * scan sees installed is installed out of band. A rescan never moves a row back; a version that is over and is offered
 * again gets a row of its own. The plans in the report must have
 * passed `planFaults`. The caller holds the lock of the agent.
 */
export async function recordScan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, ecosystem, report }: Scan,
): Promise<ScanOutcome> {
  const known = newestRows(await updatesOf(tx, { agentId, ecosystem }));
  const fresh: UpdateRow[] = [];
  const planned: { updateId: string; update: InventoryUpdate }[] = [];
  const facts = scanFacts({ ecosystem, ...report });
  for (const update of report.updates) {
    const key = offerKey(update);
    const latest = known.get(key);
    const present = latest && isOfferedAgain(latest, { report, facts }) ? undefined : latest;
    const row = present ?? newRow(platform, { agentId, ecosystem, update });
    if (!present) {
      known.set(key, row);
      fresh.push(row);
    } else if (!CLOSED_STATES.some((state) => state === present.state)) {
      await refresh(tx, platform, { row: present, update });
    }
    planned.push({ updateId: row.id, update });
  }
  await insertUpdates(tx, fresh);
  await insertHistory(
    tx,
    fresh.map((row) => ({
      id: platform.newId(),
      update_id: row.id,
      at: row.discovered_at,
      from_state: null,
      to_state: 'pending',
      reason: null,
      actor: 'scan',
    })),
  );
  for (const { updateId, update } of planned) {
    if (update.plan) await storePlan(tx, platform, { updateId, plan: update.plan });
  }
  const withdrawn: string[] = [];
  for (const row of known.values()) {
    if ((await close(tx, platform, { row, facts })) && row.state === 'approved') withdrawn.push(row.id);
  }
  return { updates: await openUpdates(tx, { agentId, ecosystem }), withdrawn };
}

/** The answer to a report: the ids that the agent sends plans for. */
export async function openUpdates(
  db: Db,
  of: { agentId: string; ecosystem: Ecosystem },
): Promise<ScannedUpdate[]> {
  const open = (await updatesOf(db, of)).filter((row) => !CLOSED_STATES.some((state) => state === row.state));
  return open.map((row) => ({
    update_id: row.id,
    name: row.name,
    available_version: row.available_version,
    // The place of an npm or PyPI package: each has an update of its own.
    ...(row.arch !== '' && hasPlaces(of.ecosystem) && { arch: row.arch }),
  }));
}

function hasPlaces(ecosystem: Ecosystem): boolean {
  return ecosystem === 'npm' || ecosystem === 'pypi';
}

/** For each version the row that is open, or the one that was closed last. */
function newestRows(rows: readonly UpdateRow[]): Map<string, UpdateRow> {
  const newest = new Map<string, UpdateRow>();
  for (const row of rows.toSorted((a, b) => a.id.localeCompare(b.id))) newest.set(rowKey(row), row);
  return newest;
}

/**
 * Whether a version that is over is offered anew, so that it gets a row of its own: by a complete scan that began
 * after it was over, and that would not close it at once again.
 */
function isOfferedAgain(
  row: UpdateRow,
  { report, facts }: { report: Scan['report']; facts: ScanFacts },
): boolean {
  return (
    CLOSED_STATES.some((state) => state === row.state) &&
    report.complete &&
    Date.parse(report.scanned_at) > row.updated_at &&
    closureByScan({ ...row, state: 'pending' }, facts) === null
  );
}

function offerKey(update: InventoryUpdate): string {
  return `${packageKey(update)}\n${update.available_version}`;
}

function rowKey(row: UpdateRow): string {
  return `${packageKey(row)}\n${row.available_version}`;
}

function newRow(
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, ecosystem, update }: { agentId: string; ecosystem: Ecosystem; update: InventoryUpdate },
): UpdateRow {
  const nowMs = platform.now();
  return {
    id: platform.newId(),
    agent_id: agentId,
    ecosystem,
    name: update.name,
    arch: update.arch ?? '',
    current_version: update.current_version,
    available_version: update.available_version,
    origin: update.origin ?? null,
    security: update.security ? 1 : 0,
    size_bytes: update.size_bytes ?? null,
    state: 'pending',
    state_reason: null,
    out_of_band: 0,
    plan_id: null,
    approval_id: null,
    not_before: null,
    verdict: null,
    severity: null,
    known_exploited: null,
    epss: null,
    queue_rank: null,
    fixes: null,
    judged_at: null,
    discovered_at: nowMs,
    updated_at: nowMs,
  };
}

async function refresh(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { row, update }: { row: UpdateRow; update: InventoryUpdate },
): Promise<void> {
  const facts = {
    current_version: update.current_version,
    origin: update.origin ?? null,
    security: update.security ? 1 : 0,
    size_bytes: update.size_bytes ?? null,
  };
  const same =
    row.current_version === facts.current_version &&
    row.origin === facts.origin &&
    row.security === facts.security &&
    row.size_bytes === facts.size_bytes;
  if (!same) await refreshUpdate(tx, row.id, { ...facts, updated_at: platform.now() });
}

async function close(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { row, facts }: { row: UpdateRow; facts: ScanFacts },
): Promise<boolean> {
  const from = SCAN_CLOSES.find((state) => state === row.state);
  const closure = closureByScan(row, facts);
  if (!from || !closure) return false;
  const move = { updateId: row.id, actor: 'scan' };
  if (closure.kind === 'superseded') {
    return transitionUpdate(tx, platform, {
      ...move,
      from: [from],
      to: 'superseded',
      reason: closure.reason,
    });
  }
  let state: UpdateState = from;
  for (const to of stepsToSeenInstalled(from)) {
    const set = to === 'installed' ? { out_of_band: 1 } : {};
    await transitionUpdate(tx, platform, {
      ...move,
      from: [state],
      to,
      reason: 'installed_out_of_band',
      set,
    });
    state = to;
  }
  return true;
}
