/** Why a certificate was not issued. The text is for an operator; it holds no key. */
export class AcmeFault extends Error {
  override name = 'AcmeFault';
  /** Milliseconds that the ACME server asked to wait; null if it named none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { retryAfterMs = null }: { retryAfterMs?: number | null } = {}) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}
