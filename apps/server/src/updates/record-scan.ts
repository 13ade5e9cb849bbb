import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { UpdateState } from '@tidegate/protocol/states';
import { type Change, changeOf } from '@tidegate/versions/change';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { inTurns } from '../platform/turns.ts';
import { beyondKept, closeBeyond, mayOffer, OPEN_MAX, openOf } from './kept-updates.ts';
import { offerBits, RECOMMENDED_ALWAYS, RECOMMENDED_HERE, rescanned } from './offer-rules.ts';
import { UNKNOWN_FIX } from './queue-rules.ts';
import {
  closedByScan,
  createScanFacts,
  hasPlaces,
  type InstalledVersion,
  offerKey,
  rowKey,
  type ScanClosure,
  type ScanFacts,
} from './scan-rules.ts';
import {
  closedUpdatesOf,
  insertHistory,
  insertUpdates,
  type KnownUpdate,
  openAnswersOf,
  openUpdatesOf,
  refreshUpdate,
  type UpdateRow,
} from './store.ts';
import { storePlan } from './store-plan.ts';
import { CLOSED_STATES, SCAN_CLOSES, stepsToSeenInstalled } from './transition-rules.ts';
import { transitionUpdate } from './transition-update.ts';

/** Rows between two turns of the event loop: up to ten milliseconds, as long as versions may be. */
const ROWS_A_TURN = 250;

export interface ScannedUpdate {
  update_id: string;
  name: string;
  available_version: string;
  arch?: string;
  alternative?: true;
}

export interface ScanOutcome {
  /** Every open update of the agent and ecosystem. */
  updates: ScannedUpdate[];
  /** Approved updates that the scan closed: the caller ends their approvals. */
  closed: ClosedUpdate[];
  /** Stored updates that were read: the caller charges the host for them. */
  read: number;
}

/** An update that a scan closed, and how. */
export interface ClosedUpdate {
  readonly id: string;
  readonly kind: ScanClosure['kind'];
}

export interface ScanReport {
  readonly scanned_at: string;
  readonly complete: boolean;
  /** All packages of the report, or what finds those of the updates that the scan concerns, page by page. */
  readonly packages:
    | readonly InstalledVersion[]
    | ((names: readonly string[]) => AsyncIterable<readonly InstalledVersion[]>);
  readonly updates: readonly ScannedOffer[];
}

/** An update from a report, with the digest of its plan if it is known already. */
export type ScannedOffer = InventoryUpdate & { planSha256?: string };

/** A scan being recorded: its findings, and the updates of the host. */
export interface Scan {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  readonly scannedAtMs: number;
  readonly complete: boolean;
  readonly facts: ScanFacts;
  readonly known: KnownUpdates;
  /** OPEN_MAX unless a test says otherwise. */
  readonly openMax: number;
}

/** The open updates of the host, and for each other version on offer the one closed last. */
export type KnownUpdates = Map<string, KnownUpdate>;

/**
 * Records the findings of a scan: new updates are pending, newer versions supersede older ones, and versions
 * seen installed by a complete scan are installed out of band. A rescan never moves a row back; a closed
 * version that is offered again gets a new row. Plans must have passed `planFaults`. The caller holds the
 * agent's lock.
 */
export async function recordScan(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  {
    agentId,
    ecosystem,
    report,
    openMax = OPEN_MAX,
  }: { agentId: string; ecosystem: Ecosystem; report: ScanReport; openMax?: number | undefined },
): Promise<ScanOutcome> {
  const { complete, updates, packages } = report;
  const { known, open, read } = await readKnown(tx, { agentId, ecosystem, updates });
  const names = new Set([...known.values(), ...updates].map(({ name }) => name));
  const installed =
    typeof packages === 'function' ? packages([...names]) : [packages.filter(({ name }) => names.has(name))];
  const facts = await readFacts({ ecosystem, complete, updates, packages: installed });
  const scan = {
    ...{ agentId, ecosystem, complete, facts, known, openMax },
    scannedAtMs: Date.parse(report.scanned_at),
  };
  const fresh = await offerUpdates(tx, platform, { scan, updates });
  for (const [key, row] of fresh) known.set(key, row);
  const closing = await closedAmong([...known.values()], facts);
  const closed = await closeUpdates(tx, platform, { scan, rows: closing });
  const beyond = beyondKept(scan, { updates, closing });
  await closeBeyond(tx, platform, beyond);
  const isAsRead = fresh.size === 0 && closing.length === 0 && beyond.length === 0;
  return {
    updates: isAsRead ? answersOf(ecosystem, open) : await openUpdates(tx, { agentId, ecosystem }),
    closed,
    read,
  };
}

