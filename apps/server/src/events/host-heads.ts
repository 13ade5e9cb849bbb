import { EventsHead } from '@tidegate/protocol/documents';
import { nullable, nullish, Timestamp } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { HostHead } from './verify-chain.ts';

/** Maximum heads to compare: one for each host of a large fleet. */
export const HEADS_MAX = 10_000;

const PLAIN = /^([0-9a-f]{64}):([1-9][0-9]{0,15})$/;
const Seen = Type.Object({
  ...EventsHead.properties,
  epoch: Type.Integer({ minimum: 1 }),
  server_time: Timestamp,
});
const Status = Type.Object({
  agent_id: Type.String({ maxLength: 64 }),
  events_head: nullable(Seen),
  events_rolled_back: nullish(Type.Object({ kept: Seen })),
});

export type HostHeads = { ok: true; heads: HostHead[] } | { ok: false; detail: string };

/**
 * Reads heads collected from hosts: HEX:POSITION, or the output of `tidegate-agent status --json`, one per
 * line or in one array. A head that a host kept when the log went back counts as well: it is the evidence.
 */
export function readHostHeads(text: string): HostHeads {
  const whole = parseStrictJson(text);
  const items = whole.ok && Array.isArray(whole.value) ? whole.value : linesOf(text);
  const heads: HostHead[] = [];
  for (const [i, item] of items.entries()) {
    const read = readHead(item);
    if (read === null)
      return { ok: false, detail: `entry ${i + 1} is neither HEX:POSITION nor the status of an agent` };
    heads.push(...read);
    if (heads.length > HEADS_MAX) return { ok: false, detail: `there are more than ${HEADS_MAX} heads` };
  }
  return { ok: true, heads };
}

function linesOf(text: string): unknown[] {
  return text.split('\n').flatMap((line): unknown[] => {
    const trimmed = line.trim();
    if (trimmed === '') return [];
    const parsed = PLAIN.test(trimmed) ? null : parseStrictJson(trimmed);
    return [parsed?.ok ? parsed.value : trimmed];
  });
}

/** Null if the item is no head; empty if the host has seen none yet. */
function readHead(item: unknown): HostHead[] | null {
  if (typeof item === 'string') {
    const [, hash, position] = PLAIN.exec(item) ?? [];
    if (hash === undefined) return null;
    return [
      { position: Number(position), hash, epoch: null, seenAtMs: null, source: 'a head that was given' },
    ];
  }
  if (!Value.Check(Status, item)) return null;
  const { agent_id, events_head, events_rolled_back } = item;
  const kept = [events_head, events_rolled_back?.kept ?? null].filter((head) => head !== null);
  return kept.map(({ position, hash, epoch, server_time }) => ({
    position,
    hash,
    epoch,
    seenAtMs: Date.parse(server_time),
    source: `the head that agent ${agent_id} saw signed at ${server_time}`,
  }));
}
