import type { AgentItem, HostStatus } from '@tidegate/protocol/agents-api';

export type Presence = 'revoked' | 'unbound' | 'never' | 'offline' | 'online';

/** The presence of a host, the most serious first: an unknown state is never shown as good. */
export function presenceOf(host: Pick<AgentItem, 'status' | 'online' | 'last_seen_at'>): Presence {
  if (host.status === 'revoked') return 'revoked';
  if (host.status === 'unbound') return 'unbound';
  if (host.online) return 'online';
  return host.last_seen_at === null ? 'never' : 'offline';
}

/** The labels of the status filter. */
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

/** The text typed to confirm an act: the host's name, or the start of its id if the name is hard to type. */
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

/** Compares the key set of a host with the newest; null if that is not known. */
export function keySetWord(held: number, newest: number | null): string {
  if (newest === null) return `version ${held}; the newest is not known`;
  if (held >= newest) return `version ${held}, the newest`;
  return `version ${held}, ${newest - held} behind the newest`;
}