/** Takes a report page by page. A version may take microseconds to compare, and a host have hundreds of thousands of them. */
export async function readFacts({
  updates,
  packages,
  ...of
}: {
  ecosystem: string;
  complete: boolean;
  updates: readonly InventoryUpdate[];
  packages: AsyncIterable<readonly InstalledVersion[]> | Iterable<readonly InstalledVersion[]>;
}): Promise<ScanFacts> {
  const facts = createScanFacts(of);
  await inTurns(updates, { size: ROWS_A_TURN, work: facts.addUpdates });
  for await (const page of packages) await inTurns(page, { size: ROWS_A_TURN, work: facts.addPackages });
  return facts;
}

/** Reads the updates of the host that a scan with these offers concerns; `open`: in the order of answers; `read`: how many. */
export async function readKnown(
  db: Db,
  {
    updates,
    ...of
  }: {
    agentId: string;
    ecosystem: Ecosystem;
    updates: readonly Pick<InventoryUpdate, 'name' | 'arch' | 'available_version'>[];
  },
): Promise<{ known: KnownUpdates; open: readonly KnownUpdate[]; read: number }> {
  const known: KnownUpdates = new Map();
  const add = (rows: readonly KnownUpdate[]) => {
    for (const row of rows) known.set(rowKey(row), row);
  };
  const ended = await closedUpdatesOf(db, { ...of, offers: updates });
  const open = await openUpdatesOf(db, of);
  for (const rows of [ended, open]) await inTurns(rows, { size: ROWS_A_TURN, work: add });
  return { known, open, read: ended.length + open.length };
}

/**
 * Records offers of a scan; the caller adds the new rows to `known` once the transaction has committed. An incomplete scan closes
 * nothing, so that it adds nothing beyond what is kept.
 */
