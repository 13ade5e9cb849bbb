import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { NOW_MS } from '../testing/fleet.ts';
import { detectMachineChange } from './detect-machine-change.ts';
import { openJournal } from './journal.ts';

test('files last used on another machine raise CLONE_SUSPECTED once, and not on the first start (T3)', () => {
  using folder = tmpDir();
  const start = (sha256: string) => {
    const opened = openJournal(folder.path, { nowMs: NOW_MS });
    if (!opened.ok) throw new Error(opened.detail);
    expect(detectMachineChange(opened.journal, { sha256, nowMs: NOW_MS })).toEqual({ ok: true });
    return opened.journal.events().map(({ type, details }) => [type, details?.check]);
  };
  const [here, there] = ['a'.repeat(64), 'b'.repeat(64)];
  expect(start(here)).toEqual([]);
  expect(start(here)).toEqual([]);
  expect(start(there)).toEqual([['CLONE_SUSPECTED', 'machine_changed']]);
  expect(start(there)).toHaveLength(1);
});
