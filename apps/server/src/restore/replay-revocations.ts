import { isReuse, type Reuse } from '../agent-credentials/renewal-rules.ts';
import { lockFamily, markFamilyRevoked } from '../agent-credentials/store.ts';
import { markAgentDeleted, markAgentRevoked } from '../agents/store.ts';
import { markApiTokenRevoked } from '../api-tokens/store.ts';
import { deleteOperator } from '../operators/store.ts';
import type { Database, Tx } from '../platform/db/engine.ts';
import type { Revocation } from '../platform/db/write-context.ts';
import { revokeAgain } from '../signing-keys/recall-keys.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import { IDS_MAX, notRevoked } from './store.ts';

export interface RevokedAgain {
  families: number;
  agents: number;
  keys: number;
  api_tokens: number;
  operators: number;
}

/** A family that was revoked for reuse. This database lacks the transaction with its event. */
export interface LostReuse {
  familyId: string;
  agentId: string;
  reason: Reuse;
  atMs: number;
}

/** The signing key in use is revoked, and no other key can sign. */
export class NoKeyLeft extends Error {
  override name = 'NoKeyLeft';
}

/** Revokes again what the journal names and the database has as active (T20): revocations are forward-only. */
export async function replayRevocations(
  tx: Tx,
  {
    journal,
    engine,
    held,
  }: {
    journal: Pick<RevocationJournal, 'entries'>;
    engine: Database['engine'];
    held: ReadonlySet<string>;
  },
): Promise<{ revokedAgain: RevokedAgain; lostReuses: LostReuse[] }> {
  // The journal may name an agent as revoked and as deleted.
  const done = {
    families: new Set<string>(),
    agents: new Set<string>(),
    keys: new Set<string>(),
    api_tokens: new Set<string>(),
    operators: new Set<string>(),
  };
  const lostReuses: LostReuse[] = [];
  const entries = journal.entries();
  // Families before agents, the lock order of renewal.
  for (const kind of ['family', 'agent', 'deleted_agent', 'key', 'api_token', 'deleted_operator'] as const) {
    const all = entries.filter((entry) => entry.kind === kind);
    for (let from = 0; from < all.length; from += IDS_MAX) {
      const revocations = all.slice(from, from + IDS_MAX);
      for (const revocation of await notRevoked(tx, { kind, revocations, engine })) {
        await revoke(tx, revocation, held);
        done[COUNTED[kind]].add(revocation.id);
        if (kind === 'family') lostReuses.push(...(await lostReuseOf(tx, { engine, revocation })));
      }
    }
  }
  const { families, agents, keys, api_tokens, operators } = done;
  const revokedAgain = {
    ...{ families: families.size, agents: agents.size, keys: keys.size },
    ...{ api_tokens: api_tokens.size, operators: operators.size },
  };
  return { revokedAgain, lostReuses };
}

async function lostReuseOf(
  tx: Tx,
  { engine, revocation }: { engine: Database['engine']; revocation: Revocation },
): Promise<LostReuse[]> {
  const { id, atMs, reason } = revocation;
  if (reason === undefined || !isReuse(reason)) return [];
  const family = await lockFamily(tx, { engine, familyId: id });
  return family ? [{ familyId: id, agentId: family.agent_id, reason, atMs }] : [];
}

const COUNTED = {
  family: 'families',
  agent: 'agents',
  deleted_agent: 'agents',
  key: 'keys',
  api_token: 'api_tokens',
  deleted_operator: 'operators',
} as const;

async function revoke(
  tx: Tx,
  { kind, id, atMs, reason = 'revocation_journal' }: Revocation,
  held: ReadonlySet<string>,
): Promise<void> {
  switch (kind) {
    case 'family':
      await markFamilyRevoked(tx, { familyId: id, reason, atMs });
      return;
    case 'agent':
      return markAgentRevoked(tx, { agentId: id, atMs });
    case 'deleted_agent':
      await markAgentRevoked(tx, { agentId: id, atMs });
      return markAgentDeleted(tx, { agentId: id, atMs });
    case 'api_token':
      await markApiTokenRevoked(tx, { id, atMs });
      return;
    case 'deleted_operator':
      return deleteOperator(tx, { id, atMs });
    case 'key': {
      const outcome = await revokeAgain(tx, { keyId: id, atMs, held });
      if (outcome.kind === 'revoked') return;
      throw new NoKeyLeft(
        `signing key version ${outcome.version}, which this database has in use, was revoked after the backup, and no other key of it has its private half here: give SERVICE_SIGNING_PRIVATE_KEY, or restore a newer backup`,
      );
    }
  }
}
