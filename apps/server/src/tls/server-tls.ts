import type { Work } from '../platform/background.ts';
import type { ServerCertificate } from '../platform/http/server-certificate.ts';
import type { KeyPair } from './key-pair.ts';
import type { SharedCertificate } from './presented-certificate.ts';

/** The server's certificate, and the work that keeps it current. */
export interface ServerTls extends ServerCertificate, Work {
  /** What is presented now; null: nothing yet. */
  current(): KeyPair | null;
  /** For the other processes of this server; the same object until something changes. Null: nothing yet. */
  shared(): SharedCertificate | null;
  /**
   * Looks for a newer certificate. An operator who asks (SIGHUP) need not wait where the timer does, and hears at once
   * what is wrong.
   */
  look(by: 'timer' | 'operator'): Promise<void>;
}
