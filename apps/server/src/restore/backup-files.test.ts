import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { backupName, pruneBackups } from './backup-files.ts';

const DAY_MS = 86_400_000;

test.each([
  [1, 4, [4]],
  [3, 4, [2, 3, 4]],
  [9, 4, [1, 2, 3, 4]],
])('keeps the newest %i of %i backups, and every other file', (keep, count, kept) => {
  const folder = tmpDir('tidegate-prune-');
  onTestFinished(() => folder.remove());
  const others = ['before-upgrade-from-210-20260101T000000Z.backup', 'mine.backup', 'tidegate-x.backup'];
  const days = Array.from({ length: count }, (_, day) => day + 1);
  const nameOf = (day: number) => backupName({ nowMs: day * DAY_MS, isEncrypted: day % 2 === 0 });
  const withJournal = (names: string[]) => names.flatMap((name) => [name, `${name}.revocations.jsonl`]);
  for (const name of [...others, ...withJournal(days.map(nameOf))])
    writeFileSync(join(folder.path, name), '');
  const deleted = pruneBackups(folder.path, keep);
  expect(readdirSync(folder.path).sort()).toEqual([...others, ...withJournal(kept.map(nameOf))].sort());
  expect(deleted).toEqual(days.filter((day) => !kept.includes(day)).map(nameOf));
});
