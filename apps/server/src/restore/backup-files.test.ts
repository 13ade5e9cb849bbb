import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { backupName, openBackupFolder, pruneBackups } from './backup-files.ts';

const DAY_MS = 86_400_000;

test.each([
  { keep: 1, count: 4, made: 4, kept: [4] },
  { keep: 3, count: 4, made: 4, kept: [2, 3, 4] },
  { keep: 9, count: 4, made: 4, kept: [1, 2, 3, 4] },
  // Later ones are from when the clock was ahead, or it is behind now.
  { keep: 2, count: 6, made: 3, kept: [2, 3, 5, 6] },
  { keep: 3, count: 6, made: 3, kept: [1, 2, 3, 4, 5, 6] },
  { keep: 2, count: 6, made: 1, kept: [1, 5, 6] },
])('keeps $kept of $count backups, the newest $keep of both sides of $made, and every other file', (row) => {
  const { keep, count, made, kept } = row;
  const folder = tmpDir('tidegate-prune-');
  onTestFinished(() => folder.remove());
  const others = ['before-upgrade-from-210-20260101T000000Z.backup', 'mine.backup', 'tidegate-x.backup'];
  const days = Array.from({ length: count }, (_, day) => day + 1);
  const nameOf = (day: number) => backupName({ nowMs: day * DAY_MS, isEncrypted: day % 2 === 0 });
  const withJournal = (names: string[]) => names.flatMap((name) => [name, `${name}.revocations.jsonl`]);
  for (const name of [...others, ...withJournal(days.map(nameOf))])
    writeFileSync(join(folder.path, name), '');
  const deleted = pruneBackups(folder.path, { made: nameOf(made), keep });
  expect(readdirSync(folder.path).sort()).toEqual([...others, ...withJournal(kept.map(nameOf))].sort());
  expect(deleted).toEqual(days.filter((day) => !kept.includes(day)).map(nameOf));
});

test('backups that were cut short leave the folder; one that is being written stays, and every other file', () => {
  const place = tmpDir('tidegate-partial-');
  onTestFinished(() => place.remove());
  const folder = join(place.path, 'backups');
  mkdirSync(folder);
  const nowMs = 100 * DAY_MS;
  const partial = (day: number, isEncrypted: boolean) =>
    `.${backupName({ nowMs: day * DAY_MS, isEncrypted })}.42.partial`;
  const upgrade = `.${backupName({ nowMs, isEncrypted: false }, 'before-upgrade-from-210')}.42.partial`;
  const stale = [partial(98, false), partial(99, true), upgrade];
  const kept = [partial(100, false), '.mine.backup.42.partial', backupName({ nowMs: 0, isEncrypted: false })];
  for (const name of [...stale, ...kept]) writeFileSync(join(folder, name), '');
  for (const name of [...stale, ...kept.slice(1)])
    utimesSync(join(folder, name), 0, (nowMs - 3_600_001) / 1_000);
  utimesSync(join(folder, partial(100, false)), 0, (nowMs - 3_600_000) / 1_000);
  expect(openBackupFolder(place.path, nowMs)).toBe(folder);
  expect(readdirSync(folder).sort()).toEqual(kept.toSorted());
});
