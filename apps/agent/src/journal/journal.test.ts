import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandPayload, CommandPayload as CommandSchema } from '@tidegate/protocol/documents';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { timestamp } from '../platform/clock.ts';
import { failingFiles } from '../testing/failing-files.ts';
import { createFleet, NOW_MS } from '../testing/fleet.ts';
import { agentEvent } from './events.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import { JOURNAL_MAX_COMMANDS, readServerTime } from './journal-state.ts';

const fleet = createFleet();

function command(members: object = {}): CommandPayload {
  const payload: unknown = JSON.parse(Buffer.from(fleet.command(members).payload, 'base64').toString());
  if (!Check(CommandSchema, payload)) throw new Error('not a command');
  return payload;
}

function open(folder: string, options: Partial<JournalOptions> = {}): Journal {
  const opened = openJournal(folder, { nowMs: NOW_MS, ...options });
  if (!opened.ok) throw new Error(opened.detail);
  return opened.journal;
}

describe('replay store', () => {
  test('an accepted command and its order survive a restart', () => {
    using folder = tmpDir();
    const accepted = command({ epoch: 2, seq: 7 });
    open(folder.path).accept(accepted, NOW_MS);
    const journal = open(folder.path);
    expect(journal.isKnown(accepted.command_id)).toBe(true);
    expect(journal.highest()).toEqual({ epoch: 2, seq: 7 });
    expect(journal.unacknowledged()).toEqual([accepted.command_id]);
  });

  test('a command without a result is reported as interrupted after a restart, never run twice', () => {
    using folder = tmpDir();
    const accepted = command();
    open(folder.path).accept(accepted, NOW_MS);
    expect(open(folder.path).unreported()).toMatchObject([
      { commandId: accepted.command_id, result: { status: 'interrupted' } },
    ]);
  });

  test('a command that the executor still has is not interrupted, but unfinished', () => {
    using folder = tmpDir();
    const accepted = command();
    open(folder.path).accept(accepted, NOW_MS);
    const isHandedOver = (id: string) => id === accepted.command_id;
    const journal = open(folder.path, { isHandedOver });
    expect(journal.unreported()).toEqual([]);
    const { command_id: commandId, action } = accepted;
    const acceptedAt = timestamp(NOW_MS);
    expect(journal.unfinished()).toEqual([{ commandId, action, acceptedAt, bootId: null }]);
    journal.finish(accepted.command_id, { status: 'success' });
    expect(journal.unfinished()).toEqual([]);
  });

  test('a finished command keeps its result until it is reported; a redelivery gets it again', () => {
    using folder = tmpDir();
    const { command_id, ...rest } = command();
    const first = open(folder.path);
    first.accept({ command_id, ...rest }, NOW_MS);
    first.finish(command_id, { status: 'success', output_tail: 'long' });
    const journal = open(folder.path);
    expect(journal.unreported()).toEqual([
      { commandId: command_id, result: { status: 'success', output_tail: 'long' } },
    ]);
    journal.acknowledge([command_id]);
    journal.reported(command_id);
    expect([journal.unreported(), journal.unacknowledged()]).toEqual([[], []]);
    journal.redelivered(command_id);
    expect(journal.unreported()).toEqual([{ commandId: command_id, result: { status: 'success' } }]);
    expect(journal.unacknowledged()).toEqual([command_id]);
  });

  test.each(['kill', 'error'] as const)(
    'when "accepted" cannot be written (%s) the command counts as not accepted',
    (how) => {
      for (let at = 1; at <= 8; at += 1) {
        using folder = tmpDir();
        open(folder.path).noteState({ epoch: 1, server_time: timestamp(NOW_MS) });
        const journal = open(folder.path, { files: failingFiles(at, how).files });
        const refused = command();
        expect(journal.accept(refused, NOW_MS).ok).toBe(false);
        expect(journal.isKnown(refused.command_id)).toBe(false);
        expect(open(folder.path).isKnown(refused.command_id)).toBeTypeOf('boolean'); // it still parses
      }
    },
  );

  test('a damaged journal is refused, as an empty one would accept replays', () => {
    using folder = tmpDir();
    open(folder.path).accept(command(), NOW_MS);
    writeFileSync(join(folder.path, 'journal.json'), '{"v":1', { mode: 0o600 });
    expect(openJournal(folder.path, { nowMs: NOW_MS })).toMatchObject({ ok: false });
  });

  test('config.json gives the lowest accepted sequence number when the journal is missing', () => {
    using folder = tmpDir();
    const opened = openJournal(folder.path, { nowMs: NOW_MS, floor: { epoch: 2, seq: 9 } });
    expect(opened.ok && opened.journal.highest()).toEqual({ epoch: 2, seq: 9 });
  });

  test('at its limit it drops the oldest reported ids; their sequence numbers still refuse them', () => {
    using folder = tmpDir();
    const full = Array.from({ length: JOURNAL_MAX_COMMANDS }, (_, index) => ({
      command_id: randomUUID(),
      action: 'scan',
      expires_at: timestamp(NOW_MS + 60_000),
      accepted_at: timestamp(NOW_MS),
      result: { status: 'success' },
      reported: index > 0, // the very oldest is still owed to the server
      acknowledged: true,
    }));
    seed(folder.path, { highest: { epoch: 1, seq: full.length }, commands: full });
    const journal = open(folder.path);
    const newest = command({ seq: full.length + 1 });
    journal.accept(newest, NOW_MS);
    const [oldest, second, third] = full.map(({ command_id }) => journal.isKnown(command_id));
    expect([oldest, second, third]).toEqual([true, false, true]);
    expect(journal.isKnown(newest.command_id)).toBe(true);
    expect(journal.highest().seq).toBe(full.length + 1);
  });

  test('at its limit with only unreported results it drops the oldest; its sequence number still refuses a replay', () => {
    using folder = tmpDir();
    const full = Array.from({ length: JOURNAL_MAX_COMMANDS }, () => ({
      command_id: randomUUID(),
      action: 'scan',
      expires_at: timestamp(NOW_MS + 60_000),
      accepted_at: timestamp(NOW_MS),
      result: { status: 'success' },
      reported: false,
      acknowledged: true,
    }));
    seed(folder.path, { highest: { epoch: 1, seq: full.length }, commands: full });
    const journal = open(folder.path);
    journal.accept(command({ seq: full.length + 1 }), NOW_MS);
    expect(journal.unreported()).toHaveLength(JOURNAL_MAX_COMMANDS - 1);
    expect(journal.isKnown(full[0]?.command_id ?? '')).toBe(false);
    expect(open(folder.path).highest().seq).toBe(full.length + 1);
  });
});

