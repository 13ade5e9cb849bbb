import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type RegistryWord, registryWords } from './confirmations.ts';
import { queueEnforcement } from './enforcement-store.ts';
import { type ArtifactIdentity, algorithmOf, identityKey } from './identity-rules.ts';
import { type Ledger, readLedger } from './ledger.ts';
import { type ArtifactFacts, passes, type Settlement, settle } from './standing-rules.ts';
import {
  changeDivergence,
  type DivergenceRow,
  decisionsInForce,
  type HashRow,
  hashesOf,
  setHash,
} from './store.ts';

const Hashes = Type.Array(Type.String());

/** The facts about artifacts that diverge, or whose hosts are in doubt. */
export interface Doubts {
  readonly ledger: Ledger;
  readonly registry: ReadonlyMap<string, RegistryWord>;
  readonly divergences: Map<string, DivergenceRow>;
  readonly decisions: Map<string, NonNullable<ArtifactFacts['decision']>>;
}

/** `asked` may include hashes that no counting host reports, to get the registry's statement. */
export async function readDoubts(
  db: Db,
  asked: readonly (ArtifactIdentity & { readonly hash?: string })[],
  rows: readonly DivergenceRow[],
): Promise<Doubts> {
  const decisions = new Map<string, NonNullable<ArtifactFacts['decision']>>();
  for (const { divergence_id: id, accepted, refused } of await decisionsInForce(db, rows)) {
    decisions.set(id, { accepted: hashList(accepted), refused: hashList(refused) });
  }
  const ledger = await readLedger(db, asked);
  const claimed = new Map<string, { identity: ArtifactIdentity; hashes: Set<string> }>();
  for (const identity of asked) {
    const key = identityKey(identity);
    const one = claimed.get(key) ?? { identity, hashes: new Set(ledger.get(key)?.keys()) };
    if (identity.hash !== undefined) one.hashes.add(identity.hash);
    claimed.set(key, one);
  }
  return {
    ledger,
    registry: await registryWords(db, [...claimed.values()]),
    divergences: new Map(rows.map((row) => [identityKey({ ...row, algorithm: algorithmOf(row) }), row])),
    decisions,
  };
}

/** The facts of one artifact; `listed` hashes get a standing even if nobody reports them. */
export function factsOfArtifact(doubts: Doubts, key: string, listed: readonly string[] = []): ArtifactFacts {
  const claims = new Map(listed.map((hash) => [hash, 0]));
  for (const [hash, rows] of doubts.ledger.get(key) ?? []) claims.set(hash, rows.length);
  const divergence = doubts.divergences.get(key);
  return {
    claims,
    decision: (divergence && doubts.decisions.get(divergence.id)) ?? null,
    registry: doubts.registry.get(key) ?? new Map(),
  };
}

/**
 * Stores the rule's present verdict on a divergence. If a hash that passed has lost, a check of live approvals is queued;
 * `arrived` is a new hash that no approval can bind yet. The caller holds the divergence's lock.
 */
export async function settleDivergence(
  tx: Tx,
  { now }: Pick<Platform, 'now'>,
  row: DivergenceRow,
  arrived: string | null = null,
): Promise<{ divergence: DivergenceRow; hashes: HashRow[] }> {
  const identity = { ...row, algorithm: algorithmOf(row) };
  const before = await hashesOf(tx, [row.id]);
  const listed = before.map(({ hash }) => hash);
  const asked = [identity, ...listed.map((hash) => ({ ...identity, hash }))];
  const doubts = await readDoubts(tx, asked, [row]);
  const facts = factsOfArtifact(doubts, identityKey(identity), listed);
  const settled = settle(facts);
  const hashes = before.map((hash) => restated(hash, facts, settled));
  for (const [i, hash] of hashes.entries()) {
    const old = before[i];
    if (old?.standing !== hash.standing || old.hosts !== hash.hosts) await setHash(tx, hash);
  }
  const change = changeOf(row, settled, { hash_count: hashes.length, nowMs: now() });
  await changeDivergence(tx, row.id, change);
  const lost = before.some(
    ({ hash, standing }, i) => hash !== arrived && passes(standing) && !passes(hashes[i]?.standing),
  );
  if (lost) {
    const width = hashes.reduce((sum, { hosts }) => sum + hosts, 0);
    await queueEnforcement(tx, { kind: 'divergence', subject: row.id, width, queued_at: now() });
  }
  return { divergence: { ...row, ...change }, hashes };
}

function restated(row: HashRow, { claims }: ArtifactFacts, { standings }: Settlement): HashRow {
  return {
    ...row,
    standing: standings.get(row.hash) ?? 'unsupported',
    hosts: claims.get(row.hash) ?? 0,
  };
}

function changeOf(
  row: DivergenceRow,
  { settledBy }: Settlement,
  { hash_count, nowMs }: { hash_count: number; nowMs: number },
): Pick<DivergenceRow, 'state' | 'settled_by' | 'hash_count' | 'opened_at'> {
  const state = settledBy === null ? 'open' : 'decided';
  const opened_at = state === 'open' && row.state === 'decided' ? nowMs : row.opened_at;
  return { state, settled_by: settledBy, hash_count, opened_at };
}

function hashList(text: string): string[] {
  const parsed: unknown = JSON.parse(text);
  return Value.Parse(Hashes, parsed);
}
