import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandPayload, CommandPayload as CommandSchema } from '@tidegate/protocol/documents';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { timestamp } from './clock.ts';
import { agentEvent } from './events.ts';
import type { FileLayer } from './file-layer.ts';
import { JOURNAL_MAX_COMMANDS, JOURNAL_MAX_EVENTS, type Journal, openJournal } from './journal.ts';
import { failingFiles } from './testing/failing-files.ts';
import { createFleet, NOW_MS } from './testing/fleet.ts';

const fleet = createFleet();

function command(members: object = {}): CommandPayload {
  const payload: unknown = JSON.parse(Buffer.from(fleet.command(members).payload, 'base64').toString());
  if (!Check(CommandSchema, payload)) throw new Error('not a command');
  return payload;
}

function open(folder: string, files?: FileLayer): Journal {
  const opened = openJournal(folder, { nowMs: NOW_MS, ...(files === undefined ? {} : { files }) });
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

  test('a finished command keeps its result until it is reported, and is answered again when redelivered', () => {
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
        const journal = open(folder.path, failingFiles(at, how).files);
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

  test('config.json is the floor of the order when the journal is gone', () => {
    using folder = tmpDir();
    const opened = openJournal(folder.path, { nowMs: NOW_MS, floor: { epoch: 2, seq: 9 } });
    expect(opened.ok && opened.journal.highest()).toEqual({ epoch: 2, seq: 9 });
  });

  test('it is bounded: past the limit the oldest reported ids go, and their order still refuses them', () => {
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

test('events wait on disk for the server, and the oldest go when there are too many', () => {
  using folder = tmpDir();
  const events = Array.from({ length: JOURNAL_MAX_EVENTS }, (_, index) =>
    agentEvent('AGENT_ERROR', `event ${index}`, { nowMs: NOW_MS }),
  );
  seed(folder.path, { events });
  open(folder.path).queueEvent(agentEvent('AGENT_ERROR', 'one more', { nowMs: NOW_MS }));
  const journal = open(folder.path);
  expect(journal.events()).toHaveLength(JOURNAL_MAX_EVENTS);
  expect([journal.events()[0]?.message, journal.events().at(-1)?.message]).toEqual(['event 1', 'one more']);
  journal.dropEvents(1);
  expect(open(folder.path).events()[0]?.message).toBe('event 2');
});

function seed(folder: string, members: object): void {
  const state = {
    v: 1,
    highest: { epoch: 1, seq: 0 },
    server_time: null,
    commands: [],
    events: [],
    events_dropped: 0,
  };
  writeFileSync(join(folder, 'journal.json'), JSON.stringify({ ...state, ...members }), { mode: 0o600 });
}
