import { KEY_CHAIN_MAX, type SigningKeyEntry } from '@tidegate/protocol/documents';
import { describe, expect, test } from 'vitest';
import { createFleet, createKey, NOW_MS, revoked, type TestKey } from '../testing/fleet.ts';
import { activeKeys } from './trusted-keys.ts';
import { takeNewest, walkChain } from './trusted-keys-chain.ts';

const fleet = createFleet();
const DAY_MS = 86_400_000;

/** Five times a new key, its use and the revocation of the old one, with a restart after each: one signer at a time. */
function fiveRotations() {
  let signer: TestKey = fleet.key;
  let entries: SigningKeyEntry[] = [fleet.key.entry];
  const links = [];
  let version = 1;
  for (let rotation = 2; rotation <= 6; rotation += 1) {
    const next = createKey(rotation);
    entries = [...entries, next.entry];
    // What is on the way has expired long ago.
    const expiresMs = NOW_MS - (10 - rotation) * DAY_MS;
    links.push(fleet.keySet({ version: ++version, keys: entries, signedBy: signer, expiresMs }));
    entries = entries.map((entry) => (entry.key_id === signer.entry.key_id ? revoked(entry) : entry));
    const isLast = rotation === 6;
    links.push(
      fleet.keySet({
        version: ++version,
        keys: entries,
        signedBy: next,
        ...(isLast ? {} : { expiresMs }),
      }),
    );
    signer = next;
  }
  return { links, signer, entries };
}

const { links, signer, entries } = fiveRotations();
const chain = (key_sets = links) => ({ key_sets, roots: [] });
const reasonOf = (key_sets: typeof links) => {
  const walked = walkChain(fleet.trusted, chain(key_sets), NOW_MS);
  return walked.ok ? `reached ${walked.keys.version}` : walked.reason;
};
const at = (index: number) => {
  const link = links[index];
  if (!link) throw new Error('no such link');
  return link;
};

describe('a host that missed rotations and revocations (E8, design reading 11)', () => {
  test('walks every key set from its own to the newest and trusts what the newest says', () => {
    const newest = at(links.length - 1);
    expect(takeNewest(fleet.trusted, { envelope: newest, chain: null }, NOW_MS)).toEqual({
      ok: false,
      reason: 'not_vouched_for',
    });
    const taken = takeNewest(fleet.trusted, { envelope: newest, chain: chain() }, NOW_MS);
    if (!taken.ok) throw new Error(taken.reason);
    expect(taken.envelope).toBe(newest);
    expect(taken.keys.version).toBe(11);
    expect(activeKeys(taken.keys).map(({ keyId }) => keyId)).toEqual([signer.entry.key_id]);
  });

  const stranger = createKey(9);
  const forged = fleet.keySet({ version: 3, keys: [fleet.key.entry, stranger.entry], signedBy: stranger });
  const byRevoked = fleet.keySet({ version: 4, keys: [...entries, stranger.entry], signedBy: fleet.key });
  const otherFleet = createFleet();
  const foreign = otherFleet.keySet({ version: 2, keys: [fleet.key.entry], signedBy: fleet.key });
  test.each([
    ['a forged link', [at(0), forged, ...links.slice(2)], 'not_vouched_for'],
    ['a skipped link', [at(0), at(3)], 'not_vouched_for'],
    [
      'a link left out though the next is signed by a trusted key',
      [at(1), ...links.slice(2)],
      'not_vouched_for',
    ],
    ['a link signed by a key revoked in the set before', [at(0), at(1), byRevoked], 'not_vouched_for'],
    ['a loop', [at(0), at(0)], 'not_newer'],
    ['a way back', [at(0), at(1), at(0)], 'not_vouched_for'],
    ['a link of another fleet', [foreign], 'wrong_fleet'],
    ['a chain whose last set has expired', links.slice(0, 4), 'expired'],
    ['a chain past the limit', Array.from({ length: KEY_CHAIN_MAX + 1 }, () => at(0)), 'chain_too_long'],
    ['no link at all', [], 'chain_broken'],
  ])('%s is refused', (_what, key_sets, reason) => {
    expect(reasonOf(key_sets)).toBe(reason);
  });

  test('versions may leap, as they do after a restore, where the set before vouches for the leap', () => {
    const leapt = fleet.keySet({ version: 1_001, keys: [fleet.key.entry] });
    expect(reasonOf([leapt])).toBe('reached 1001');
  });

  test('a revoked key that reappears in the chain under its own id is refused', () => {
    const back = fleet.keySet({
      version: 4,
      keys: entries.map((entry) => (entry.version === 1 ? fleet.key.entry : entry)),
      signedBy: signer,
    });
    const third = walkChain(fleet.trusted, chain(links), NOW_MS);
    if (!third.ok) throw new Error(third.reason);
    expect(walkChain({ ...third.keys, version: 3 }, chain([back]), NOW_MS)).toEqual({
      ok: false,
      reason: 'revocation_undone',
    });
  });
});