describe('signed server time', () => {
  test('never goes back, and survives a restart', () => {
    using folder = tmpDir();
    const journal = open(folder.path);
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS) });
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS - 60_000) });
    expect(journal.serverTime()).toBe(timestamp(NOW_MS));
    expect(open(folder.path).serverTime()).toBe(timestamp(NOW_MS));
  });

  test('a higher epoch ends the commands of the last one', () => {
    using folder = tmpDir();
    const journal = open(folder.path);
    journal.accept(command({ epoch: 1, seq: 50 }), NOW_MS);
    journal.noteState({ epoch: 2, server_time: timestamp(NOW_MS) });
    expect(journal.highest()).toEqual({ epoch: 2, seq: 0 });
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS) });
    expect(journal.highest()).toEqual({ epoch: 2, seq: 0 });
  });
});

describe('events that wait for the server', () => {
  const event = (text: string) => agentEvent('PLAN_DRIFT', text, { nowMs: NOW_MS });
  const PLENTY = { events: 100, bytes: 100_000 };

  test('survive a restart in order and keep their ids (the server deduplicates by them)', () => {
    using folder = tmpDir();
    const first = open(folder.path, { newId: () => 'id' });
    first.queueEvent(event('one'));
    first.queueEvent(event('two'));
    expect(first.beginSending(PLENTY)).toHaveLength(2); // and the answer is lost
    const events = open(folder.path).beginSending(PLENTY);
    expect(events.map(({ message, details }) => [message, details])).toEqual([
      ['one', { event_id: 'id' }],
      ['two', { event_id: 'id' }],
    ]);
  });

  test('are removed once delivered, and only those', () => {
    using folder = tmpDir();
    const journal = open(folder.path);
    journal.queueEvent(event('one'));
    journal.beginSending(PLENTY);
    journal.queueEvent(event('two')); // while the request is under way
    journal.endSending({ isDelivered: true });
    expect(
      open(folder.path)
        .events()
        .map(({ message }) => message),
    ).toEqual(['two']);
    journal.beginSending(PLENTY);
    journal.endSending({ isDelivered: false });
    expect(journal.events()).toHaveLength(1);
  });

  test('are bounded; at the limit one event counts the dropped ones by type', () => {
    using folder = tmpDir();
    const journal = open(folder.path, { queueLimits: { events: 3, bytes: 100_000 } });
    for (const text of ['one', 'two', 'three', 'four']) journal.queueEvent(event(text));
    const [summary, ...others] = open(folder.path).events();
    expect(summary?.details).toMatchObject({ check: 'events_dropped', dropped: { PLAN_DRIFT: 2 } });
    expect(others.map(({ message }) => message)).toEqual(['three', 'four']);
  });
});

