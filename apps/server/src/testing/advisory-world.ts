import type { Ecosystem } from '@tidegate/protocol/scalars';
import { sql } from 'kysely';
import { onTestFinished } from 'vitest';
import { isUsable } from '../advisories/mirror/snapshot.ts';
import { readSnapshots } from '../advisories/mirror/store.ts';
import type { OsvClient } from '../advisories/osv-client.ts';
import { readChecks } from '../advisories/store.ts';
import { type Subject, subjectKey } from '../advisories/subjects.ts';
import { approveUpdate } from '../approvals/approve-update.ts';
import { operatorAsks } from '../approvals/asker.ts';
import { bulkApprove } from '../approvals/bulk-approve.ts';
import { NO_PROGRESS } from '../approvals/bulk-progress.ts';
import { previewUpdate } from '../approvals/preview-update.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { type Database, DatabaseFault, type Tx } from '../platform/db/engine.ts';
import { findUpdate } from '../updates/store.ts';
import { actionOf, createApprovalsApp } from './approvals-app.ts';
import type { TestEngine } from './engines.ts';

const ECOSYSTEMS = ['npm', 'pypi', 'apt'] as const;
const OSV = { npm: 'npm', pypi: 'PyPI', apt: 'Debian:12' } as const;
const VERSION = { npm: '1.0.0', pypi: '1.0.0', apt: '1.0.0-1' } as const;
/** Packages of a world: two of each ecosystem. */
export const PACKAGES = 6;
export const QUESTIONS = ['approve', 'bulk', 'preview', 'sweep'] as const;
type Question = (typeof QUESTIONS)[number];
type Answer = 'minted' | 'blocked' | 'pending' | 'other';

export interface WorldStart {
  /** Whether the API, and the export, knows a vulnerability of each package. */
  readonly inApi: readonly boolean[];
  readonly inExport: readonly boolean[];
  /** Whether each update comes with the other package of its ecosystem. */
  readonly isPair: readonly boolean[];
}

/** Whether the present transaction has written a row of `approvals`, on PostgreSQL. */
const IS_OWN_ROW = sql<boolean>`a.xmin = pg_current_xact_id()::xid`;

