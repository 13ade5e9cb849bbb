import { KEY_CHAIN_MAX, KEY_SETS_PAGE } from '@tidegate/protocol/documents';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { createKey, revoked, type TestKey } from '../testing/fleet.ts';
import { problem } from '../testing/scripted-server.ts';
import { refreshKeys } from './refresh-keys.ts';

let agent: TestAgent;

beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

/** Rotations one after the other, each key set signed by one key alone; the server answers the last as the newest. */
function rotate(times: number): TestKey {
  const { fleet, server } = agent;
  let signer = fleet.key;
  let revokedEntries = [revoked(fleet.key.entry)].slice(1);
  for (let rotation = 0; rotation < times; rotation += 1) {
    const next = createKey(rotation + 2);
    const version = server.keySets.length + 2;
    const add = { version, keys: [...revokedEntries, signer.entry, next.entry], signedBy: signer };
    revokedEntries = [...revokedEntries, revoked(signer.entry)].slice(-8);
    const revoke = { version: version + 1, keys: [...revokedEntries, next.entry], signedBy: next };
    server.keySets.push(fleet.keySet(add), fleet.keySet(revoke));
    signer = next;
  }
  server.keySet = server.keySets.at(-1);
  return signer;
}

test('E8: a host that missed 40 rotations fetches all pages and recovers', async () => {
  const signer = rotate(40);
  const runtime = agent.start();
  expect(await refreshKeys(runtime)).toEqual({ ok: true, value: { changed: true, refusal: null } });
  const { version, keys } = runtime.config.current().trusted_keys;
  expect(version).toBe(81);
  expect(keys.filter(({ status }) => status === 'active')).toEqual([signer.entry]);
  expect(agent.server.received('public-keys')).toHaveLength(Math.ceil(80 / KEY_SETS_PAGE) + 1);
  // Kept: a new process of this host needs no chain.
  expect(agent.start().config.current().trusted_keys.version).toBe(81);
});

test('one rotation needs one request, and the newest set alone', async () => {
  const { fleet, server } = agent;
  server.keySet = fleet.keySet({ version: 2, keys: [fleet.key.entry, createKey(2).entry] });
  server.keySets = [server.keySet];
  expect(await refreshKeys(agent.start())).toEqual({ ok: true, value: { changed: true, refusal: null } });
  expect(server.received('public-keys')).toHaveLength(1);
});

test('a server that repeats the same links is abandoned at the limit, and nothing is stored', async () => {
  const { fleet, server } = agent;
  rotate(1);
  const stranger = createKey(9);
  server.keySet = fleet.keySet({ version: 900, keys: [stranger.entry], signedBy: stranger });
  const [first] = server.keySets;
  server.keySets = Array.from({ length: KEY_CHAIN_MAX * 2 }, () => first);
  const runtime = agent.start();
  expect(await refreshKeys(runtime)).toEqual({
    ok: true,
    value: { changed: false, refusal: 'chain_too_long' },
  });
  expect(server.received('public-keys').length).toBeLessThanOrEqual(KEY_CHAIN_MAX / KEY_SETS_PAGE + 2);
  expect(runtime.config.current().trusted_keys.version).toBe(1);
});

test('an incomplete chain is retried later; the trusted keys are unchanged', async () => {
  rotate(20);
  const runtime = agent.start();
  let asked = 0;
  agent.server.override = (path) => (path === 'public-keys' && ++asked === 2 ? problem('unavailable') : null);
  expect(await refreshKeys(runtime)).toMatchObject({ ok: false, failure: { kind: 'retryable' } });
  expect(runtime.config.current().trusted_keys.version).toBe(1);
  expect(await refreshKeys(runtime)).toMatchObject({ ok: true, value: { changed: true } });
});
