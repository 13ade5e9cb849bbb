import { changesBetween, newestChange, type RecordedChange } from '../installed/changes-store.ts';
import { storedPackages } from '../installed/store.ts';
import { listReports } from '../inventory/installed-store.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { type PackageOf, packageKey, stateBefore } from './change-rules.ts';

/** Reads again where a report was stored meanwhile, this often. */
const ATTEMPTS = 3;

/** By ecosystem, from when on its changes are all kept; null: its first report is still being stored. */
export type KnownTimes = ReadonlyMap<string, number | null>;

export async function knownSince(db: Db, agentId: string): Promise<KnownTimes> {
  return new Map((await listReports(db, agentId)).map((row) => [row.ecosystem, row.changes_since]));
}

export function isKnown(sinceMs: number | null | undefined, atMs: number): boolean {
  return sinceMs !== null && sinceMs !== undefined && sinceMs <= atMs;
}

/** Changes between two times of ecosystems whose changes are all kept since the first of them. */
export async function knownChanges(
  db: Db,
  span: { agentId: string; afterMs: number; untilMs: number },
  since: KnownTimes,
): Promise<RecordedChange[]> {
  const changes = await changesBetween(db, span);
  await takeTurn();
  // Of the last report that was forgotten a part may still be there.
  return changes.filter(({ ecosystem, changed_at: at }) => isKnown(since.get(ecosystem), at - 1));
}

export interface InventoryThen {
  readonly packages: readonly PackageOf[];
  readonly since: KnownTimes;
}

/** What a host had at a time, of the ecosystems of which it is known. Null: it reports too often to be read. */
export async function inventoryAt(
  db: Db,
  {
    agentId,
    atMs,
    nowMs,
    isMeant,
  }: { agentId: string; atMs: number; nowMs: number; isMeant: (one: PackageOf) => boolean },
): Promise<InventoryThen | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const newest = await newestChange(db, agentId);
    const since = await knownSince(db, agentId);
    const known = [...since.keys()].filter((ecosystem) => isKnown(since.get(ecosystem), atMs));
    const changes = await changesBetween(db, { agentId, afterMs: atMs, untilMs: nowMs });
    const undone = stateBefore(changes.filter(({ ecosystem }) => isKnown(since.get(ecosystem), atMs)));
    const packages = [...undone.values()].filter((one) => one !== null).filter(isMeant);
    for (const ecosystem of known) {
      for await (const page of storedPackages(db, { agentId, ecosystem })) {
        await takeTurn();
        for (const record of page) {
          const one = { ...record, ecosystem };
          if (isMeant(one) && !undone.has(packageKey(one))) packages.push(one);
        }
      }
    }
    if ((await newestChange(db, agentId)) === newest) return { packages, since };
  }
  return null;
}
