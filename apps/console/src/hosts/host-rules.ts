import type { AgentItem, HostStatus } from '@tidegate/protocol/agents-api';

export type Presence = 'revoked' | 'unbound' | 'never' | 'offline' | 'online';

/** How a host stands, the graver first: what is not known to be well is never shown as well. */
export function presenceOf(host: Pick<AgentItem, 'status' | 'online' | 'last_seen_at'>): Presence {
  if (host.status === 'revoked') return 'revoked';
  if (host.status === 'unbound') return 'unbound';
  if (host.online) return 'online';
  return host.last_seen_at === null ? 'never' : 'offline';
}

/** What the list can be narrowed to, in words. */
export const STATUS_WORDS: Readonly<Record<HostStatus, string>> = {
  needs_attention: 'Needs attention',
  online: 'Online',
  offline: 'Offline',
  never: 'Never seen',
  clone_suspected: 'Clone suspected',
  bound: 'Bound to a machine',
  unbound: 'Not bound',
  revoked: 'Revoked',
};

const PLAIN_NAME = /^[\w.-]{1,64}$/;
const ID_CHARS = 8;

/** What is typed before an act on a host: its name; the beginning of its id where the name is hard to type. */
export function confirmationOf({ hostname, id }: Pick<AgentItem, 'hostname' | 'id'>): string {
  return PLAIN_NAME.test(hostname) ? hostname : id.slice(0, ID_CHARS);
}

/** `3 d 4 h`, `12 min`. */
export function uptimeText(seconds: number | null): string {
  if (seconds === null) return 'unknown';
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** Whether a host holds the newest key set; null where that is not known. */
export function keySetWord(held: number, newest: number | null): string {
  if (newest === null) return `version ${held}; the newest is not known`;
  if (held >= newest) return `version ${held}, the newest`;
  return `version ${held}, ${newest - held} behind the newest`;
}
