import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { readServerCa } from './server-ca.ts';

const { cert } = await createAuthority();

function read(
  content: string | null,
  spoil: (path: string) => void = () => {},
  ownerUid = process.getuid?.(),
) {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const path = join(folder.path, 'server-ca.pem');
  if (content !== null) writeFileSync(path, content, { mode: 0o644 });
  spoil(path);
  return readServerCa(path, ownerUid);
}

test('no file leaves the public authorities; a file is taken as it is', () => {
  expect(read(null)).toEqual({ ok: true, pem: null });
  expect(read(`${cert}\n`)).toEqual({ ok: true, pem: `${cert}\n` });
});

test.each<[string, string | null, (path: string) => void]>([
  ['an empty file', '', () => {}],
  ['half a certificate', cert.slice(0, 100), () => {}],
  ['a broken certificate', '-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n', () => {}],
  ['a file that others can write', cert, (path) => chmodSync(path, 0o666)],
  ['a link', null, (path) => symlinkSync('/etc/passwd', path)],
])('%s is refused and never passed over', (_, content, spoil) => {
  expect(read(content, spoil)).toEqual({ ok: false, detail: expect.stringContaining('server-ca.pem') });
});

test('a file of another user is refused', () => {
  expect(read(cert, () => {}, 12_345)).toMatchObject({ ok: false });
});
