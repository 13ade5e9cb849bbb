import { chunks } from '../platform/db/chunks.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { type Proof, proofKey } from './proof-rules.ts';

/** The rings of a policy, as far as what they prove goes. */
export interface RingOrder {
  readonly policy_id: string;
  readonly members_sha256: string;
}

/** Keeps what hosts of a ring have installed, each with the innermost ring. */
export async function recordProofs(
  tx: Tx,
  {
    policy_id,
    members_sha256,
    ring,
    nowMs,
    proofs,
  }: RingOrder & { ring: number; nowMs: number; proofs: readonly Proof[] },
): Promise<void> {
  const rows = [...new Map(proofs.map((proof) => [proofKey(proof), proof])).values()].map(
    ({ scope, name, version, variant, algorithm, hash }) => ({
      ...{ policy_id, members_sha256, scope, name, version, variant, algorithm, hash },
      ...{ ring, proven_at: nowMs },
    }),
  );
  for (const some of chunks(rows)) {
    await tx
      .insertInto('rollout_proofs')
      .values(some)
      .onConflict((conflict) =>
        conflict
          .columns([
            'policy_id',
            'members_sha256',
            'scope',
            'name',
            'version',
            'variant',
            'algorithm',
            'hash',
          ])
          .doUpdateSet((e) => ({ ring: e.ref('excluded.ring'), proven_at: e.ref('excluded.proven_at') }))
          .whereRef('excluded.ring', '<', 'rollout_proofs.ring'),
      )
      .execute();
  }
}

/** Those of these artifacts that a ring before this one has installed, to the hash. */
export async function provenBefore(
  db: Db,
  { policy_id, members_sha256, ring, proofs }: RingOrder & { ring: number; proofs: readonly Proof[] },
): Promise<Set<string>> {
  const wanted = new Set(proofs.map(proofKey));
  const found = new Set<string>();
  for (const hashes of chunks([...new Set(proofs.map(({ hash }) => hash))])) {
    const rows = await db
      .selectFrom('rollout_proofs')
      .select(['scope', 'name', 'version', 'variant', 'algorithm', 'hash'])
      .where('policy_id', '=', policy_id)
      .where('members_sha256', '=', members_sha256)
      .where('hash', 'in', hashes)
      .where('ring', '<', ring)
      .execute();
    for (const row of rows) {
      const key = [row.scope, row.name, row.version, row.variant, row.algorithm, row.hash].join('\n');
      if (wanted.has(key)) found.add(key);
    }
  }
  return found;
}
