import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hasUnit } from './systemd-unit.ts';

const UNIT = 'tidegate-probe.path';

function hostWith(...folders: string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'tidegate-units-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  return root;
}

test.each(['etc', 'usr/lib', 'usr/local/lib', 'lib'])('a unit below %s is one', (base) => {
  const root = hostWith('run/systemd/system', `${base}/systemd/system`);
  expect(hasUnit(UNIT, root)).toBe(false);
  writeFileSync(join(root, base, 'systemd/system', UNIT), '');
  expect(hasUnit(UNIT, root)).toBe(true);
  expect(hasUnit('tidegate-executor.path', root)).toBe(false);
});

test('a host that was not booted with systemd starts none, whatever files it has', () => {
  const root = hostWith('etc/systemd/system');
  writeFileSync(join(root, 'etc/systemd/system', UNIT), '');
  expect(hasUnit(UNIT, root)).toBe(false);
});
