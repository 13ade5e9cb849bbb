import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Revocation } from '../platform/db/write-context.ts';
import { JOURNAL_FILE, openJournal, type RevocationJournal } from './revocation-journal.ts';

const family = (n: number, atMs = n): Revocation => ({ kind: 'family', id: idOf(n), atMs });
const idOf = (n: number) => `01900000-0000-7000-9000-${String(n).padStart(12, '0')}`;

function folder(): string {
  const made = tmpDir();
  onTestFinished(() => made.remove());
  return made.path;
}

function open(dataDir: string): { journal: RevocationJournal; tornBytes: number } {
  const opened = openJournal(dataDir);
  if (!opened.ok) throw new Error(opened.fault);
  onTestFinished(opened.journal.close);
  return opened;
}

describe('T20: the revocation journal', () => {
  test('keeps its entries, readable by its owner only, and has them after a restart', () => {
    const dataDir = folder();
    const { journal } = open(dataDir);
    expect(journal.append([family(1), family(2)])).toHaveLength(2);
    expect(journal.append([family(2), { kind: 'key', id: idOf(2), atMs: 5 }])).toEqual([
      { kind: 'key', id: idOf(2), atMs: 5 },
    ]);
    const again = open(dataDir);
    expect(again.tornBytes).toBe(0);
    expect(again.journal.entries()).toEqual([family(1), family(2), { kind: 'key', id: idOf(2), atMs: 5 }]);
    expect(again.journal.has('family', idOf(1))).toBe(true);
    expect(again.journal.has('agent', idOf(1))).toBe(false);
    expect(statSync(join(dataDir, JOURNAL_FILE)).mode & 0o777).toBe(0o600);
  });

  test('removes a line, and not a later one', () => {
    const dataDir = folder();
    const { journal } = open(dataDir);
    journal.append([family(1, 10), family(2, 10)]);
    journal.append([family(2, 20)]);
    journal.withdraw([family(1, 10), family(2, 10)]);
    expect(journal.entries()).toEqual([family(2, 20)]);
    expect(open(dataDir).journal.entries()).toEqual([family(2, 20)]);
  });

  test('a crash at any byte of the last line costs only that line, and the journal continues', () => {
    const source = folder();
    open(source).journal.append([family(1), family(2)]);
    const whole = readFileSync(join(source, JOURNAL_FILE));
    const start = whole.lastIndexOf(0x0a, whole.length - 2) + 1;
    for (let length = start; length < whole.length; length++) {
      const dataDir = folder();
      writeFileSync(join(dataDir, JOURNAL_FILE), whole);
      truncateSync(join(dataDir, JOURNAL_FILE), length);
      const { journal, tornBytes } = open(dataDir);
      expect([tornBytes, journal.entries()]).toEqual([length - start, [family(1)]]);
      journal.append([family(3)]);
      const again = open(dataDir);
      expect([again.tornBytes, again.journal.entries()]).toEqual([0, [family(1), family(3)]]);
    }
  });

  test('an incomplete line longer than the next one leaves nothing behind', () => {
    const dataDir = folder();
    open(dataDir).journal.append([family(1)]);
    const path = join(dataDir, JOURNAL_FILE);
    writeFileSync(path, readFileSync(path, 'utf8') + 'x'.repeat(5_000));
    const { journal, tornBytes } = open(dataDir);
    journal.append([family(2)]);
    const again = open(dataDir);
    expect([tornBytes, again.tornBytes, again.journal.entries()]).toEqual([5_000, 0, [family(1), family(2)]]);
  });

  test.each<[string, number, (lines: string[]) => string[]]>([
    ['a line was removed', 3, (lines) => lines.filter((_, i) => i !== 2)],
    ['two lines changed places', 3, ([a = '', b = '', c = '', d = '', ...rest]) => [a, b, d, c, ...rest]],
    [
      'an id was changed',
      3,
      (lines) => lines.map((line, i) => (i === 2 ? line.replace('7000', '7001') : line)),
    ],
    ['a line is no JSON', 3, (lines) => lines.map((line, i) => (i === 2 ? line.slice(1) : line))],
    ['the first line is missing', 1, (lines) => lines.slice(1)],
    ['it is empty', 1, () => []],
  ])('is refused with the number of the line where %s', (_, line, damage) => {
    const dataDir = folder();
    open(dataDir).journal.append([family(1), family(2), family(3), family(4)]);
    const path = join(dataDir, JOURNAL_FILE);
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    const damaged = damage(lines);
    writeFileSync(path, damaged.map((text) => `${text}\n`).join(''));
    expect(openJournal(dataDir)).toEqual({
      ok: false,
      fault: expect.stringMatching(new RegExp(`^${path} is damaged at line ${line}: `)),
    });
  });

  test('is rewritten without entries of rows that cannot come back, and stays one chain', () => {
    const dataDir = folder();
    const { journal } = open(dataDir);
    journal.append([family(1), family(2), family(3)]);
    expect(journal.compact(() => true)).toBe(0);
    expect(journal.compact(({ atMs }) => atMs === 2)).toBe(2);
    journal.append([family(4)]);
    expect(open(dataDir).journal.entries()).toEqual([family(2), family(4)]);
    expect(readFileSync(join(dataDir, JOURNAL_FILE), 'utf8')).not.toContain(idOf(1));
  });
});
