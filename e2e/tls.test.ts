import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority } from '@tidegate/testkit/certificates';
import { freePort } from '@tidegate/testkit/free-port';
import { missingPebble, startPebble } from '@tidegate/testkit/pebble';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { presentedOn } from '../apps/server/src/testing/tls-peer.ts';
import { type ServerProcess, startServer } from './harness/server-process.ts';

const missing = missingPebble();
const NAME = 'tidegate.example';

async function serve(env: Record<string, string>): Promise<ServerProcess> {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const server = await startServer({ dataDir: folder.path, advisoryUrl: 'http://127.0.0.1:9', env });
  onTestFinished(async () => void (await server.stop()));
  return server;
}

const portOf = ({ url }: ServerProcess) => Number(new URL(url).port);

test('a running server presents a replaced certificate at SIGHUP, and its doctor examines it', async () => {
  const authority = await createAuthority();
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const env = {
    SERVICE_TLS_CERT: join(folder.path, 'cert.pem'),
    SERVICE_TLS_KEY: join(folder.path, 'key.pem'),
    SERVICE_BASE_URL: `https://${NAME}`,
  };
  const lay = async () => {
    const { cert, key } = await authority.issue([NAME]);
    writeFileSync(env.SERVICE_TLS_CERT, cert);
    writeFileSync(env.SERVICE_TLS_KEY, key);
    return new X509Certificate(cert).fingerprint256;
  };
  const first = await lay();
  const server = await serve(env);
  expect(await presentedOn(portOf(server))).toBe(first);
  const second = await lay();
  process.kill(server.pid, 'SIGHUP');
  await server.line(/certificate reloaded/);
  expect(await presentedOn(portOf(server))).toBe(second);
  expect(await server.command('doctor')).toMatch(/^ok {3}certificate: valid until /m);
});

describe.skipIf(missing !== null)(`a certificate by ACME${missing === null ? '' : ` (${missing})`}`, () => {
  test.each(['http-01', 'tls-alpn-01'])(
    'is issued by %s from the settings alone, and survives a restart',
    async (type) => {
      const [port, httpPort] = [await freePort(), await freePort()];
      await using pebble = await startPebble({ httpPort, tlsPort: port });
      const server = await serve({
        SERVICE_PORT: String(port),
        SERVICE_ACME_DOMAINS: NAME,
        SERVICE_ACME_TERMS_AGREED: 'true',
        SERVICE_ACME_EMAIL: 'olga@example.org',
        SERVICE_ACME_DIRECTORY_URL: pebble.directoryUrl,
        SERVICE_ACME_CA_CERT: pebble.ca,
        SERVICE_ACME_CHALLENGE: type,
        SERVICE_ACME_HTTP_PORT: String(httpPort),
        SERVICE_BASE_URL: `https://${NAME}`,
      });
      await server.line(/certificate issued/);
      const issued = await presentedOn(portOf(server));
      expect(issued).toMatch(/^[0-9A-F:]{95}$/);
      expect(await server.command('doctor')).toMatch(/^ok {3}certificate: valid until /m);
      await server.restart();
      expect(await presentedOn(portOf(server))).toBe(issued);
      expect(server.lines().filter((line) => line.includes('certificate asked for'))).toHaveLength(1);
    },
  );
});
