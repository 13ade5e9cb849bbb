import type { Server } from 'node:tls';
import { LEAST_TLS_VERSION, type ServerCertificate } from '../platform/http/server-certificate.ts';
import type { KeyPair } from './key-pair.ts';

export interface PresentedCertificate extends ServerCertificate {
  /** Null: none yet. */
  current(): KeyPair | null;
  /** New connections get this pair; those that are open keep theirs. */
  present(pair: KeyPair): void;
}

/** What the server presents: nothing at first where there is no certificate yet. */
export function createPresentedCertificate(first: KeyPair | null): PresentedCertificate {
  let pair = first;
  let server: Server | null = null;

  function apply(): void {
    if (pair) server?.setSecureContext({ cert: pair.cert, key: pair.key, minVersion: LEAST_TLS_VERSION });
  }

  return {
    current: () => pair,
    attach(to) {
      server = to;
      apply();
    },
    present(next) {
      pair = next;
      apply();
    },
  };
}
