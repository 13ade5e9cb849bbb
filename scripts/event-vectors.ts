import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { CHECKPOINT_TYPE } from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from '@tidegate/signing/sign';

// vectors/event-chain.json: a short event log with its checkpoint, and the same log with the changes an attacker could make.

const FLEET = '01900000-0000-7000-8000-0000000000f1';
const AT_MS = Date.parse('2026-01-02T12:00:00Z');
const key = loadSigningKey({
  keyId: '01900000-0000-7000-8000-0000000000e1',
  privateKeyHex: generatePrivateKeyHex(new Uint8Array(32).fill(1)),
});

interface Link {
  position: number;
  previous_hash: string | null;
  hash: string;
}

const first = linkOf(null, 'AGENT_ENROLLED', { hostname: 'näme "1"' });
const second = linkOf(first, 'MACHINE_ID_MISMATCH', { reported_machine_id: null, tries: 1e21 });
const third = linkOf(second, 'AGENT_REVOKED', {});
const checkpoint = signEnvelope(
  key,
  CHECKPOINT_TYPE,
  new TextEncoder().encode(
    JSON.stringify({
      ...{ v: 1, fleet_id: FLEET, epoch: 1, position: third.position, hash: third.hash },
      created_at: '2026-01-02T12:00:10Z',
    }),
  ),
);

/** The text of the file. */
export function eventVectors(): string {
  const rewritten = linkOf(second, 'AGENT_REVOKED', { reason: 'another' });
  const file = {
    about:
      'Logs of events with the checkpoint of the first one: "whole", or what is wrong and at which position (docs/protocol/events.md).',
    key: { key_id: key.keyId, public_key_hex: key.publicKeyHex },
    checkpoint,
    logs: [
      { verdict: 'whole', position: null, events: [first, second, third] },
      { verdict: 'changed', position: 2, events: [first, { ...second, severity: 'info' }, third] },
      { verdict: 'removed', position: 2, events: [first, third] },
      { verdict: 'moved', position: 1, events: [first, first, second, third] },
      {
        verdict: 'unlinked',
        position: 2,
        events: [first, linkOf({ ...first, hash: '0'.repeat(64) }, 'X', {})],
      },
      { verdict: 'rewritten', position: 3, events: [first, second, rewritten] },
      { verdict: 'truncated', position: 3, events: [first, second] },
    ],
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

function linkOf(before: Link | null, type: string, content: object): Link {
  const position = (before?.position ?? 0) + 1;
  const event = {
    ...{ position, id: `01900000-0000-7000-8000-00000000010${position}`, kind: 'security', type },
    ...{ severity: 'warning', component: 'agents', agent_id: null, actor: 'agent' },
    content: JSON.stringify(content),
    ...{ created_at: AT_MS + position, previous_hash: before?.hash ?? null },
  };
  return { ...event, hash: createHash('sha256').update(canonicalJson(event)).digest('hex') };
}
