import type { LimitChange } from '@tidegate/protocol/rate-limits-api';
import { appendEvent } from '../events/append-event.ts';
import type { Clock } from '../platform/clock.ts';
import { DatabaseFault, type Db, type Tx } from '../platform/db/engine.ts';
import type { LimitClass } from '../platform/http/access.ts';
import type { Guards } from '../platform/http/admit.ts';
import type { FieldFault } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { createAddressGuard } from './address-guard.ts';
import { type Budget, type BudgetTable, createBudgets, DEFAULT_BUDGETS, workerBudget } from './budgets.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import { mergeBudgets, wireBudget } from './merge-budgets.ts';
import { deleteIdleCounts } from './shared-counts-store.ts';
import { shareCounts } from './shared-limits.ts';
import { deleteLimits, readLimits, writeLimit } from './store.ts';

/** Interval at which a replica reads the changes of others, and how many they are. */
const RELOAD_INTERVAL_MS = 10_000;

export interface RateLimits {
  limiter: Limiter;
  /** For routes that check their own credential. */
  addressGuard: Guards['own'];
  table(): BudgetTable;
  /** Of check-ins, for each worker of this server. */
  ofWorker(): Budget;
  change(
    changes: Readonly<Record<string, LimitChange | undefined>>,
    actor: string,
  ): Promise<{ ok: true } | { ok: false; errors: FieldFault[] }>;
  /** Back to the defaults. */
  reset(actor: string): Promise<void>;
  reload(): Promise<void>;
  /** Removes counts that say nothing any more. */
  tidy(): Promise<void>;
  /** Polls for changes by other replicas. */
  start(): void;
  stop(): void;
}

export interface RateLimitsOptions {
  platform: Platform;
  bootedAt: number;
  /** For the windows; preferably monotonic. Default: the platform's. */
  now?: Clock;
  /** How many servers are on this database, this one among them; default: one. */
  countServers?: (db: Db) => Promise<number>;
  /** Processes of this server that answer check-ins; default: one. */
  processes?: number;
  /** Told of every change that was made here. */
  onChanged?: () => void;
}

/** Reads the stored budgets and creates the limiter that applies them. */
export async function createRateLimits({
  platform,
  bootedAt,
  now,
  countServers = async () => 1,
  processes = 1,
  onChanged = () => {},
}: RateLimitsOptions): Promise<RateLimits> {
  const { database, log } = platform;
  const budgets = createBudgets(DEFAULT_BUDGETS, processes);
  const options = { now: now ?? platform.now, bootedAt, budgets, random: platform.random };
  // SQLite has one server.
  const isShared = database.engine === 'postgres';
  const own = createLimiter(options);
  const limiter = isShared ? shareCounts(own, { ...options, database }) : own;
  let timer: NodeJS.Timeout | null = null;

  async function reload(): Promise<void> {
    const { table, badClasses } = await loadTable(database.read);
    budgets.replace(table);
    if (isShared) budgets.divide(await countServers(database.read));
    for (const limitClass of badClasses) log.warn('stored rate limit ignored', { class: limitClass });
  }

  async function tidy(): Promise<void> {
    if (isShared) await database.transact((tx) => deleteIdleCounts(tx, platform.now()));
  }

  async function reloadOrKeep(): Promise<void> {
    try {
      await reload();
      await tidy();
    } catch (error) {
      if (!(error instanceof DatabaseFault)) throw error;
      log.warn('rate limits not reloaded', { cause: error.message });
    }
  }

  await reload();
  return {
    limiter,
    addressGuard: createAddressGuard({ ...options, limiter }),
    table: budgets.table,
    ofWorker: () => workerBudget(budgets.table(), processes),
    async change(changes, actor) {
      const outcome = await database.transact(async (tx) => {
        const before = (await loadTable(tx)).table;
        const merged = mergeBudgets(before, changes);
        if (!merged.ok) return merged;
        for (const limitClass of merged.changed) {
          await writeLimit(tx, { limitClass, budget: merged.table[limitClass], nowMs: platform.now() });
        }
        if (merged.changed.length > 0) {
          await recordChange(tx, platform, { before, after: merged.table, changed: merged.changed, actor });
        }
        return { ok: true } as const;
      });
      if (!outcome.ok) return outcome;
      await reload();
      onChanged();
      return outcome;
    },
    async reset(actor) {
      await database.transact(async (tx) => {
        const before = (await loadTable(tx)).table;
        const changed = (await readLimits(tx)).map((row) => row.class).filter(isClassOf(before));
        await deleteLimits(tx);
        await recordChange(tx, platform, { before, after: DEFAULT_BUDGETS, changed, actor });
      });
      await reload();
      onChanged();
    },
    reload,
    tidy,
    start() {
      timer ??= setInterval(() => void reloadOrKeep(), RELOAD_INTERVAL_MS).unref();
    },
    stop() {
      if (timer) clearInterval(timer);
      timer = null;
    },
  };
}

async function loadTable(db: Db): Promise<{ table: BudgetTable; badClasses: string[] }> {
  let table: BudgetTable = DEFAULT_BUDGETS;
  const badClasses: string[] = [];
  for (const row of await readLimits(db)) {
    const { requests, window_seconds } = row;
    const merged = mergeBudgets(table, {
      [row.class]: { requests, window_seconds, enabled: row.enabled === 1 },
    });
    if (merged.ok) table = merged.table;
    else badClasses.push(row.class);
  }
  return { table, badClasses };
}

function isClassOf(table: BudgetTable): (name: string) => name is LimitClass {
  return (name): name is LimitClass => Object.hasOwn(table, name);
}

interface Change {
  before: BudgetTable;
  after: BudgetTable;
  changed: readonly LimitClass[];
  actor: string;
}

async function recordChange(
  tx: Tx,
  platform: Platform,
  { before, after, changed, actor }: Change,
): Promise<void> {
  const classes = changed.map((name) => [
    name,
    { before: wireBudget(before[name]), after: wireBudget(after[name]) },
  ]);
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'RATE_LIMITS_CHANGED',
    severity: 'warning',
    component: 'rate_limits',
    actor,
    content: { classes: Object.fromEntries(classes) },
  });
}
