import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StatePayload } from '@tidegate/protocol/documents';
import { expect, onTestFinished, test } from 'vitest';
import { failingFiles } from '../testing/failing-files.ts';
import { judgeHead, openEventsHeadStore, readHeadFile } from './events-head.ts';

const START_MS = Date.UTC(2026, 10, 21, 9);
const hashOf = (letter: string) => letter.repeat(64);

function stateAt(seconds: number, position: number | null, { epoch = 1, hash = 'a' } = {}): StatePayload {
  return {
    v: 1,
    fleet_id: '01900000-0000-7000-8000-000000000001',
    server_time: `${new Date(START_MS + seconds * 1_000).toISOString().slice(0, 19)}Z`,
    epoch,
    key_set_version: 1,
    events_head: position === null ? null : { position, hash: hashOf(hash) },
  };
}

const kept = { epoch: 2, position: 50, hash: hashOf('a'), server_time: stateAt(100, 1).server_time };

test.each<[string, StatePayload, string]>([
  ['a later event', stateAt(110, 51, { epoch: 2 }), 'newer'],
  ['a later event in an earlier document', stateAt(90, 51, { epoch: 2 }), 'newer'],
  ['the same event', stateAt(900, 50, { epoch: 2 }), 'nothing_new'],
  ['an earlier event', stateAt(110, 49, { epoch: 2 }), 'rolled_back'],
  ['another event at the same position', stateAt(110, 50, { epoch: 2, hash: 'b' }), 'rolled_back'],
  ['no event', stateAt(110, null, { epoch: 2 }), 'rolled_back'],
  ['an earlier event, signed beside it by another replica', stateAt(109, 49, { epoch: 2 }), 'nothing_new'],
  ['an earlier event in an earlier document', stateAt(90, 49, { epoch: 2 }), 'nothing_new'],
  ['an earlier event of the next epoch', stateAt(110, 3, { epoch: 3 }), 'newer'],
  ['no event of the next epoch', stateAt(110, null, { epoch: 3 }), 'nothing_new'],
  ['an earlier event of an earlier epoch', stateAt(110, 3, { epoch: 1 }), 'nothing_new'],
])('T6: %s: %s', (_, state, verdict) => {
  expect(judgeHead(kept, state)).toBe(verdict);
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tidegate-head-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

test('the newest head survives a restart; an advanced one is written every ten minutes', () => {
  const place = folder();
  const store = openEventsHeadStore(place);
  expect(store.note(stateAt(0, null))).toEqual({ ok: true, rollback: null });
  expect(readHeadFile(place).newest).toBeNull();
  store.note(stateAt(0, 5));
  expect(readHeadFile(place).newest).toMatchObject({ epoch: 1, position: 5, hash: hashOf('a') });
  expect(statSync(join(place, 'events-head.json')).mode & 0o777).toBe(0o600);
  store.note(stateAt(599, 6));
  expect(readHeadFile(place).newest).toMatchObject({ position: 5 });
  store.note(stateAt(600, 7));
  expect(readHeadFile(place).newest).toMatchObject({ position: 7 });
  store.note(stateAt(601, 2, { epoch: 2 }));
  expect(readHeadFile(place).newest).toMatchObject({ epoch: 2, position: 2 });
});

test('a log rollback is reported once, also across restarts, and the earlier head is kept as evidence', () => {
  const place = folder();
  const store = openEventsHeadStore(place);
  store.note(stateAt(0, 5));
  store.note(stateAt(60, 9));
  const rollback = {
    kept: { epoch: 1, position: 9, hash: hashOf('a'), server_time: stateAt(60, 9).server_time },
    seen: { position: 4, hash: hashOf('b') },
    server_time: stateAt(120, 4).server_time,
  };
  expect(store.note(stateAt(120, 4, { hash: 'b' }))).toEqual({ ok: true, rollback });
  expect(readHeadFile(place)).toMatchObject({ newest: { position: 9 }, rollback });
  for (const again of [store, openEventsHeadStore(place)]) {
    expect(again.note(stateAt(180, 5, { hash: 'c' }))).toEqual({ ok: true, rollback: null });
  }
  store.note(stateAt(240, 10, { hash: 'd' }));
  expect(store.note(stateAt(300, 2))).toMatchObject({ rollback: { kept: { position: 10 } } });
});

test('a file that is damaged or that others may write counts as none', () => {
  const place = folder();
  writeFileSync(join(place, 'events-head.json'), '{"v":1', { mode: 0o600 });
  expect(readHeadFile(place)).toMatchObject({ newest: null, rollback: null });
});

test('a host enrolled into another fleet starts with no head', () => {
  const place = folder();
  openEventsHeadStore(place).note(stateAt(0, 50));
  const other = { ...stateAt(60, 3), fleet_id: '01900000-0000-7000-8000-000000000002' };
  expect(openEventsHeadStore(place).note(other)).toEqual({ ok: true, rollback: null });
  expect(readHeadFile(place)).toMatchObject({ fleet_id: other.fleet_id, newest: { position: 3 } });
});

test('a failing disk is reported', () => {
  const place = folder();
  const store = openEventsHeadStore(place, failingFiles(3, 'error').files);
  expect(store.note(stateAt(0, 5))).toEqual({
    ok: false,
    detail: expect.stringContaining('cannot be written'),
  });
});
