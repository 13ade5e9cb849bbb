import type { AgentFacts } from '../platform/http/access.ts';

/** What JSON holds as it is; every version of an agent is such a text. */
const PLAIN = /^[\w.+:-]{1,64}$/;
const NUMBER = '(?:0|[1-9]\\d{0,5})(?:\\.\\d{1,17})?';
/** Seconds since boot, and the load: what differs from one idle check-in to the next. */
const CHANGING = new RegExp(`^(?:0|[1-9]\\d{0,14})(?:,"load":\\[(?:${NUMBER}(?:,${NUMBER}){0,2})?\\])?$`);

/**
 * Whether a body is, to the letter, what an agent writes that has nothing to say but what is stored of it already.
 * It spares the parser and the schema on the hot path, and accepts nothing that they would refuse; whatever else an
 * agent sends, in another order or with white space, is read by them.
 */
export function isIdleText(body: string, stored: AgentFacts): boolean {
  const { agentVersion, bootId, keySetVersion, digests } = stored;
  const head = `{"agent_version":"${agentVersion}","boot_id":"${bootId}","uptime_seconds":`;
  const tail = `,"received":[],"key_set_version":${keySetVersion},"inventory_digest":${digests}}`;
  return (
    body.startsWith(head) &&
    body.endsWith(tail) &&
    CHANGING.test(body.slice(head.length, body.length - tail.length)) &&
    bootId !== null &&
    PLAIN.test(bootId)
  );
}