test('it remembers the machine it was used on, so a copied journal is detected (T3)', () => {
  using folder = tmpDir();
  expect(open(folder.path).recordMachine('a'.repeat(64)).before).toBeNull();
  expect(open(folder.path).recordMachine('b'.repeat(64)).before).toBe('a'.repeat(64));
  expect(open(folder.path).recordMachine('b'.repeat(64)).before).toBe('b'.repeat(64));
});

describe('the file', () => {
  test('drops command output, oldest first, before it exceeds the size that can be read back', () => {
    using folder = tmpDir();
    const journal = open(folder.path, { outputRoomBytes: 2_500 });
    const ids = [1, 2, 3].map((seq) => {
      const accepted = command({ seq });
      journal.accept(accepted, NOW_MS);
      journal.finish(accepted.command_id, { status: 'success', output_tail: '\u0001'.repeat(200) });
      return accepted.command_id;
    });
    const left = open(folder.path).unreported();
    expect(left.map(({ commandId }) => commandId)).toEqual(ids);
    expect(left.map(({ result }) => result.output_tail === undefined)).toEqual([true, true, false]);
  });

  test("after a failed write nothing more is written, as the disk's content is unknown (RT9)", () => {
    using folder = tmpDir();
    open(folder.path).recordMachine('a'.repeat(64));
    const { files, calls } = failingFiles(4, 'error'); // the fsync
    const journal = open(folder.path, { files });
    expect(journal.recordMachine('b'.repeat(64)).saved.ok).toBe(false);
    expect(calls).toContain('fsync');
    const before = calls.length;
    expect(journal.accept(command(), NOW_MS).ok).toBe(false);
    expect(calls).toHaveLength(before);
  });

  test('shows the last signed server time to read-only commands', () => {
    using folder = tmpDir();
    expect(readServerTime(folder.path)).toBeNull();
    const journal = open(folder.path);
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS) });
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS + 60_000) }); // not worth a write
    expect(readServerTime(folder.path)).toBe(timestamp(NOW_MS));
    journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS + 120_000) }, 60_000);
    expect(readServerTime(folder.path)).toBe(timestamp(NOW_MS + 120_000));
  });
});

function seed(folder: string, members: object): void {
  const state = {
    v: 1,
    highest: { epoch: 1, seq: 0 },
    server_time: null,
    commands: [],
    events: [],
  };
  writeFileSync(join(folder, 'journal.json'), JSON.stringify({ ...state, ...members }), { mode: 0o600 });
}
