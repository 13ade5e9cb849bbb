import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { createAuthority, createSelfSigned } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sha256Hex } from '../platform/sha256.ts';
import { readServerCa, serverCaOf } from './server-ca.ts';

const authority = await createAuthority();
const other = await createAuthority('another');
const { cert: own } = await authority.issue(['tidegate.example']);
const { cert: selfSigned } = await createSelfSigned(['tidegate.example']);
const tidy = (pem: string) => `${pem.trim()}\n`;
const privately = (pem: string) => ({ kind: 'private', pem: tidy(pem), sha256: sha256Hex(tidy(pem)) });

describe('what hosts have to trust', () => {
  test.each([
    ['no certificate of its own', null, null, { kind: 'public' }],
    ['a chain that ends at a public root', null, `${own}${rootCertificates[0]}`, { kind: 'public' }],
    ['a chain with its private root', null, `${own}${authority.cert}`, privately(authority.cert)],
    ['a certificate that vouches for itself', null, selfSigned, privately(selfSigned)],
    ['a private chain without its root', null, own, { kind: 'missing' }],
    ['the CA of the settings', tidy(authority.cert), own, privately(authority.cert)],
    ['the CA of the settings for a proxy', tidy(other.cert), null, privately(other.cert)],
  ])('%s', (_, configured, chain, expected) => {
    expect(serverCaOf({ configured, chain })).toEqual(expected);
  });

  test('comes from text or a file, without what is not a certificate', () => {
    const folder = tmpDir();
    onTestFinished(folder.remove);
    const path = join(folder.path, 'ca.pem');
    const key = '-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n';
    writeFileSync(path, `# ours\n${authority.cert}\n${key}${other.cert}`);
    const both = tidy(authority.cert) + tidy(other.cert);
    expect(readServerCa(path)).toEqual({ ok: true, pem: both });
    expect(readServerCa(both)).toEqual({ ok: true, pem: both });
    expect(readServerCa(null)).toEqual({ ok: true, pem: null });
  });

  test.each([
    ['no file', '/nonexistent/ca.pem'],
    ['a file without certificates', '/dev/null'],
    ['half a certificate', authority.cert.slice(0, 200)],
    ['a broken certificate', '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n'],
  ])('%s is refused with what is allowed', (_, given) => {
    expect(readServerCa(given)).toEqual({
      ok: false,
      fault: expect.stringMatching(/^SERVICE_TLS_CA_CERT is .*allowed: PEM text/s),
    });
  });
});