export async function offerUpdates(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { scan, updates }: { scan: Scan; updates: readonly ScannedOffer[] },
): Promise<Map<string, UpdateRow>> {
  const fresh = new Map<string, UpdateRow>();
  let planned: { updateId: string; update: ScannedOffer }[] = [];
  const room = scan.complete ? Infinity : scan.openMax - openOf(scan.known).length;
  for (const update of updates) {
    const key = offerKey(update);
    const latest = fresh.get(key) ?? scan.known.get(key);
    const present = latest && isOfferedAgain(latest, scan) ? undefined : latest;
    if (present) {
      const isClosed = CLOSED_STATES.some((state) => state === present.state);
      if (!isClosed) await refresh(tx, platform, { row: present, update });
      planned.push({ updateId: present.id, update });
      continue;
    }
    if (fresh.size >= room) continue;
    // What a person has taken back stays with people when the host offers it again.
    const takenBack = latest?.taken_back ?? 0;
    const row = { ...newRow(platform, { ...scan, update }), taken_back: takenBack };
    fresh.set(key, row);
    planned.push({ updateId: row.id, update });
  }
  if (!(await mayOffer(tx, platform, { agentId: scan.agentId, rows: [...fresh.values()] }))) {
    const dropped = new Set([...fresh.values()].map(({ id }) => id));
    planned = planned.filter(({ updateId }) => !dropped.has(updateId));
    fresh.clear();
  }
  const rows = [...fresh.values()];
  await insertUpdates(tx, rows);
  await insertHistory(
    tx,
    rows.map((row) => ({
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
    if (!update.plan) continue;
    const { plan, planSha256 } = update;
    await storePlan(tx, platform, { ...scan, plan, planSha256, sets: [[updateId]] });
  }
  return fresh;
}

/** The updates that a scan closes. A host may have tens of thousands, with versions that take microseconds to compare. */
export async function closedAmong(rows: readonly KnownUpdate[], facts: ScanFacts): Promise<KnownUpdate[]> {
  const closed: KnownUpdate[] = [];
  await inTurns(rows, {
    size: ROWS_A_TURN,
    work: (some) => void closed.push(...some.filter((row) => closedByScan(row, facts) !== null)),
  });
  return closed;
}

/** Closes the updates that a scan closes; returns the approved ones, whose approvals the caller ends. */
export async function closeUpdates(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { scan: { facts }, rows }: { scan: Pick<Scan, 'facts'>; rows: readonly KnownUpdate[] },
): Promise<ClosedUpdate[]> {
  const closed: ClosedUpdate[] = [];
  for (const row of rows) {
    const kind = await close(tx, platform, { row, facts });
    if (kind !== null && row.state === 'approved') closed.push({ id: row.id, kind });
  }
  return closed;
}

/**
 * The answer to a report, the open updates that changed after it was taken, which the same report again may close, and how many
 * were read.
 */
export async function openSince(
  db: Db,
  { sinceMs, ...of }: { agentId: string; ecosystem: Ecosystem; sinceMs: number },
): Promise<{ updates: ScannedUpdate[]; changed: KnownUpdate[]; read: number }> {
  const open = await openAnswersOf(db, of);
  const isChanged = ({ state, updated_at: at }: Pick<KnownUpdate, 'state' | 'updated_at'>) =>
    at > sinceMs && SCAN_CLOSES.some((closes) => closes === state);
  const changed = open.some(isChanged) ? (await openUpdatesOf(db, of)).filter(isChanged) : [];
  return { updates: answersOf(of.ecosystem, open), changed, read: open.length };
}

/** The answer to a report: the ids for which the agent sends plans by itself, which it never does for a rollback. */
export async function openUpdates(
  db: Db,
  of: { agentId: string; ecosystem: Ecosystem },
): Promise<ScannedUpdate[]> {
  return answersOf(of.ecosystem, await openAnswersOf(db, of));
}

function answersOf(
  ecosystem: Ecosystem,
  open: readonly Pick<
    KnownUpdate,
    'id' | 'name' | 'arch' | 'available_version' | 'recommended' | 'rollback_of'
  >[],
): ScannedUpdate[] {
  const offered = open.filter(({ rollback_of: undone }) => undone === null);
  return offered.map((row) => ({
    update_id: row.id,
    name: row.name,
    available_version: row.available_version,
    // The place of an npm or PyPI package: each has its own update.
    ...(row.arch !== '' && hasPlaces(ecosystem) && { arch: row.arch }),
    ...((row.recommended & RECOMMENDED_HERE) === 0 && { alternative: true as const }),
  }));
}

/**
 * Whether a closed version is offered again, so that it gets a new row: by a complete scan that began after
 * the close, and that would not close it again immediately.
 */
function isOfferedAgain(
  row: KnownUpdate,
  { complete, scannedAtMs, facts }: Pick<Scan, 'complete' | 'scannedAtMs' | 'facts'>,
): boolean {
  return (
    CLOSED_STATES.some((state) => state === row.state) &&
    complete &&
    scannedAtMs > row.updated_at &&
    closedByScan({ ...row, state: 'pending' }, facts) === null
  );
}

/** A pending update, not stored yet. */
export function newRow(
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, ecosystem, update }: { agentId: string; ecosystem: string; update: InventoryUpdate },
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
    ...{ offers: reportedOffers(ecosystem, update), change: changeOfUpdate(ecosystem, update) },
    recommended: RECOMMENDED_ALWAYS,
    state: 'pending',
    state_reason: null,
    out_of_band: 0,
    plan_id: null,
    approval_id: null,
    not_before: null,
    ...{ taken_back: 0, rollback_of: null },
    verdict: null,
    severity: null,
    known_exploited: null,
    epss: null,
    queue_rank: null,
    ...{ introduces: null, stays: null, fixes: null, stopped_under: null },
    ...{ fixes_severity: null, fixes_exploited: null, fix_rank: UNKNOWN_FIX },
    judged_at: null,
    discovered_at: nowMs,
    updated_at: nowMs,
  };
}

/** One that does not say is the newest. */
function reportedOffers(ecosystem: string, { offers = ['newest'] }: InventoryUpdate): number {
  return hasPlaces(ecosystem) ? offerBits(offers) : 0;
}

function changeOfUpdate(ecosystem: string, update: InventoryUpdate): Change | null {
  return changeOf(ecosystem, { from: update.current_version, to: update.available_version });
}

async function refresh(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { row, update }: { row: KnownUpdate; update: InventoryUpdate },
): Promise<void> {
  const facts = {
    current_version: update.current_version,
    origin: update.origin ?? null,
    security: update.security ? 1 : 0,
    size_bytes: update.size_bytes ?? null,
    offers: rescanned(row.offers, reportedOffers(row.ecosystem, update)),
    change: changeOfUpdate(row.ecosystem, update),
  };
  const same =
    row.current_version === facts.current_version &&
    row.origin === facts.origin &&
    row.security === facts.security &&
    row.size_bytes === facts.size_bytes &&
    row.offers === facts.offers &&
    row.change === facts.change;
  if (!same) await refreshUpdate(tx, row.id, { ...facts, updated_at: platform.now() });
}

async function close(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { row, facts }: { row: KnownUpdate; facts: ScanFacts },
): Promise<ScanClosure['kind'] | null> {
  const from = SCAN_CLOSES.find((state) => state === row.state);
  const closure = closedByScan(row, facts);
  if (!from || !closure) return null;
  const move = { updateId: row.id, actor: 'scan' };
  if (closure.kind === 'superseded') {
    const superseded = { ...move, from: [from], to: 'superseded' as const, reason: closure.reason };
    return (await transitionUpdate(tx, platform, superseded)) ? 'superseded' : null;
  }
  // The agent has begun it, and its result never came or is still to come.
  const isBegun = from === 'installing';
  let state: UpdateState = from;
  for (const to of stepsToSeenInstalled(from)) {
    const set = to === 'installed' && !isBegun ? { out_of_band: 1 } : {};
    await transitionUpdate(tx, platform, {
      ...move,
      from: [state],
      to,
      reason: isBegun ? 'seen_installed' : 'installed_out_of_band',
      set,
    });
    state = to;
  }
  return 'installed';
}
