import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEYSET_TYPE, KeySetPayload, STATE_TYPE, StatePayload } from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform, type TestPlatform } from '../testing/test-platform.ts';
import { addKey, putKeyInUse, revokeVersion } from './change-keys.ts';
import { openKeyFolder } from './key-folder.ts';
import { openKeyRing } from './key-ring.ts';
import { type LoadOutcome, loadKeys } from './load-keys.ts';
import { listKeys } from './store.ts';

const keyOne = generatePrivateKeyHex(Buffer.alloc(32, 1));
const keyTwo = generatePrivateKeyHex(Buffer.alloc(32, 2));
const none = { signingPrivateKey: null, signingPreviousPrivateKey: null };

function dataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const folder = dataDir();
  const load = (config: Partial<typeof none | { signingPrivateKey: string }> = {}) =>
    loadKeys(platform, { ...none, ...config }, openKeyFolder(folder));
  return { platform, folder, load };
}

function held(outcome: LoadOutcome) {
  if (!outcome.ok) throw new Error(outcome.fault);
  return outcome;
}

async function ringOf(platform: TestPlatform, outcome: LoadOutcome) {
  return openKeyRing(platform, held(outcome));
}

describe.each(ENGINES)('signing keys on $name', (engine) => {
  test('R4: without a key the server creates version 1, stores it with mode 0600 and warns', async () => {
    const { platform, folder, load } = await start(engine);
    held(await load());
    const [key] = await listKeys(platform.database.read);
    expect(key).toMatchObject({ version: 1, status: 'active', in_use: 1 });
    const files = readdirSync(join(folder, 'keys'));
    expect(files).toEqual([`${key?.key_id}.key`]);
    expect(statSync(join(folder, 'keys', files[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(platform.lines.some((line) => line.startsWith('[WARN] signing key made'))).toBe(true);
    const again = held(await load());
    expect([...again.held.keys()]).toEqual([key?.key_id]);
    expect(await listKeys(platform.database.read)).toHaveLength(1);
  });

  test('R4: with an empty table the key of the environment is version 1 and in use', async () => {
    const { platform, folder, load } = await start(engine);
    held(await load({ signingPrivateKey: keyOne }));
    const [key] = await listKeys(platform.database.read);
    expect(key).toMatchObject({
      version: 1,
      in_use: 1,
      public_key_hex: loadSigningKey({ keyId: 'k', privateKeyHex: keyOne }).publicKeyHex,
    });
    expect(readdirSync(join(folder, 'keys'))).toEqual([]);
  });

  test('R4: an unknown key becomes the next version, vouched for by the held one, and signs only after use', async () => {
    const { platform, load } = await start(engine);
    const first = await ringOf(platform, await load());
    const ring = await ringOf(platform, await load({ signingPrivateKey: keyTwo }));
    expect((await listKeys(platform.database.read)).map((k) => [k.version, k.in_use])).toEqual([
      [2, 0],
      [1, 1],
    ]);
    expect(ring.signer().keyVersion).toBe(1);
    const [old] = first.keySet().keys;
    if (!old) throw new Error('the first key set has a key');
    const trusted = loadTrustedKey({ keyId: old.key_id, publicKeyHex: old.public_key_hex });
    const verified = verifyEnvelope(ring.keySet().envelope, [trusted], KEYSET_TYPE);
    expect(verified.ok).toBe(true);
    const payload: unknown = verified.ok && JSON.parse(Buffer.from(verified.payload).toString());
    if (!Value.Check(KeySetPayload, payload)) throw new Error('the key set has another shape');
    expect(payload.keys.map((k) => k.version)).toEqual([2, 1]);
    expect(payload.version).toBe(2);
  });

  test('R4: an unknown key that no held key can vouch for stops the start with instructions', async () => {
    const { load } = await start(engine);
    held(await load({ signingPrivateKey: keyOne }));
    expect(await load({ signingPrivateKey: keyTwo })).toEqual({
      ok: false,
      fault: expect.stringContaining('SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY'),
    });
  });

  test('R4: a missing private half, a revoked key and mismatched halves stop the start', async () => {
    const { platform, load } = await start(engine);
    const ring = await ringOf(platform, await load({ signingPrivateKey: keyOne }));
    expect(await load()).toMatchObject({ ok: false, fault: expect.stringContaining('is missing') });

    const two = loadSigningKey({ keyId: platform.newId(), privateKeyHex: keyTwo });
    const vouchers = ring.vouchers();
    await platform.database.transact(async (tx) => {
      const key = { keyId: two.keyId, publicKeyHex: two.publicKeyHex, inUse: false };
      await addKey(tx, platform, { key, vouchers, actor: 'test' });
      await putKeyInUse(tx, platform, [two, ...vouchers]);
      expect(await revokeVersion(tx, platform, { version: 1, vouchers: [two], actor: 'test' })).toBe(
        'revoked',
      );
      expect(await revokeVersion(tx, platform, { version: 1, vouchers: [two], actor: 'test' })).toBe(
        'already_revoked',
      );
      expect(await revokeVersion(tx, platform, { version: 2, vouchers: [two], actor: 'test' })).toBe(
        'in_use',
      );
      expect(await revokeVersion(tx, platform, { version: 9, vouchers: [two], actor: 'test' })).toBe(
        'unknown',
      );
    });
    expect(await load({ signingPrivateKey: keyOne })).toMatchObject({
      ok: false,
      fault: expect.stringContaining('version 1, which is revoked'),
    });
    const crossed = keyOne.slice(0, 64) + keyTwo.slice(64);
    const outcome = await load({ signingPrivateKey: crossed });
    expect(outcome).toMatchObject({
      ok: false,
      fault: expect.stringMatching(/^SERVICE_SIGNING_PRIVATE_KEY is a hidden value; allowed: /),
    });
    expect(JSON.stringify(outcome)).not.toContain(keyOne.slice(0, 64));
  });

  test('the state document is signed once in 10 s for everyone, and immediately after a change of keys', async () => {
    const { platform, load } = await start(engine);
    const ring = await ringOf(platform, await load());
    const first = await ring.state();
    platform.clock.advance(9_999);
    expect(await ring.state()).toBe(first);
    platform.clock.advance(1);
    const second = await ring.state();
    expect(second).not.toBe(first);
    await ring.reload();
    const key = ring.keySet().keys[0];
    if (!key) throw new Error('the key set has a key');
    const trusted = loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex });
    const verified = verifyEnvelope(JSON.parse(await ring.state()), [trusted], STATE_TYPE);
    const payload: unknown = verified.ok && JSON.parse(Buffer.from(verified.payload).toString());
    expect(Value.Check(StatePayload, payload)).toBe(true);
    expect(payload).toMatchObject({ fleet_id: ring.fleetId, epoch: 1, key_set_version: 1 });
  });

  test('a key set is signed anew when a third of its 90 days is left', async () => {
    const { platform, load } = await start(engine);
    const ring = await ringOf(platform, await load());
    expect(ring.keySet().version).toBe(1);
    platform.clock.advance(60 * 86_400_000);
    await ring.reload();
    expect(ring.keySet().version).toBe(1);
    platform.clock.advance(1);
    await ring.reload();
    expect(ring.keySet().version).toBe(2);
  });
});
