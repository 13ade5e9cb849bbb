import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKPOINT_TYPE } from '@tidegate/protocol/documents';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { EVENT } from '../testing/event-chains.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { openCheckpointFile } from './checkpoint-file.ts';
import { CHECKPOINT_INTERVAL_MS } from './checkpoint-rules.ts';
import { makeCheckpoint } from './make-checkpoint.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { newestCheckpoints, readHead } from './store.ts';

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-checkpoints-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const signer = createCheckpointSigner();
  const deps = { platform, signer, file: openCheckpointFile(folder) };
  const append = () => platform.database.transact((tx) => appendEvent(tx, platform, EVENT));
  return { platform, signer, deps, append, read: platform.database.read };
}

describe.each(ENGINES)('checkpoints on $name (16.4.2)', (engine) => {
  test('the head is signed into the table and the file, and a verifier trusts both', async () => {
    const { deps, append, read, signer, platform } = await open(engine);
    expect(await makeCheckpoint(deps, 'due')).toEqual({ kind: 'not_due' });
    await append();
    await append();
    const made = await makeCheckpoint(deps, 'due');
    const [row] = await newestCheckpoints(read, 9);
    expect(made).toEqual({ kind: 'made', row });
    expect(row).toMatchObject({ ...(await readHead(read)), position: 2, created_at: platform.now() });
    expect(deps.file.tail()).toEqual([row?.envelope]);
    expect(statSync(deps.file.path).mode & 0o777).toBe(0o600);
    const opened = openCheckpoint(JSON.parse(row?.envelope ?? ''), {
      trusted: signer.trusted,
      place: 'here',
    });
    expect(opened).toMatchObject({ ok: true, pin: { position: 2, hash: row?.hash, epoch: 1 } });
  });

  test('a second one waits for five minutes, unless it is requested or the server was restored', async () => {
    const { deps, append, read, platform, signer } = await open(engine);
    await append();
    await makeCheckpoint(deps, 'due');
    platform.clock.advance(CHECKPOINT_INTERVAL_MS);
    expect(await makeCheckpoint(deps, 'always')).toEqual({ kind: 'not_due' });
    await append();
    expect(await makeCheckpoint(deps, 'due')).toMatchObject({ kind: 'made' });
    await append();
    expect(await makeCheckpoint(deps, 'due')).toEqual({ kind: 'not_due' });
    expect(await makeCheckpoint(deps, 'always')).toMatchObject({ kind: 'made' });
    await append();
    signer.nextEpoch();
    expect(await makeCheckpoint(deps, 'due')).toMatchObject({ kind: 'made', row: { epoch: 2 } });
    expect((await newestCheckpoints(read, 9)).map((row) => row.position)).toEqual([4, 3, 2, 1]);
    expect(deps.file.tail()).toHaveLength(4);
  });

  test('a log that ends before its newest checkpoint is reported', async () => {
    const { deps, append, platform } = await open(engine);
    await append();
    await append();
    await makeCheckpoint(deps, 'due');
    await platform.database.transact((tx) => tx.updateTable('events_head').set({ position: 1 }).execute());
    expect(await makeCheckpoint(deps, 'due')).toEqual({ kind: 'truncated', head: 1, checkpoint: 2 });
  });

  test('replicas that sign the same head leave one row', async () => {
    const { deps, append, read } = await open(engine);
    await append();
    await Promise.all([1, 2, 3, 4].map(() => makeCheckpoint(deps, 'due')));
    expect(await newestCheckpoints(read, 9)).toHaveLength(1);
  });
});

test('an incomplete line after a power cut does not corrupt the next one', async () => {
  const { deps } = await open(ENGINES[0] ?? expect.unreachable());
  writeFileSync(deps.file.path, '{"whole":1}\n{"hal');
  deps.file.append('{"next":1}');
  expect(readFileSync(deps.file.path, 'utf8')).toBe('{"whole":1}\n{"hal\n{"next":1}\n');
});

describe('a checkpoint is not believed (T6)', () => {
  const signer = createCheckpointSigner();
  const payload = {
    v: 1,
    fleet_id: signer.fleetId,
    epoch: 1,
    position: 3,
    hash: 'ab'.repeat(32),
    created_at: '2026-11-21T09:00:00Z',
  };
  const sign = (given: object, type = CHECKPOINT_TYPE, by = signer) =>
    by.signer().sign(type, Buffer.from(JSON.stringify(given)));
  const open = (envelope: unknown, trusted = signer.trusted) =>
    openCheckpoint(envelope, { trusted, place: 'here' });

  test.each([
    ['of another key', sign(payload, CHECKPOINT_TYPE, createCheckpointSigner(2)), 'bad_signature'],
    ['of another type', sign(payload, 'application/vnd.tidegate.state.v1+json'), 'wrong_payload_type'],
    ['that was changed', { ...sign(payload), payload: sign({ ...payload, position: 2 }).payload }, 'bad_sig'],
    ['with an unknown member', sign({ ...payload, more: 1 }), 'form'],
    ['without a position', sign({ ...payload, position: 0 }), 'form'],
    ['that is none', null, 'malformed'],
  ])('%s', (_, envelope, reason) => {
    expect(open(envelope)).toEqual({ ok: false, detail: expect.stringContaining(reason) });
  });

  test('of a key that had been revoked before; what it signed before that counts', () => {
    const keyId = signer.trusted.keys[0]?.keyId ?? '';
    const revokedAt = (ms: number) => ({ ...signer.trusted, revokedAtMs: new Map([[keyId, ms]]) });
    const at = Date.parse(payload.created_at);
    expect(open(sign(payload), revokedAt(at - 1))).toMatchObject({ ok: false });
    expect(open(sign(payload), revokedAt(at))).toMatchObject({ ok: true, createdAtMs: at });
  });
});
