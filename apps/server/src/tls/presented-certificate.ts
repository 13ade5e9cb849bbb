import type { Server } from 'node:tls';
import { type Clock, systemClock } from '../platform/clock.ts';
import { LEAST_TLS_VERSION, type ServerCertificate } from '../platform/http/server-certificate.ts';
import { type RandomBytes, systemRandom } from '../platform/ids.ts';
import type { KeyPair } from './key-pair.ts';

/** How long one key encrypts the tickets of sessions: who learns it can read the connections that resumed by them. */
export const TICKET_KEY_MS = 12 * 3_600_000;
const TICKET_KEY_BYTES = 48;
/** Tickets count in one context; by default it is made of the arguments of a process, which differ between ours. */
const SESSION_CONTEXT = 'tidegate';

/** What all processes of a server present: tickets of one are known to the others. Never written to disk. */
export interface SharedCertificate extends KeyPair {
  /** In hex. */
  ticketKey: string;
}

export interface PresentedCertificate extends ServerCertificate {
  /** Null: none yet. */
  current(): KeyPair | null;
  /** For the other processes of this server; the same object until something changes. Null: none yet. */
  shared(): SharedCertificate | null;
  /** New connections get this pair, and no session of another one is resumed; connections that are open keep theirs. */
  present(pair: KeyPair): void;
  /** Presents what another process of this server shares. */
  follow(shared: SharedCertificate): void;
}

/** What the server presents: nothing at first where there is no certificate yet. */
export function createPresentedCertificate(
  first: KeyPair | null,
  { now, random }: { now: Clock; random: RandomBytes } = { now: systemClock, random: systemRandom },
): PresentedCertificate {
  let ticketKeyEndsMs = Number.POSITIVE_INFINITY;
  let shared = first && withNewKey(first);
  let server: Server | null = null;

  function withNewKey({ cert, key }: KeyPair): SharedCertificate {
    ticketKeyEndsMs = now() + TICKET_KEY_MS;
    return { cert, key, ticketKey: random(TICKET_KEY_BYTES).toString('hex') };
  }

  function apply(next: SharedCertificate): void {
    shared = next;
    server?.setSecureContext({
      ...{ cert: next.cert, key: next.key, minVersion: LEAST_TLS_VERSION },
      ...{ ticketKeys: Buffer.from(next.ticketKey, 'hex'), sessionIdContext: SESSION_CONTEXT },
    });
  }

  function renewTicketKey(): void {
    if (shared !== null && now() >= ticketKeyEndsMs) apply(withNewKey(shared));
  }

  return {
    current: () => shared,
    shared() {
      renewTicketKey();
      return shared;
    },
    attach(to) {
      server = to;
      if (shared !== null) apply(shared);
      // Before the handshake of this connection.
      to.prependListener('connection', renewTicketKey);
    },
    present: (pair) => apply(withNewKey(pair)),
    follow(next) {
      // The process that shares it renews the key.
      ticketKeyEndsMs = Number.POSITIVE_INFINITY;
      apply(next);
    },
  };
}
