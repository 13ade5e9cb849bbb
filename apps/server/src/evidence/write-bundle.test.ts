import { expect, test } from 'vitest';
import { appendEvent } from '../events/append-event.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES } from '../testing/engines.ts';
import { EVENT } from '../testing/event-chains.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { entriesOf } from '../testing/unpack-bundle.ts';
import { PART_BYTES, PIECE_BYTES } from './bundle-form.ts';
import { writeBundle } from './write-bundle.ts';

const DAY_MS = 86_400_000;
const EVENTS = 6_000;

test.each(ENGINES)('a large bundle is hashed and handed over in small pieces, on $name', async (engine) => {
  const platform = createTestPlatform(await engine.open());
  const { database, now } = platform;
  await database.transact(async (tx) => {
    for (let n = 0; n < EVENTS; n++) await appendEvent(tx, platform, EVENT);
  });
  const request = {
    ...({ scope: { kind: 'fleet' }, isBound: false, madeBy: 'ada', nowMs: now() } as const),
    span: { sinceMs: now() - DAY_MS, untilMs: now() + DAY_MS },
  };
  const pieces: Buffer[] = [];
  for await (const piece of writeBundle(database.read, createCheckpointSigner(), request)) pieces.push(piece);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(PIECE_BYTES);
  const bytes = Buffer.concat(pieces);
  const entries = entriesOf(bytes);
  const parts = entries.filter(({ name }) => name.startsWith('events/'));
  expect(parts.length).toBeGreaterThan(1);
  expect(parts[0]?.bytes).toBeGreaterThan(PART_BYTES - PIECE_BYTES);
  const manifest = entries.find(({ name }) => name === 'manifest.json');
  const envelope = JSON.parse(textOf(bytes, manifest));
  const { files } = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
  const found = entries
    .filter(({ name }) => name !== 'manifest.json')
    .map((entry) => ({ name: entry.name, bytes: entry.bytes, sha256: sha256Hex(textOf(bytes, entry)) }));
  expect(found.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(files);
});

function textOf(bytes: Buffer, entry: { at: number; bytes: number } | undefined): string {
  if (!entry) throw new Error('there is no such file');
  return bytes.subarray(entry.at, entry.at + entry.bytes).toString('utf8');
}
