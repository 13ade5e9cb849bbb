import type { Db, Tx } from '../platform/db/engine.ts';

/** A server that died loses its claim after this time. */
const CLAIM_MS = 120_000;
/** A server that counts renews its claim so often, and not for each page: every commit waits for the disk. */
export const RENEWED_EVERY_MS = CLAIM_MS / 8;
/** A pass takes at most a fifth of the time: after a long one comes a long pause. */
const PAUSE_PER_PASS = 4;
/** The longest time that a pass counts as: a machine that slept, or a clock that jumped, must not make the pause endless. */
const TOOK_MAX_MS = 15 * 60_000;

/** Compare-and-swap: true for the one server that may count now. */
export async function claimPass(
  tx: Tx,
  { claim, nowMs, intervalMs }: { claim: string; nowMs: number; intervalMs: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('unfixed_pass')
    .set({ claim, claimed_until: nowMs + CLAIM_MS })
    .where(({ or, eb }) =>
      or([
        eb('claim', 'is', null),
        eb('claimed_until', '<=', nowMs),
        // Of a clock that was set back.
        eb('claimed_until', '>', nowMs + CLAIM_MS),
      ]),
    )
    .where(({ or, eb, and }) =>
      or([
        eb('ended_at', 'is', null),
        // A clock that was set back.
        eb('ended_at', '>', nowMs),
        and([
          eb('ended_at', '<=', nowMs - intervalMs),
          eb(eb('ended_at', '+', eb('took_ms', '*', PAUSE_PER_PASS)), '<=', nowMs),
        ]),
      ]),
    )
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Compare-and-swap: false when another server has taken over. Part of every write of a pass. */
export async function renewClaim(
  tx: Tx,
  { claim, nowMs }: { claim: string; nowMs: number },
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('unfixed_pass')
    .set({ claimed_until: nowMs + CLAIM_MS })
    .where('claim', '=', claim)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

export async function releasePass(tx: Tx, claim: string): Promise<void> {
  await tx.updateTable('unfixed_pass').set({ claim: null }).where('claim', '=', claim).execute();
}

/** Records what the counts rest on; false when another server has taken over. */
export async function endPass(
  tx: Tx,
  end: {
    claim: string;
    nowMs: number;
    tookMs: number;
    leftOut: number;
    coverage: ReadonlyMap<string, { hosts: number; unknown: number }>;
  },
): Promise<boolean> {
  const took_ms = Math.min(Math.max(0, end.tookMs), TOOK_MAX_MS);
  const { numUpdatedRows } = await tx
    .updateTable('unfixed_pass')
    .set({ claim: null, ended_at: end.nowMs, took_ms, left_out: end.leftOut })
    .where('claim', '=', end.claim)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await tx.deleteFrom('unfixed_coverage').execute();
  for (const [group_name, { hosts, unknown }] of end.coverage) {
    await tx.insertInto('unfixed_coverage').values({ group_name, hosts, unknown_hosts: unknown }).execute();
  }
  return true;
}

export async function readPass(db: Db) {
  const row = await db.selectFrom('unfixed_pass').selectAll().executeTakeFirstOrThrow();
  return { endedAtMs: row.ended_at === null ? null : Number(row.ended_at), leftOut: Number(row.left_out) };
}
