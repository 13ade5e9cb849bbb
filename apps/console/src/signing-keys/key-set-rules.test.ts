import { expect, test } from 'vitest';
import { isHeldByAll, readinessText, readKeySet } from './key-set-rules.ts';

const envelope = (payload: object) => ({
  payloadType: 'x',
  payload: btoa(JSON.stringify(payload)),
  signatures: [{ keyid: 'k', sig: 's' }],
});
const SET = { v: 1, fleet_id: 'f', version: 4, issued_at: 'a', expires_at: 'b', keys: [] };

test('a fleet without a root has none', () => {
  expect(readKeySet({ key_set: envelope(SET) })).toEqual({
    version: 4,
    issuedAt: 'a',
    expiresAt: 'b',
    root: null,
  });
});

test('the root is the one that the key set names, and not a later one', () => {
  const set = { ...SET, root_version: 2, root_sha256: 'ff' };
  const roots = [1, 2, 3].map((version) =>
    envelope({ version, threshold: version, keys: [`key ${version}`] }),
  );
  expect(readKeySet({ key_set: envelope(set), roots }).root).toEqual({
    version: 2,
    sha256: 'ff',
    threshold: 2,
    keys: ['key 2'],
  });
  expect(readKeySet({ key_set: envelope(set) }).root?.threshold).toBeNull();
});

test.each([
  [0, 0, 'no host has joined yet'],
  [0, 1, '0 of 1 hosts hold it'],
  [1, 1, 'the only host holds it'],
  [97, 100, '97 of 100 hosts hold it'],
  [100, 100, 'all 100 hosts hold it'],
  [97, null, '97 hosts hold it; the total is not known yet'],
])('%s of %s: %s', (held, hosts, text) => {
  expect(readinessText(held, hosts)).toBe(text);
  expect(isHeldByAll(held, hosts)).toBe(hosts !== null && held >= hosts);
});
