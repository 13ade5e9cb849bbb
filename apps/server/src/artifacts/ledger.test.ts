import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { type ArtifactIdentity, identityKey } from './identity-rules.ts';
import { readLedger } from './ledger.ts';
import { insertSightings } from './sighting-store.ts';

const HASH = 'a'.repeat(64);

function identity(name: string, version: string, variant = 'amd64'): ArtifactIdentity {
  return { scope: 'apt/debian', name, version, variant, algorithm: 'sha256' };
}

describe.each(ENGINES)('sightings of many artifacts at once, on $name', (engine) => {
  test('a host counts once for each hash, however many artifacts share a name or a version', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    // More than one statement takes; the first and last use one version, those between use both of its parts.
    const between = Array.from({ length: 600 }, (_, n) => identity(`b${n}`, '2'));
    const asked = [
      identity('a', '1'),
      identity('a', '2'),
      ...between,
      identity('b0', '1'),
      identity('a', '1', 'arm64'),
    ];
    const rows = asked.map((one) => ({
      ...{ ...one, agent_id: agentId, hash: HASH, origin: null, url: '', differs: 0, seen_at: 1_000 },
    }));
    await database.transact((tx) => insertSightings(tx, rows));
    const ledger = await readLedger(database.read, asked);
    const hosts = asked.map((one) => ledger.get(identityKey(one))?.get(HASH)?.length);
    expect(hosts).toEqual(asked.map(() => 1));
  });
});
