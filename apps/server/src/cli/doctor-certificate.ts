import type { Config } from '../config.ts';
import { rfc3339 } from '../platform/clock.ts';
import { acmeFolder } from '../tls/acme/acme-folder.ts';
import { readPair } from '../tls/certificate-files.ts';
import { type CertificateFacts, examinePair } from '../tls/key-pair.ts';
import type { Finding } from './doctor-rules.ts';

const CHECK = 'certificate';
/** A certificate with less of its lifetime left was not renewed when it was due. */
const SHARE_LATE = 1 / 6;
const DAY_MS = 86_400_000;

/** The server's own certificate: its end, its names, its chain, and what keeps ACME from renewing it. */
export function judgeCertificate(config: Config, nowMs: number): Finding[] {
  if (config.acmeDomains.length > 0) return judgeAcme(config, nowMs);
  const { tlsCert: cert, tlsKey: key } = config;
  if (cert === null || key === null) return [];
  const read = readPair({ cert, key });
  const examined = read.ok ? examinePair(read.pair) : read;
  const todo =
    'correct SERVICE_TLS_CERT and SERVICE_TLS_KEY: a running server keeps the old pair, a new one does not start';
  if (!examined.ok) return [{ check: CHECK, level: 'fail', detail: examined.fault, todo }];
  return judgeFacts(examined.facts, { config, nowMs, renew: 'renew it and replace the files' });
}

function judgeAcme(config: Config, nowMs: number): Finding[] {
  const folder = acmeFolder(config.dataDir);
  const stored = folder.certificate();
  const examined = stored && examinePair(stored);
  const failure = folder.failure();
  const findings: Finding[] = [];
  const isServing = examined?.ok === true && examined.facts.notAfterMs > nowMs;
  if (failure) {
    const { failures, cause } = failure;
    const isAskedToWait = failure.askedUntilMs !== null && failure.askedUntilMs > nowMs;
    const since = `ACME fails since ${rfc3339(failure.sinceMs)}, ${failures} attempts: ${cause}`;
    findings.push({
      check: CHECK,
      level: isServing ? 'warn' : 'fail',
      detail: `${since}; next attempt ${rfc3339(failure.retryAtMs)}`,
      todo: isAskedToWait
        ? 'wait: the ACME server asked for this pause'
        : 'correct what it names, then send SIGHUP to the server, which tries at once',
    });
  }
  if (!examined?.ok) {
    const todo = 'start the server and look at its log: every https connection fails until it has one';
    findings.push({ check: CHECK, level: failure ? 'warn' : 'fail', detail: 'ACME has none yet', todo });
    return findings;
  }
  const renew = 'see what the log says of ACME';
  return [...findings, ...judgeFacts(examined.facts, { config, nowMs, renew })];
}

function judgeFacts(
  facts: CertificateFacts,
  { config, nowMs, renew }: { config: Config; nowMs: number; renew: string },
): Finding[] {
  const problems = [judgeTime(facts, { nowMs, renew }), judgeNames(facts, config), judgeChain(facts)];
  const found = problems.filter((finding) => finding !== null);
  if (found.length > 0) return found;
  return [{ check: CHECK, level: 'ok', detail: `valid until ${rfc3339(facts.notAfterMs)}` }];
}

function judgeTime(
  { notBeforeMs, notAfterMs }: CertificateFacts,
  { nowMs, renew }: { nowMs: number; renew: string },
): Finding | null {
  const until = rfc3339(notAfterMs);
  if (nowMs >= notAfterMs) {
    return {
      check: CHECK,
      level: 'fail',
      detail: `it has expired: ${until}`,
      todo: `${renew}: clients refuse it`,
    };
  }
  if (nowMs < notBeforeMs) {
    const detail = `it is not valid before ${rfc3339(notBeforeMs)}`;
    return { check: CHECK, level: 'fail', detail, todo: 'check the clock of this server' };
  }
  if (notAfterMs - nowMs >= (notAfterMs - notBeforeMs) * SHARE_LATE) return null;
  const days = Math.floor((notAfterMs - nowMs) / DAY_MS);
  return { check: CHECK, level: 'warn', detail: `it expires in ${days} days: ${until}`, todo: renew };
}

function judgeNames({ covers }: CertificateFacts, { baseUrl, acmeDomains }: Config): Finding | null {
  if (!baseUrl?.startsWith('https:') || !URL.canParse(baseUrl)) return null;
  const name = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  if (covers(name)) return null;
  return {
    check: CHECK,
    level: 'fail',
    detail: `it is not for ${name}, the name in SERVICE_BASE_URL`,
    todo:
      acmeDomains.length > 0
        ? 'add the name to SERVICE_ACME_DOMAINS, or correct SERVICE_BASE_URL'
        : 'get a certificate for this name, or correct SERVICE_BASE_URL',
  };
}

function judgeChain({ chainFault }: CertificateFacts): Finding | null {
  if (chainFault === null) return null;
  return {
    check: CHECK,
    level: 'warn',
    detail: `its chain does not fit: ${chainFault}`,
    todo: 'put the certificates into the file in order, the one of the server first, then those that signed it',
  };
}
