import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTrustedKey } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ExportEvent } from '../apps/server/src/events/export-lines.ts';
import { openCheckpoint } from '../apps/server/src/events/open-checkpoint.ts';
import { createChainVerifier } from '../apps/server/src/events/verify-chain.ts';
import { eventVectors } from './event-vectors.ts';

const TEXT = readFileSync(join(import.meta.dirname, '../vectors/event-chain.json'), 'utf8');
const Vectors = Type.Object({
  key: Type.Object({ key_id: Type.String(), public_key_hex: Type.String() }),
  checkpoint: Type.Unknown(),
  logs: Type.Array(
    Type.Object({
      verdict: Type.String(),
      position: Type.Union([Type.Integer(), Type.Null()]),
      events: Type.Array(ExportEvent.properties.event),
    }),
  ),
});
const { key, checkpoint, logs } = Value.Parse(Vectors, JSON.parse(TEXT));

test('the file matches the output of the script', () => {
  expect(TEXT).toBe(eventVectors());
});

describe('the verifier gives each log in vectors/event-chain.json the verdict of the file', () => {
  test.each(logs)('$verdict at $position', ({ verdict, position, events }) => {
    const trusted = {
      keys: [loadTrustedKey({ keyId: key.key_id, publicKeyHex: key.public_key_hex })],
      revokedAtMs: new Map<string, number>(),
    };
    const opened = openCheckpoint(checkpoint, { trusted, place: 'in the vectors' });
    if (!opened.ok) throw new Error(opened.detail);
    const verifier = createChainVerifier({ start: { position: 0, hash: null }, pins: [opened.pin] });
    const faults = events.flatMap((event) => verifier.take(event) ?? []);
    const fault = faults[0] ?? verifier.end(null);
    expect([fault?.kind ?? 'whole', fault?.position ?? null]).toEqual([verdict, position]);
  });
});
