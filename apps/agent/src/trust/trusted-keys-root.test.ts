import { describe, expect, test } from 'vitest';
import { createFleet, createKey, NOW_MS, revoked } from '../testing/fleet.ts';
import { acceptKeySet, activeKeys, pinKeySet } from './trusted-keys.ts';
import { walkChain } from './trusted-keys-chain.ts';

const fleet = createFleet();
const one = fleet.key;
const two = createKey(2);
const [a, b, c, d, e] = [createKey(1), createKey(1), createKey(1), createKey(1), createKey(1)];
const root = fleet.root({ version: 1, threshold: 2, keys: [a, b, c], signedBy: [a, b] });

type Content = Parameters<typeof fleet.keySet>[0];

function take(current: typeof fleet.trusted, content: Content, roots: unknown[] = [root]) {
  return acceptKeySet(current, { envelope: fleet.keySet(content), roots, nowMs: NOW_MS });
}

/** What a host trusts after the set that told it of the root. */
function rooted() {
  const learnt = take(fleet.trusted, { version: 2, keys: [one.entry], root });
  if (!learnt.ok) throw new Error(learnt.reason);
  return learnt.keys;
}

const reason = (outcome: ReturnType<typeof acceptKeySet>) =>
  outcome.ok ? activeKeys(outcome.keys).map(({ keyId }) => keyId) : outcome.reason;

describe('the first root (T12: threshold and offline root)', () => {
  test('is learnt once, by a set that the trusted keys sign', () => {
    expect(rooted().root).toMatchObject({ version: 1, threshold: 2 });
  });

  test('is pinned at enrolment, from the document beside the key set', () => {
    const envelope = fleet.keySet({ version: 4, keys: [one.entry], root });
    expect(pinKeySet(envelope, { root, nowMs: NOW_MS })).toMatchObject({ keys: { root: { version: 1 } } });
    expect(pinKeySet(envelope, { root: undefined, nowMs: NOW_MS })).toEqual({
      ok: false,
      reason: 'root_missing',
    });
  });

  const other = fleet.root({ version: 1, threshold: 1, keys: [d], signedBy: [d] });
  const foreign = fleet.root({
    version: 1,
    threshold: 1,
    keys: [a],
    signedBy: [a],
    fleetId: createFleet().fleetId,
  });
  const tooFew = fleet.root({ version: 1, threshold: 2, keys: [a, b], signedBy: [a] });
  const twice = fleet.root({ version: 1, threshold: 2, keys: [a, b], signedBy: [a, a] });
  const weak = { ...a, entry: { ...a.entry, public_key_hex: '00'.repeat(32) } };
  const weakened = fleet.root({ version: 1, threshold: 2, keys: [weak, b], signedBy: [b] });
  test.each([
    ['no document', root, []],
    ['the document of another root, as somebody on the way would bring it (T1)', root, [other]],
    ['the root of another fleet', foreign, [foreign]],
    ['fewer signatures than its own threshold', tooFew, [tooFew]],
    ['one key that signed twice: keys count, not signatures', twice, [twice]],
    ['a weak key that is to make up the number', weakened, [weakened]],
    ['what is no document', root, [null, 1, {}, { payload: 'e30=' }]],
  ])('is refused: %s', (_what, named, roots) => {
    expect(reason(take(fleet.trusted, { version: 2, keys: [one.entry], root: named }, roots))).toBe(
      'root_missing',
    );
  });
});

describe('a host that knows the root', () => {
  const withTwo = { version: 3, keys: [one.entry, two.entry], root };

  test.each([
    ['no signature of the root', {}, 'root_signature_missing'],
    ['one of the two that are needed', { rootSigners: [a] }, 'root_signature_missing'],
    ['one root key twice', { rootSigners: [a, a] }, 'root_signature_missing'],
    ['keys that are not of the root', { rootSigners: [d, e] }, 'root_signature_missing'],
    ['the threshold', { rootSigners: [a, c] }, [one.entry.key_id, two.entry.key_id]],
    [
      'the threshold alone, where every key of the server was lost',
      { signedBy: a, rootSigners: [b] },
      [one.entry.key_id, two.entry.key_id],
    ],
    ['neither', { signedBy: d, rootSigners: [e] }, 'not_vouched_for'],
  ])('takes a new key with the threshold only: %s', (_what, signers, expected) => {
    expect(reason(take(rooted(), { ...withTwo, ...signers }))).toEqual(expected);
  });

  test('takes a renewal and a revocation without the root: nothing new comes in', () => {
    const both = take(rooted(), { ...withTwo, rootSigners: [a, b] });
    if (!both.ok) throw new Error(both.reason);
    const keys = [revoked(one.entry), two.entry];
    expect(reason(take(both.keys, { version: 4, keys, root, signedBy: two }))).toEqual([two.entry.key_id]);
  });

  test('refuses a set that names no root, or another of the same version', () => {
    expect(reason(take(rooted(), { version: 3, keys: [one.entry] }))).toBe('root_missing');
    const other = fleet.root({ version: 1, threshold: 1, keys: [d], signedBy: [d] });
    expect(reason(take(rooted(), { version: 3, keys: [one.entry], root: other }, [other]))).toBe(
      'root_changed',
    );
  });

  test('a set that a root signature merely accompanies is still judged: fleet, version, expiry', () => {
    const signers = { signedBy: a, rootSigners: [b] };
    expect(reason(take(rooted(), { ...withTwo, ...signers, version: 2 }))).toBe('not_newer');
    expect(reason(take(rooted(), { ...withTwo, ...signers, expiresMs: NOW_MS }))).toBe('expired');
    expect(reason(take(rooted(), { ...withTwo, ...signers, fleetId: createFleet().fleetId }))).toBe(
      'wrong_fleet',
    );
  });
});

