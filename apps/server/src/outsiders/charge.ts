import { appendEvent, type NewEvent } from '../events/append-event.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import {
  ALL,
  type Amount,
  BUDGETS,
  type Budget,
  type BudgetKind,
  type Charged,
  dayOf,
  judgeCharge,
  secondsToNextDay,
} from './budget-rules.ts';
import { addUsage, readUsage } from './store.ts';

/** The writer: an agent, or the key of an address, operator or token. */
export type Subject = { readonly agentId: string } | { readonly key: string };

interface Charge extends Amount {
  readonly kind: BudgetKind;
  readonly subject: Subject;
}

/**
 * Charges a write of an outsider to its daily budget. The charge that exceeds it leaves an event; later ones
 * are counted, and the caller should drop them. Returns whether it may be written.
 */
export async function charge(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { kind, subject, rows, bytes }: Charge,
): Promise<boolean> {
  const day = dayOf(platform.now());
  const budget: Budget = BUDGETS[kind];
  const added = { rows, bytes };
  if (budget.all && (await isSpent(tx, { kind, subject: ALL, day, budget: budget.all }))) return false;
  const own = { kind, subject: nameOf(subject), day, ...added };
  const charged = judgeCharge({ used: await addUsage(tx, own), added, budget });
  if (charged === 'within' && budget.all) {
    const used = await addUsage(tx, { ...own, subject: ALL });
    const all = judgeCharge({ used, added, budget: budget.all });
    return note(tx, platform, { kind, subject: null, charged: all });
  }
  return note(tx, platform, { kind, subject, charged });
}

async function isSpent(
  db: Db,
  { budget, ...of }: { kind: BudgetKind; subject: string; day: number; budget: Amount },
): Promise<boolean> {
  const used = await readUsage(db, of);
  return used !== null && (used.rows > budget.rows || used.bytes > budget.bytes);
}

async function note(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { kind, subject, charged }: { kind: BudgetKind; subject: Subject | null; charged: Charged },
): Promise<boolean> {
  if (charged === 'spent_now') {
    const { rows, bytes } = subject ? BUDGETS[kind] : totalOf(kind);
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'OUTSIDER_BUDGET_SPENT',
      severity: 'error',
      component: 'outsiders',
      agentId: subject && 'agentId' in subject ? subject.agentId : null,
      actor: 'server',
      content: { kind, subject: subject && nameOf(subject), rows_a_day: rows, bytes_a_day: bytes },
    });
  }
  return charged === 'within';
}

function totalOf(kind: BudgetKind): Amount {
  const budget: Budget = BUDGETS[kind];
  return budget.all ?? budget;
}

function nameOf(subject: Subject): string {
  return 'agentId' in subject ? `agent:${subject.agentId}` : subject.key;
}

/**
 * Appends an event that an outsider causes, within its budget: the chain is kept for ever, and no outsider
 * may grow it without end. Returns whether it was written.
 */
export async function appendOutsiderEvent(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { kind, subject, event }: { kind: BudgetKind; subject: Subject; event: NewEvent },
): Promise<boolean> {
  const bytes = Buffer.byteLength(JSON.stringify(event.content));
  if (!(await charge(tx, platform, { kind, subject, rows: 1, bytes }))) return false;
  await appendEvent(tx, platform, event);
  return true;
}

/** Charges a host's report before any write; throws 429 until the next day if the budget is spent. */
export async function chargeReport(
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { agentId, ...amount }: { agentId: string } & Amount,
): Promise<void> {
  const isWithin = await platform.database.transact((tx) =>
    charge(tx, platform, { kind: 'reports', subject: { agentId }, ...amount }),
  );
  if (!isWithin) throw reportsSpent(platform);
}

/** Whether a host has spent today's budget of its reports: so that work which is charged afterwards does not begin. */
export async function hasSpentReports(
  db: Db,
  platform: Pick<Platform, 'now'>,
  agentId: string,
): Promise<boolean> {
  const of = { kind: 'reports', subject: nameOf({ agentId }), day: dayOf(platform.now()) } as const;
  return isSpent(db, { ...of, budget: BUDGETS.reports });
}

/** The refusal of a report whose charge was not within the budget. */
export function reportsSpent(platform: Pick<Platform, 'now'>): Refusal {
  const { rows, bytes } = BUDGETS.reports;
  return new Refusal('host_budget_spent', {
    detail: `A host may report ${rows} rows and ${bytes} bytes a day; this host has. The budget resets at midnight UTC.`,
    retryAfterSeconds: secondsToNextDay(platform.now()),
  });
}
