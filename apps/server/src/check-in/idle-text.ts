import type { AgentFacts } from '../platform/http/access.ts';

/** What JSON holds as it is, none of it beyond ASCII; every version of an agent is such a text. */
const PLAIN = /^[\w.+:-]{1,64}$/;
const NUMBER = '(?:0|[1-9]\\d{0,5})(?:\\.\\d{1,17})?';
/** Seconds since boot, and the load: what differs from one idle check-in to the next. */
const CHANGING = new RegExp(`(?:0|[1-9]\\d{0,14})(?:,"load":\\[(?:${NUMBER}(?:,${NUMBER}){0,2})?\\])?`, 'y');

/**
 * Whether a body is, to the letter, what an agent writes that has nothing to say but what is stored of it already.
 * It spares the parser and the schema on the hot path, and accepts nothing that they would refuse; whatever else an
 * agent sends, in another order or with white space, is read by them.
 *
 * The body may be bytes read as Latin-1: all that is stored and compared here is ASCII. It is gone through once, piece
 * by piece, because to put the expected text together costs more than to compare it.
 */
export function isIdleText(body: string, stored: AgentFacts): boolean {
  const { agentVersion, bootId, keySetVersion, digests } = stored;
  if (bootId === null || !PLAIN.test(bootId)) return false;
  let at = follow(body, 0, '{"agent_version":"');
  at = follow(body, at, agentVersion);
  at = follow(body, at, '","boot_id":"');
  at = follow(body, at, bootId);
  at = follow(body, at, '","uptime_seconds":');
  at = followChanging(body, at);
  at = follow(body, at, ',"received":[],"key_set_version":');
  at = follow(body, at, String(keySetVersion));
  at = follow(body, at, ',"inventory_digest":');
  at = follow(body, at, digests);
  at = follow(body, at, '}');
  return at === body.length;
}

const ASTRAY = -1;

/** Where the piece ends that begins at `at`; ASTRAY where another text stands there, and from then on. */
function follow(body: string, at: number, piece: string): number {
  return at !== ASTRAY && body.startsWith(piece, at) ? at + piece.length : ASTRAY;
}

function followChanging(body: string, at: number): number {
  if (at === ASTRAY) return ASTRAY;
  CHANGING.lastIndex = at;
  return CHANGING.test(body) ? CHANGING.lastIndex : ASTRAY;
}