describe('a change of the root', () => {
  const next = fleet.root({ version: 2, threshold: 2, keys: [b, d, e], signedBy: [a, b, d] });
  const third = fleet.root({ version: 3, threshold: 1, keys: [e], signedBy: [d, e] });

  test('is followed when a threshold of the old and of the new signed it', () => {
    const taken = take(rooted(), { version: 3, keys: [one.entry], root: next }, [next]);
    expect(taken).toMatchObject({ ok: true, keys: { root: { version: 2, threshold: 2 } } });
  });

  test('a new key may come in with it, under the threshold of the new root', () => {
    const content = { version: 3, keys: [one.entry, two.entry], root: next };
    expect(reason(take(rooted(), { ...content, rootSigners: [d, e] }, [next]))).toHaveLength(2);
    expect(reason(take(rooted(), { ...content, rootSigners: [a, c] }, [next]))).toBe(
      'root_signature_missing',
    );
  });

  test('two changes are followed one after the other, whatever the order of the documents', () => {
    const taken = take(rooted(), { version: 3, keys: [one.entry], root: third }, [third, root, next]);
    expect(taken).toMatchObject({ ok: true, keys: { root: { version: 3 } } });
  });

  const byOldAlone = fleet.root({ version: 2, threshold: 2, keys: [d, e], signedBy: [a, b, d] });
  const byNewAlone = fleet.root({ version: 2, threshold: 2, keys: [d, e], signedBy: [a, d, e] });
  test.each([
    ['a link is missing', third, [third], 'root_missing'],
    ['only the old threshold signed', byOldAlone, [byOldAlone], 'root_missing'],
    ['only the new threshold signed', byNewAlone, [byNewAlone], 'root_not_vouched_for'],
  ])('is refused: %s', (_what, named, roots, expected) => {
    expect(reason(take(rooted(), { version: 3, keys: [one.entry], root: named }, roots))).toBe(expected);
  });

  test('does not go back to an older root', () => {
    const ahead = take(rooted(), { version: 3, keys: [one.entry], root: next }, [next]);
    if (!ahead.ok) throw new Error(ahead.reason);
    expect(reason(take(ahead.keys, { version: 4, keys: [one.entry], root }, [root, next]))).toBe(
      'root_behind',
    );
  });
});

test('a host that slept through the root, its change and two rotations walks all of them', () => {
  const next = fleet.root({ version: 2, threshold: 2, keys: [b, d, e], signedBy: [a, b, d] });
  const three = createKey(3);
  const keys = [revoked(one.entry), two.entry];
  const key_sets = [
    fleet.keySet({ version: 2, keys: [one.entry], root }),
    fleet.keySet({ version: 3, keys: [one.entry, two.entry], root, rootSigners: [a, b] }),
    fleet.keySet({ version: 4, keys, root, signedBy: two }),
    fleet.keySet({ version: 5, keys, root: next, signedBy: two }),
    fleet.keySet({
      version: 6,
      keys: [...keys, three.entry],
      root: next,
      signedBy: two,
      rootSigners: [d, e],
    }),
    fleet.keySet({
      version: 7,
      keys: [revoked(one.entry), revoked(two.entry), three.entry],
      root: next,
      signedBy: three,
    }),
  ];
  const walked = walkChain(fleet.trusted, { key_sets, roots: [root, next] }, NOW_MS);
  expect(walked).toMatchObject({ ok: true, keys: { version: 7, root: { version: 2 } } });
  const unsigned = key_sets.map((set, at) =>
    at === 4 ? fleet.keySet({ version: 6, keys: [...keys, three.entry], root: next, signedBy: two }) : set,
  );
  expect(walkChain(fleet.trusted, { key_sets: unsigned, roots: [root, next] }, NOW_MS)).toEqual({
    ok: false,
    reason: 'root_signature_missing',
  });
});
