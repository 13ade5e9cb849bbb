import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { nullable, Sha256Hex, strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { EventRow } from '../events/store.ts';
import { hashFrom, hexOfState, SHA256_BLOCK, stateAfter, stateOfHex } from './sha256-rules.ts';

/**
 * An event of which only the link is shown. Its hash covers a text whose members are sorted, so the content stands before
 * the hash of the event before it. SHA-256 up to a block behind the content, and the rest of the text, prove the link.
 */
export const WithheldEvent = strict({
  position: Type.Integer({ minimum: 1 }),
  previous_hash: nullable(Sha256Hex),
  hash: Sha256Hex,
  /** SHA-256 after `blocks` blocks of 64 bytes. */
  state: Sha256Hex,
  blocks: Type.Integer({ minimum: 1, maximum: 2 ** 24 }),
  tail: Type.String({ maxLength: 512 }),
});
export type WithheldEvent = Static<typeof WithheldEvent>;

/** Where the hidden part ends: no text inside a member has this, as its quotes are escaped there. */
const AFTER_CONTENT = ',"created_at":';
/** The end of the text of an event. */
const TAIL =
  /,"position":([0-9]{1,15}),"previous_hash":(null|"[0-9a-f]{64}"),"severity":"[a-z]+","type":"[A-Za-z_]+"\}$/;

export function withholdEvent({ hash, ...row }: EventRow): WithheldEvent {
  const text = Buffer.from(canonicalJson(row));
  const blocks = Math.ceil(text.indexOf(AFTER_CONTENT) / SHA256_BLOCK);
  const before = blocks * SHA256_BLOCK;
  return {
    position: row.position,
    previous_hash: row.previous_hash,
    hash,
    state: hexOfState(stateAfter(text.subarray(0, before))),
    blocks,
    tail: text.toString('utf8', before),
  };
}

/** The member that does not fit its hash; null if all do. */
export function faultOfWithheld(event: WithheldEvent): keyof WithheldEvent | null {
  const { state, blocks, tail, hash } = event;
  const read = TAIL.exec(tail);
  if (read === null) return 'tail';
  if (Number(read[1]) !== event.position) return 'position';
  if (read[2] !== (event.previous_hash === null ? 'null' : `"${event.previous_hash}"`))
    return 'previous_hash';
  const bytes = Buffer.from(tail);
  return hashFrom(stateOfHex(state), { before: blocks * SHA256_BLOCK, tail: bytes }) === hash ? null : 'hash';
}
