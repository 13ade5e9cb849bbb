import type { Work } from '../platform/background.ts';
import type { ServerCertificate } from '../platform/http/server-certificate.ts';
import type { KeyPair } from './key-pair.ts';

/** The server's certificate, and the work that keeps it current. */
export interface ServerTls extends ServerCertificate, Work {
  /** What is presented now; null: nothing yet. */
  current(): KeyPair | null;
  /**
   * Looks for a newer certificate. An operator who asks (SIGHUP) need not wait where the timer does, and hears at once
   * what is wrong.
   */
  look(by: 'timer' | 'operator'): Promise<void>;
}