/** Both sources of advisories, the worker, the mirror and one host's approvals; checks every commit. */
export async function createAdvisoryWorld(engine: TestEngine, { queueMax }: { queueMax: number }) {
  const violations: string[] = [];
  const told = new Map<string, number>();
  const minted = new Set<string>();
  const faults = { next: false };
  const hold: { held: Promise<void> | null; letGo: () => void } = { held: null, letGo: () => {} };
  let watch: ((tx: Tx, toldBefore: ReadonlyMap<string, number>) => Promise<Seen>) | null = null;

  const it = await createApprovalsApp(engine, {
    settings: { advisorySource: 'mirror+api', gateEnforcement: 'off' },
    isExportApart: true,
    queueMax,
    wrapClient: (client): OsvClient => ({
      ...client,
      // The answer is fixed at the question, and may take long to arrive.
      async query(...question) {
        const answers = await client.query(...question);
        await hold.held;
        return answers;
      },
    }),
    wrap: (database): Database => ({
      ...database,
      async transact(work) {
        if (faults.next) {
          faults.next = false;
          throw new DatabaseFault('the disk is full');
        }
        const toldBefore = new Map(told);
        const seen: { last: Seen | null } = { last: null };
        const result = await database.transact(async (tx) => {
          const done = await work(tx);
          seen.last = (await watch?.(tx, toldBefore)) ?? null;
          return done;
        });
        violations.push(...(seen.last?.violations ?? []));
        for (const id of seen.last?.minted ?? []) minted.add(id);
        for (const [key, atMs] of seen.last?.told ?? []) told.set(key, Math.max(atMs, told.get(key) ?? 0));
        return result;
      },
    }),
  });
  const { mirror } = it;
  if (!mirror) throw new Error('no mirror');
  for (const source of [it.osv, it.mirrored]) for (const one of Object.values(OSV)) source.covered.add(one);
  onTestFinished(() => hold.letGo());

  /** A world in its initial state, with packages that no other world has. */
  async function begin(start: WorldStart, run: number) {
    await it.database.transact(async (tx) => {
      await tx
        .updateTable('updates')
        .set({ state: 'rejected' })
        .where('state', 'in', ['pending', 'awaiting_plan'])
        .execute();
      for (const table of [
        'mirror_snapshots',
        'mirror_loads',
        'mirror_entries',
        'mirror_records',
        'advisory_checks',
      ] as const)
        await tx.deleteFrom(table).execute();
    });
    it.osv.clear();
    it.mirrored.clear();
    // A source that failed last in the world before counts as failing until its next answer.
    const world = { isApiSound: !it.worker.api().isFailing, isFaultless: true };
    const packages = Array.from({ length: PACKAGES }, (_, i) => {
      const ecosystem: Ecosystem & keyof typeof OSV = ECOSYSTEMS[Math.floor(i / 2)] ?? 'npm';
      const name = `p${run}-${i}`;
      const subject: Subject = { ecosystem: OSV[ecosystem], name, version: VERSION[ecosystem] };
      return { ecosystem, name, subject, pair: [i, ...(start.isPair[i] ? [i ^ 1] : [])] };
    });
    const closureOf = (i: number) => (packages[i]?.pair ?? []).flatMap((n) => packages[n] ?? []);
    /** Packages that a source has ever known to be bad. */
    const everBad = new Set<string>();

    function learn(source: 'api' | 'export', i: number): void {
      const subject = packages[i]?.subject;
      if (!subject) return;
      everBad.add(subjectKey(subject));
      // Two versions of a record never have the same time.
      it.clock.advance(1);
      const { ecosystem, name, version } = subject;
      const modified = new Date(it.clock.now()).toISOString();
      const record = { id: `MAL-${name}`, modified };
      (source === 'api' ? it.osv : it.mirrored).addRecord(record, [{ ecosystem, name, versions: [version] }]);
    }
    for (let i = 0; i < PACKAGES; i++) {
      if (start.inApi[i]) learn('api', i);
      if (start.inExport[i]) learn('export', i);
    }
    it.clock.advance(60_000);
    const updates: string[] = [];
    for (const [i, { ecosystem, name, subject }] of packages.entries()) {
      const actions = closureOf(i).map((one) =>
        actionOf({ name: one.name, version: one.subject.version, ecosystem }),
      );
      const id = await it.addUpdate({ ecosystem, name, version: subject.version, plan: null });
      const isAwaited = i % 2 === 1;
      if (isAwaited) expectKind(await approve(id), 'awaiting_plan');
      await it.addPlan([id], actions);
      updates.push(id);
    }
    const indexOf = new Map(updates.map((id, i) => [id, i]));

    watch = async (tx, toldBefore) => {
      const all = tx
        .selectFrom('approvals as a')
        .innerJoin('approval_updates as m', 'm.token_id', 'a.token_id')
        .select(['a.token_id', 'm.update_id', 'a.verdict', 'a.override_by']);
      // Others commit beside this transaction on PostgreSQL: what they have minted rested on what they saw.
      const own = it.database.engine === 'postgres' ? all.where(IS_OWN_ROW) : all;
      const rows = await own.execute();
      const checks = await readChecks(
        tx,
        packages.map(({ subject }) => subject),
      );
      const found: Seen = { violations: [], minted: [], told: [] };
      for (const [key, { source, verdict, checkedAtMs }] of checks)
        if (source === 'api' && verdict === 'vulnerable' && checkedAtMs > 0)
          found.told.push([key, checkedAtMs]);
      for (const row of rows) {
        const i = indexOf.get(row.update_id);
        if (i === undefined || minted.has(row.token_id)) continue;
        found.minted.push(row.token_id);
        if (row.override_by !== null) continue;
        for (const { subject } of closureOf(i)) {
          const key = subjectKey(subject);
          const check = checks.get(key);
          if (check?.verdict === 'vulnerable')
            found.violations.push(`${key}: minted with a finding that is stored`);
          if (await isInMirror(tx, subject))
            found.violations.push(`${key}: minted with a finding of the mirror`);
          const toldAtMs = toldBefore.get(key);
          if (toldAtMs !== undefined && !(check && isLater(check, toldAtMs)))
            found.violations.push(`${key}: minted with a finding that the API has told`);
        }
        if (world.isApiSound && JSON.parse(row.verdict).verdict === 'unchecked')
          found.violations.push(`${row.update_id}: minted unchecked though the API was there`);
      }
      return found;
    };

    async function isInMirror(tx: Tx, { ecosystem, name, version }: Subject): Promise<boolean> {
      const snapshot = (await readSnapshots(tx)).get(ecosystem.split(':')[0] ?? '');
      if (!snapshot || !isUsable(snapshot, { nowMs: it.clock.now(), maxAgeMs: 24 * 3_600_000 })) return false;
      const entries = await tx
        .selectFrom('mirror_entries')
        .select('versions_json')
        .where('load_id', '=', snapshot.loadId)
        .where('eco', '=', ecosystem)
        .where('name', '=', name)
        .execute();
      return entries.some(({ versions_json: json }) => json.includes(`"${version}"`));
    }

    /** Whether the current mirror can judge every package of an update. */
    async function isMirrored(i: number): Promise<boolean> {
      const snapshots = await readSnapshots(it.database.read);
      const at = { nowMs: it.clock.now(), maxAgeMs: 24 * 3_600_000 };
      return closureOf(i).every(({ subject: { ecosystem } }) => {
        const snapshot = snapshots.get(ecosystem.split(':')[0] ?? '');
        return snapshot?.releases.includes(ecosystem) === true && isUsable(snapshot, at);
      });
    }

    async function approve(id: string, waitMs = 30_000) {
      const deps = { ...it.deps, waitMs };
      return approveUpdate(deps, {
        ...{ updateId: id, operator: 'ada', override: false, overrideReason: null, notBeforeMs: null },
      });
    }

    /** Asks about an update, and compares the answer with the sources. */
    async function ask(question: Question, i: number, waitMs: number): Promise<void> {
      const id = updates[i] ?? '';
      const deps = { ...it.deps, waitMs };
      const before = await isMirrored(i);
      const stateBefore = await findUpdate(it.database.read, id);
      const answer = await answerOf().catch((error: unknown): Answer => {
        if (error instanceof DatabaseFault) return 'other';
        throw error;
      });
      const isClear = closureOf(i).every(({ subject }) => !everBad.has(subjectKey(subject)));
      const isHealthy = world.isFaultless && (world.isApiSound || (before && (await isMirrored(i))));
      if (answer === 'blocked' && isClear && isHealthy)
        violations.push(`${id}: ${question} of a clear closure is refused`);

      async function answerOf(): Promise<Answer> {
        switch (question) {
          case 'approve': {
            const { kind } = await approve(id, waitMs);
            if (kind === 'approved') return 'minted';
            return kind === 'blocked' ? 'blocked' : kind === 'verdict_pending' ? 'pending' : 'other';
          }
          case 'preview': {
            const preview = await previewUpdate(deps, id);
            if (preview.kind === 'verdict_pending') return 'pending';
            return preview.kind === 'report' && preview.report.blocked_by !== null ? 'blocked' : 'other';
          }
          case 'bulk': {
            const request = { update_ids: [id] };
            const outcome = await bulkApprove(deps, {
              request,
              asker: operatorAsks({ operator: 'ada', scope: null }),
              progress: NO_PROGRESS,
            });
            if (outcome.kind !== 'done') return 'other';
            return outcome.answer.blocked.length > 0 ? 'blocked' : 'other';
          }
          case 'sweep': {
            await sweepOnce(deps);
            const after = await findUpdate(it.database.read, id);
            return stateBefore?.state === 'awaiting_plan' && after?.state === 'pending' ? 'blocked' : 'other';
          }
        }
      }
    }

    /** Every source works again: the next question decides every open update. */
    async function settle(): Promise<void> {
      faults.next = false;
      it.osv.mode = 'up';
      it.exported.mode = 'up';
      hold.letGo();
      hold.held = null;
      it.clock.advance(2 * 3_600_000);
      await mirror?.refresh();
      // Each round at least one package fits into the queue.
      for (let i = 0; i < PACKAGES; i++) await sweepOnce(it.deps);
      for (const [i, id] of updates.entries()) {
        const state = (await findUpdate(it.database.read, id))?.state;
        if (state === 'approved') continue;
        if (state === 'awaiting_plan') violations.push(`${id}: still waits for its plan`);
        const bad = it.mirrored
          .all()
          .flatMap((record) => (record.withdrawn === undefined ? [record.id] : []));
        const isBad = closureOf(i).some(({ name }) => bad.includes(`MAL-${name}`));
        let { kind } = await approve(id);
        for (let n = 1; n < PACKAGES && kind === 'verdict_pending'; n++) ({ kind } = await approve(id));
        if (kind !== (isBad ? 'blocked' : 'approved'))
          violations.push(`${id}: ${kind}, though it is ${isBad ? 'bad' : 'clear'}`);
      }
    }

    return {
      ask,
      learn,
      settle,
      violations,
      withdraw(i: number) {
        const name = packages[i]?.name;
        it.clock.advance(1);
        const at = new Date(it.clock.now()).toISOString();
        for (const source of [it.osv, it.mirrored])
          if (source.all().some(({ id }) => id === `MAL-${name}`)) source.withdraw(`MAL-${name}`, at);
      },
      hold() {
        if (hold.held) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        hold.held = promise;
        hold.letGo = resolve;
      },
      letGo() {
        hold.letGo();
        hold.held = null;
      },
      api(mode: 'up' | 'down') {
        it.osv.mode = mode;
        if (mode === 'down') world.isApiSound = false;
      },
      exported(mode: 'up' | 'down') {
        it.exported.mode = mode;
      },
      fault() {
        faults.next = true;
        world.isFaultless = false;
      },
      refresh: () => mirror?.refresh(),
      advance: (ms: number) => it.clock.advance(ms),
    };
  }
  return { begin };
}

interface Seen {
  readonly violations: string[];
  readonly minted: string[];
  readonly told: [string, number][];
}

/** Whether a check is later than the API's answer: a later answer of it, or newer data. */
function isLater(
  { source, checkedAtMs }: { source: string; checkedAtMs: number },
  toldAtMs: number,
): boolean {
  return source === 'api' ? checkedAtMs > toldAtMs : checkedAtMs >= toldAtMs;
}

function expectKind({ kind }: { kind: string }, wanted: string): void {
  if (kind !== wanted) throw new Error(`${kind} instead of ${wanted}`);
}

export type AdvisoryWorld = Awaited<ReturnType<Awaited<ReturnType<typeof createAdvisoryWorld>>['begin']>>;
