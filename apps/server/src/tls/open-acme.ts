import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import { acmeFolder } from './acme/acme-folder.ts';
import { createAlpnResponder } from './acme/alpn-responder.ts';
import { listenForChallenges } from './acme/challenge-listener.ts';
import { keepCertificate } from './acme/keep-certificate.ts';
import type { ServerTls } from './server-tls.ts';

export type OpenedAcme = { ok: true; tls: ServerTls } | { ok: false; fault: string };

interface World {
  log: Log;
  now: () => number;
  random: RandomBytes;
}

/**
 * Opens what gets and renews the certificate, and listens for http-01. `defer` takes what ends it. The caller holds the
 * data folder's lock: one server at a time asks for its certificate.
 */
export async function openAcme(
  config: Config,
  { world, defer }: { world: World; defer: (end: () => Promise<void>) => void },
): Promise<OpenedAcme> {
  const ca = readCa(config.acmeCaCert);
  if (!ca.ok) return ca;
  const { acmeEabKeyId: keyId, acmeEabHmacKey: hmacKey } = config;
  const options = {
    ...{ ...world, ca: ca.pem, folder: acmeFolder(config.dataDir) },
    ...{ names: config.acmeDomains, directoryUrl: config.acmeDirectoryUrl, email: config.acmeEmail },
    binding: keyId !== null && hmacKey !== null ? { keyId, hmacKey } : null,
  };
  if (config.acmeChallenge === 'tls-alpn-01') {
    const responder = createAlpnResponder(world.now);
    const kept = keepCertificate({ ...options, responder });
    return {
      ok: true,
      tls: {
        ...kept,
        attach(server) {
          kept.attach(server);
          responder.attach(server);
        },
      },
    };
  }
  try {
    const { host, acmeHttpPort: port } = config;
    const responder = await listenForChallenges({ host, port, origin: originOf(config) });
    defer(responder.stop);
    return { ok: true, tls: keepCertificate({ ...options, responder }) };
  } catch (error) {
    const given = `SERVICE_ACME_HTTP_PORT is ${config.acmeHttpPort} (${codeOf(error)})`;
    return {
      ok: false,
      fault: `${given}; allowed: a free port that this user may listen on, reached as port 80 of each name`,
    };
  }
}

type ReadCa = { ok: true; pem: string | null } | { ok: false; fault: string };

function readCa(given: string | null): ReadCa {
  if (given === null) return { ok: true, pem: null };
  try {
    const pem = given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8');
    createSecureContext({ ca: pem });
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no certificate');
    return { ok: true, pem };
  } catch (error) {
    const shown = JSON.stringify(given.slice(0, 100));
    return {
      ok: false,
      fault: `SERVICE_ACME_CA_CERT is ${shown} (${codeOf(error)}); allowed: PEM text of certificates, or the path of a readable file with them`,
    };
  }
}

/** Where browsers that come over plain HTTP are sent. */
function originOf({ baseUrl, acmeDomains, port }: Config): string {
  if (baseUrl?.startsWith('https:') && URL.canParse(baseUrl)) return new URL(baseUrl).origin;
  return `https://${acmeDomains[0]}${port === 443 ? '' : `:${port}`}`;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
