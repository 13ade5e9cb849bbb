import { readFileSync } from 'node:fs';
import { rfc3339 } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { repeat } from '../platform/repeat.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { examinePair, type KeyPair } from './key-pair.ts';
import { createPresentedCertificate } from './presented-certificate.ts';
import type { ServerTls } from './server-tls.ts';

/** How often the files are read, in milliseconds. They are small, and a watcher would miss a replaced symbolic link. */
const LOOK_MS = 10_000;

/** Where certificate and key come from: PEM text or the path of a file, each. */
export interface PairSource {
  cert: string;
  key: string;
}

export type OpenedFiles = { ok: true; tls: ServerTls } | { ok: false; fault: string };

/**
 * Presents the pair of these files and follows their changes. A pair that does not fit together, as while one of two
 * files is replaced, is never presented: the old one stays, and a pair that remains unfit is logged once.
 */
export function openCertificateFiles(source: PairSource, log: Pick<Log, 'info' | 'warn'>): OpenedFiles {
  const first = readPair(source);
  if (!first.ok) return first;
  const examined = examinePair(first.pair);
  if (!examined.ok) return examined;
  const presented = createPresentedCertificate(first.pair);
  let inUse = digestOf(first);
  /** What the last look found and did not present. */
  let unfit: { digest: string; isLogged: boolean } | null = null;

  async function look(by: 'timer' | 'operator'): Promise<void> {
    const read = readPair(source);
    const digest = digestOf(read);
    if (digest === inUse) {
      unfit = null;
      return;
    }
    const found = read.ok ? examinePair(read.pair) : read;
    if (read.ok && found.ok) {
      presented.present(read.pair);
      inUse = digest;
      unfit = null;
      log.info('certificate reloaded', { valid_until: rfc3339(found.facts.notAfterMs) });
      return;
    }
    const isSeenBefore = unfit?.digest === digest;
    const isLogged = unfit?.isLogged === true && isSeenBefore;
    // A pair that is being replaced file by file fits at the next look.
    const logsNow = !isLogged && (isSeenBefore || by === 'operator');
    if (logsNow && !found.ok) log.warn('the changed certificate is not used', { cause: found.fault });
    unfit = { digest, isLogged: isLogged || logsNow };
  }

  const work = repeat({ intervalMs: LOOK_MS, run: () => look('timer') });
  return { ok: true, tls: { ...presented, ...work, look } };
}

type ReadPair = { ok: true; pair: KeyPair } | { ok: false; fault: string };

/** A fault names the setting and the system's code, and not the value, which may be the key itself. */
export function readPair({ cert, key }: PairSource): ReadPair {
  const parts: string[] = [];
  for (const [name, given] of [
    ['SERVICE_TLS_CERT', cert],
    ['SERVICE_TLS_KEY', key],
  ] as const) {
    try {
      parts.push(given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8'));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      return { ok: false, fault: `the file of ${name} cannot be read (${code})` };
    }
  }
  const [chain = '', own = ''] = parts;
  return { ok: true, pair: { cert: chain, key: own } };
}

function digestOf(read: ReadPair): string {
  return read.ok ? sha256Hex(JSON.stringify([read.pair.cert, read.pair.key])) : read.fault;
}
