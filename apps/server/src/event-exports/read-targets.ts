import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config.ts';

const SYSLOG_PORT = 6514;

export interface ExportTargets {
  readonly syslog: {
    readonly host: string;
    readonly port: number;
    /** PEM; null trusts the public authorities. */
    readonly ca: string | null;
    /** The client's own certificate and key in PEM; null presents none. */
    readonly client: { readonly cert: string; readonly key: string } | null;
  } | null;
  readonly otlp: {
    readonly url: string;
    readonly ca: string | null;
    readonly headers: Readonly<Record<string, string>>;
  } | null;
}

type Settings = Pick<
  Config,
  'syslogUrl' | 'syslogCa' | 'syslogCert' | 'syslogKey' | 'otlpLogsUrl' | 'otlpLogsCa' | 'otlpLogsHeaders'
>;

export type ReadTargets = { ok: true; targets: ExportTargets } | { ok: false; fault: string };

/** Where events are exported to, with the certificates; a fault is told before anything is opened. */
export function readExportTargets(config: Settings): ReadTargets {
  const { syslogUrl, syslogCa, syslogCert, syslogKey, otlpLogsUrl, otlpLogsCa, otlpLogsHeaders } = config;
  if (syslogUrl !== null && !URL.canParse(syslogUrl)) {
    const shown = JSON.stringify(syslogUrl);
    return { ok: false, fault: `SERVICE_SYSLOG_URL is ${shown}; allowed: empty, or syslog+tls://HOST:PORT` };
  }
  if (otlpLogsUrl !== null && !URL.canParse(otlpLogsUrl)) {
    const shown = JSON.stringify(otlpLogsUrl);
    return { ok: false, fault: `SERVICE_OTLP_LOGS_URL is ${shown}; allowed: empty, or a URL` };
  }
  try {
    const client =
      syslogCert === null || syslogKey === null
        ? null
        : { cert: pemOf('SERVICE_SYSLOG_CERT', syslogCert), key: pemOf('SERVICE_SYSLOG_KEY', syslogKey) };
    if (client) demandUsable('SERVICE_SYSLOG_CERT and SERVICE_SYSLOG_KEY', client);
    const targets = {
      syslog:
        syslogUrl === null ? null : { ...hostOf(syslogUrl), ca: caOf('SERVICE_SYSLOG_CA', syslogCa), client },
      otlp:
        otlpLogsUrl === null
          ? null
          : {
              url: otlpLogsUrl,
              ca: caOf('SERVICE_OTLP_LOGS_CA', otlpLogsCa),
              headers: headersOf(otlpLogsHeaders),
            },
    };
    return { ok: true, targets };
  } catch (error) {
    if (error instanceof PemFault) return { ok: false, fault: error.message };
    throw error;
  }
}

class PemFault extends Error {
  override readonly name = 'PemFault';
  constructor(setting: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no PEM';
    super(
      `${setting}: a value that cannot be used (${code}); allowed: PEM text, or the path of a readable file with it`,
    );
  }
}

function caOf(setting: string, given: string | null): string | null {
  if (given === null) return null;
  const ca = pemOf(setting, given);
  demandUsable(setting, { ca });
  return ca;
}

function pemOf(setting: string, given: string): string {
  if (given.includes('-----BEGIN')) return given;
  try {
    return readFileSync(given, 'utf8');
  } catch (error) {
    throw new PemFault(setting, error);
  }
}

function demandUsable(setting: string, pem: { ca: string } | { cert: string; key: string }): void {
  try {
    createSecureContext(pem);
  } catch (error) {
    throw new PemFault(setting, error);
  }
  if ('ca' in pem && !pem.ca.includes('-----BEGIN CERTIFICATE-----')) throw new PemFault(setting, null);
}

function hostOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? SYSLOG_PORT : Number(port) };
}

function headersOf(given: string | null): Record<string, string> {
  const pairs = given === null ? [] : given.split(',');
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      return [pair.slice(0, equals).toLowerCase(), decodeURIComponent(pair.slice(equals + 1))];
    }),
  );
}
