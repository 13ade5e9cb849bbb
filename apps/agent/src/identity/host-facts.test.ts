import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { describeHost, parseOsRelease } from './host-facts.ts';

const ALMA = 'NAME="AlmaLinux"\nID="almalinux"\nVERSION_ID="9.4"\n';

test.each([['etc'], ['usr/lib']])(
  'an install root is the system that its os-release in %s names',
  (folder) => {
    using root = tmpDir();
    mkdirSync(join(root.path, folder), { recursive: true });
    writeFileSync(join(root.path, folder, 'os-release'), ALMA);
    expect(describeHost({ dnf_root: root.path }).os).toMatchObject({ id: 'almalinux', version_id: '9.4' });
  },
);

test('an install root without one is the system of this host', () => {
  using root = tmpDir();
  expect(describeHost({ dnf_root: root.path }).os).toEqual(describeHost().os);
});

test('values of os-release are read with quotes and without', () => {
  expect([...parseOsRelease('ID=rocky\nVERSION_ID=\'9.4\'\nNAME="Rocky Linux"\n# ID=other\n')]).toEqual([
    ['ID', 'rocky'],
    ['VERSION_ID', '9.4'],
    ['NAME', 'Rocky Linux'],
  ]);
});
