import { createPrivateKey, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { rfc3339 } from '../../platform/clock.ts';
import type { RandomBytes } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { repeat } from '../../platform/repeat.ts';
import { sha256Hex } from '../../platform/sha256.ts';
import { examinePair, type KeyPair } from '../key-pair.ts';
import { createPresentedCertificate } from '../presented-certificate.ts';
import type { ServerTls } from '../server-tls.ts';
import { AcmeFault } from './acme-fault.ts';
import type { AcmeFolder, StoredFailure } from './acme-folder.ts';
import { openAcmeHttp } from './acme-http.ts';
import { type AccountBinding, openAcmeSession } from './acme-session.ts';
import { makeKey } from './make-certificates.ts';
import { orderCertificate, type Responder } from './order-certificate.ts';
import { isPauseOver, renewAtMs, retryAtMs } from './renewal-rules.ts';

/** How often is looked whether a certificate is due, in milliseconds. */
const LOOK_MS = 30_000;
const POLL_MS = 1_000;

export interface AcmeOptions {
  names: readonly string[];
  directoryUrl: string;
  email: string | null;
  binding: AccountBinding | null;
  /** Certificates in PEM that the ACME server is trusted by; null: the public ones. */
  ca: string | null;
  folder: AcmeFolder;
  responder: Responder;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  now: () => number;
  random: RandomBytes;
  pollMs?: number;
}

/**
 * Presents the stored certificate, if there is one, and gets a new one when it is due: there is none, it is for other
 * names or of another ACME server, or a third of its lifetime is left. Without a certificate every handshake fails.
 */
export function keepCertificate(options: AcmeOptions): ServerTls {
  const { folder, log, now, random } = options;
  const settings = digestOfSettings(options);
  let held = folder.certificate();
  let failed = folder.failure();
  const presented = createPresentedCertificate(held && examinePair(held).ok ? held : null);
  const stopping = new AbortController();
  let running: Promise<void> | null = null;

  function isDue(): boolean {
    const examined = held && examinePair(held);
    if (!examined?.ok || held?.directoryUrl !== options.directoryUrl) return true;
    const { facts } = examined;
    return now() >= renewAtMs(facts) || !options.names.every((name) => facts.covers(name));
  }

  async function look(by: 'timer' | 'operator'): Promise<void> {
    running ??= lookOnce(by).finally(() => {
      running = null;
    });
    await running;
  }

  async function lookOnce(by: 'timer' | 'operator'): Promise<void> {
    if (stopping.signal.aborted || !isDue()) return;
    // Other settings may succeed at once.
    const earlier = failed?.settings === settings ? failed : null;
    if (earlier && mustWait(earlier, by)) return;
    try {
      await renew();
    } catch (error) {
      if (stopping.signal.aborted) return;
      // Whatever goes wrong is a failed attempt: it ends no server, and the next one waits its turn.
      const fault = error instanceof AcmeFault ? error : new AcmeFault(`the attempt ended: ${String(error)}`);
      recordFailure(fault, earlier);
    }
  }

  /** An operator who asks need not wait, unless the ACME server asked for it. */
  function mustWait(failure: StoredFailure, by: 'timer' | 'operator'): boolean {
    const atMs = by === 'timer' ? failure.retryAtMs : failure.askedUntilMs;
    return atMs !== null && !isPauseOver({ nowMs: now(), atMs });
  }

  async function renew(): Promise<void> {
    const { names, directoryUrl, responder } = options;
    log.info('certificate asked for', {
      names: names.join(','),
      directory: directoryUrl,
      challenge: responder.type,
    });
    const pair = await order();
    presented.present(pair);
    held = { directoryUrl, ...pair };
    failed = null;
    store(() => {
      folder.keepCertificate({ directoryUrl, ...pair });
      folder.keepFailure(null);
    });
    const examined = examinePair(pair);
    if (!examined.ok) return;
    const { facts } = examined;
    log.info('certificate issued', { valid_until: rfc3339(facts.notAfterMs) });
    // Without this, a clock that is weeks ahead would ask for a certificate at every look.
    if (now() >= renewAtMs(facts)) {
      throw new AcmeFault('the new certificate is to be renewed already: check the clock of this server');
    }
  }

  async function order(): Promise<KeyPair> {
    const { names, directoryUrl, email, binding, responder, pollMs = POLL_MS } = options;
    const { signal } = stopping;
    const http = openAcmeHttp({ ca: options.ca, now, signal });
    try {
      const account = { key: await accountKey(), email, binding };
      const session = await openAcmeSession(http, { directoryUrl, account });
      const pause = (ms: number) => sleep(ms, undefined, { signal });
      return await orderCertificate(session, { names, responder, pause, pollMs });
    } finally {
      await http.close();
    }
  }

  async function accountKey(): Promise<KeyObject> {
    const kept = folder.accountKey();
    if (kept !== null) return kept;
    const made = await makeKey();
    store(() => folder.keepAccountKey(made));
    return createPrivateKey(made);
  }

  /** A full disk does not take away what was issued: it is used until the restart. */
  function store(write: () => void): void {
    try {
      write();
    } catch (error) {
      log.error('the data folder cannot keep what ACME needs', { cause: String(error) });
    }
  }

  function recordFailure(fault: AcmeFault, earlier: StoredFailure | null): void {
    const nowMs = now();
    const failures = (earlier?.failures ?? 0) + 1;
    const { retryAfterMs } = fault;
    const atMs = retryAtMs({ nowMs, failures, retryAfterMs, jitter: random(1).readUInt8() / 255 });
    const failure = {
      ...{ settings, failures, sinceMs: earlier?.sinceMs ?? nowMs, lastMs: nowMs, retryAtMs: atMs },
      askedUntilMs: retryAfterMs === null ? null : Math.min(nowMs + retryAfterMs, atMs),
      cause: fault.message,
    };
    failed = failure;
    store(() => folder.keepFailure(failure));
    log.warn('certificate not issued', {
      cause: fault.message,
      failures,
      next_attempt: rfc3339(atMs),
      serving:
        presented.current() === null ? 'nothing: every https connection fails until then' : 'the old one',
    });
  }

  const work = repeat({ intervalMs: LOOK_MS, run: () => look('timer') });
  return {
    ...presented,
    look,
    start() {
      if (presented.current() === null) {
        log.warn('no certificate yet: https connections fail until one is issued', {
          names: options.names.join(','),
          challenge: options.responder.type,
        });
      }
      work.start();
    },
    async stop() {
      stopping.abort();
      await work.stop();
      await running;
    },
  };
}

/** Changes with every setting that a failure may come from. */
function digestOfSettings({ names, directoryUrl, email, binding, ca, responder }: AcmeOptions): string {
  return sha256Hex(JSON.stringify([names, directoryUrl, email, binding, ca, responder.type]));
}
