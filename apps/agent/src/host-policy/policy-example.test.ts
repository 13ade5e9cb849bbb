import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APPROVAL_TYPE, type Envelope } from '@tidegate/protocol/documents';
import { loadTrustedKey, signersOf } from '@tidegate/signing/verify';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { createFleet, createKey } from '../testing/fleet.ts';
import { describePolicy } from './describe-policy.ts';
import { loadHostPolicy } from './policy.ts';

const examples = join(import.meta.dirname, '../../../../examples');
const isOpensslAbsent = spawnSync('openssl', ['version']).status !== 0;
if (isOpensslAbsent) console.warn('skipped: countersigning needs openssl (package openssl)');

test('the example of a policy can be followed, and is shown in words', () => {
  using folder = tmpDir();
  const path = join(folder.path, 'policy.json');
  copyFileSync(join(examples, 'policy.json'), path);
  const loaded = loadHostPolicy({ path, ownerUid: ownUid(), top: folder.path });
  expect(loaded.kind).toBe('policy');
  expect(describePolicy(loaded).split('; ')).toEqual([
    'ecosystems: apt, npm',
    'never touched: apt linux-image-* postgresql-*, npm @corp/*',
    'npm and PyPI: changes up to minor',
    'approvals by policies: refused',
    'restarts of services: never',
    'updates of the agent: never',
    'reboots wait for the logins of: oncall',
    'reboots do not wait for the inhibitors of: nightly-backup',
    'hours: sat,sun 02:00-05:00 Europe/Berlin, wed 22:30-01:30 UTC',
    'signed state: at most 10 min old',
    'signed besides the server by 1 of 1',
  ]);
});

function countersigned(envelope: Envelope): Envelope {
  using folder = tmpDir();
  const pem = join(folder.path, 'key.pem');
  writeFileSync(pem, execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519']));
  const spki = execFileSync('openssl', ['pkey', '-in', pem, '-pubout', '-outform', 'DER']);
  const script = [join(examples, 'countersign.sh'), pem, spki.subarray(-32).toString('hex')];
  const said = execFileSync('sh', script, {
    input: JSON.stringify(envelope),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const made: Envelope['signatures'][number] = JSON.parse(said.toString());
  return { ...envelope, signatures: [...envelope.signatures, made] };
}

test.skipIf(isOpensslAbsent)('the example of a countersignature is one', () => {
  const { envelope } = createFleet().approval();
  const signed = countersigned(envelope);
  const publicKeyHex = signed.signatures[1]?.keyid ?? '';
  const keys = [createKey(1).key, { keyId: 'ops', publicKeyHex }].map((key) => loadTrustedKey(key));
  expect(signersOf(signed, keys, APPROVAL_TYPE).map((key) => key.keyId)).toEqual(['ops']);
});

test.skipIf(isOpensslAbsent)('the example signs nothing but approvals', () => {
  expect(() => countersigned(createFleet().command())).toThrow('Command failed');
});
