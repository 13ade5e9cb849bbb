import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { array, assert, asyncProperty, constantFrom, string } from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outputPath, resultPath } from '../jobs/job-folder.ts';
import { retryable } from '../platform/failures.ts';
import { ownUid } from '../platform/file-layer.ts';
import { createLog } from '../platform/log.ts';
import { createOutputFollower, type OutputFollower, type OutputParts } from './follow-outputs.ts';
import { FOLLOWED_MAX_MS, type OutputPiece, PIECE_MAX_BYTES } from './output-cursor-rules.ts';
import { OUTPUTS_MAX, OUTPUTS_NAME } from './output-cursors.ts';

const START_MS = Date.UTC(2026, 10, 22);
const OK = { ok: true, value: null } as const;

let temporary: ReturnType<typeof tmpDir>;
let state: string;
let folder: string;
let id: string;
let nowMs: number;
let sent: { id: string; piece: OutputPiece }[];
let waits: number[];
let logged: string[];
beforeEach(() => {
  temporary = tmpDir();
  state = join(temporary.path, 'executor');
  folder = join(temporary.path, 'agent');
  for (const path of [folder, join(state, 'output'), join(state, 'results')])
    mkdirSync(path, { recursive: true });
  id = randomUUID();
  nowMs = START_MS;
  [sent, waits, logged] = [[], [], []];
});
afterEach(() => temporary.remove());

/** A follower whose waits are over at once, on a clock that they move; `onWait` is what happens meanwhile. */
function follower(parts: Partial<OutputParts> = {}, onWait: () => void = () => {}): OutputFollower {
  return createOutputFollower({
    ...{ folder, executorState: state, writerUid: ownUid(), nowMs: () => nowMs, random: () => 0.5 },
    log: createLog((line) => logged.push(line)),
    send: async (commandId, piece) => {
      sent.push({ id: commandId, piece });
      return OK;
    },
    sleep: async (ms, signal) => {
      if (signal.aborted) return;
      waits.push(ms);
      nowMs += ms;
      await new Promise(setImmediate);
      onWait();
    },
    ...parts,
  });
}

const write = (text: string, commandId = id) =>
  appendFileSync(outputPath(state, commandId), text, { mode: 0o640 });
const told = () => sent.map(({ piece }) => piece.data);
const kept = (home = folder) => JSON.parse(readFileSync(join(home, OUTPUTS_NAME), 'utf8')).outputs;
const drained = () => expect.poll(() => kept()).toEqual([]);

describe('a live output', () => {
  test('is sent while it is written, one piece a second, and ends when nothing more follows', async () => {
    const script = ['one\n', '', 'two\n', 'three\n'];
    const outputs = follower({}, () => {
      const next = script.shift();
      if (next !== undefined) write(next);
      else followed.end();
    });
    const followed = outputs.follow(id);
    await drained();
    expect(told()).toEqual(['one\n', 'two\n', 'three\n']);
    expect(sent.map(({ piece }) => piece.seq)).toEqual([0, 4, 8]);
    expect(new Set(waits)).toEqual(new Set([1_000]));
  });

  test('is not looked for after a job ended without one', async () => {
    follower().follow(id).end();
    await drained();
    expect(sent).toEqual([]);
  });

  test('ends when the result exists, even without a notification', async () => {
    const outputs = follower({}, () => writeFileSync(resultPath(state, id), '{}'));
    write('all\n');
    outputs.follow(id);
    await drained();
    expect(told()).toEqual(['all\n']);
  });

  test("is abandoned when the executor's time limit has passed", async () => {
    follower().follow(id);
    await drained();
    expect(nowMs - START_MS).toBeGreaterThan(3 * 3_600_000);
    expect(nowMs - START_MS).toBeLessThan(4 * 3_600_000);
  });

  test('resumes after a restart and resends the unanswered piece unchanged', async () => {
    write('first ');
    const hanging = follower({ send: () => new Promise(() => {}) });
    hanging.follow(id);
    expect(kept()).toMatchObject([{ sent: 0, sending: 6 }]);
    write('second\n');
    writeFileSync(resultPath(state, id), '{}');
    follower().resume();
    await drained();
    expect(told()).toEqual(['first ', 'second\n']);
  });

  test('under any faults the server ends up with the same bytes, and each number means one piece', async () => {
    const events = constantFrom('taken', 'lost', 'refused', 'killed before', 'killed after');
    await assert(
      asyncProperty(
        array(string({ unit: 'binary' }), { maxLength: 8 }),
        array(events),
        async (parts, script) => {
          [id, nowMs] = [randomUUID(), START_MS];
          let home = join(temporary.path, randomUUID());
          const onServer = new Map<number, string>();
          const growing = [...parts];
          const grow = () => {
            const next = growing.shift();
            if (next === undefined) writeFileSync(resultPath(state, id), '');
            else write(next);
          };
          const send: OutputParts['send'] = async (_, { seq, data }) => {
            const event = script.shift() ?? 'taken';
            if (event !== 'refused' && event !== 'killed before') {
              expect(onServer.get(seq) ?? data).toBe(data);
              onServer.set(seq, data);
            }
            if (event === 'taken') return OK;
            if (event === 'lost' || event === 'refused') return retryable('429 rate_limited', 2_000);
            // The process is gone: what it had written by then is what the next one finds.
            const before = home;
            home = join(temporary.path, randomUUID());
            cpSync(before, home, { recursive: true });
            setImmediate(() => follower({ folder: home, send }, grow).resume());
            return new Promise(() => {});
          };
          mkdirSync(home);
          write('');
          follower({ folder: home, send }, grow).follow(id);
          while (growing.length > 0 || kept(home).length > 0) await new Promise(setImmediate);
          const inOrder = [...onServer].sort(([a], [b]) => a - b).map(([, data]) => data);
          expect(inOrder.join('')).toBe(parts.join(''));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a server', () => {
  test('that is unreachable is retried with growing waits, and a Retry-After is always respected', async () => {
    const answers = [
      retryable('no answer'),
      retryable('no answer'),
      retryable('429 rate_limited', 90_000),
      OK,
    ];
    const isCut: boolean[] = [];
    const outputs = follower({
      send: async () => answers.shift() ?? OK,
      sleep: async (ms, signal) => {
        await Promise.resolve();
        followed.end();
        waits.push(ms);
        isCut.push(signal.aborted);
      },
    });
    write('said\n');
    const followed = outputs.follow(id);
    await drained();
    expect(waits.slice(0, 2)).toEqual([2_500, 5_000]); // half of 5 s and of 10 s: random is 0.5
    expect(waits[2]).toBeGreaterThanOrEqual(90_000);
    expect(isCut).toEqual([false, false, false, true]); // the last is the pace, which the end cuts short
  });

  test.each([
    ['does not know the command', { kind: 'rejected', code: 'not_found', status: 404, detail: 'no' }, 1],
    ['takes no such piece', { kind: 'rejected', code: 'invalid_request', status: 400, detail: 'no' }, 1],
  ] as const)('that %s is not asked again', async (_, failure, times) => {
    let asked = 0;
    const send = async () => {
      asked += 1;
      return { ok: false, failure } as const;
    };
    write('said\n');
    follower({ send }).follow(id);
    await drained();
    expect(asked).toBe(times);
    expect(logged.join('')).toContain('the live output of a command is incomplete');
  });

  test.each([
    ['refuses this host', { kind: 'terminal', error: 'ErrRefreshTokenInvalid', detail: 'no' }],
    ['cannot be asked, as the disk fails', { kind: 'storage', detail: 'EIO' }],
  ] as const)('that %s is not asked again by this process, and a later one goes on', async (_, failure) => {
    let asked = 0;
    const send = async () => {
      asked += 1;
      return { ok: false, failure } as const;
    };
    write('said\n');
    const outputs = follower({ send });
    outputs.follow(id);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate); // as many waits would be over by then
    outputs.follow(randomUUID()).end();
    await outputs.stop();
    expect(asked).toBe(1);
    expect(kept()[0]).toMatchObject({ command_id: id, sent: 0, sending: 5 });
    follower().resume();
    await expect.poll(told).toEqual(['said\n']);
  });

  test('that stays unreachable is abandoned after a day', async () => {
    write('said\n');
    follower({ send: async () => retryable('no answer') }).follow(id);
    await drained();
    expect(nowMs - START_MS).toBeGreaterThan(FOLLOWED_MAX_MS);
    expect(nowMs - START_MS).toBeLessThan(FOLLOWED_MAX_MS + 120_000);
  });
});

describe('the file of an output', () => {
  const secret = () => {
    const path = join(temporary.path, 'secret');
    writeFileSync(path, 'not for the server', { mode: 0o600 });
    return path;
  };
  const openToAll = (text: string) => {
    write(text);
    chmodSync(outputPath(state, id), 0o666);
  };
  test.each([
    ['is a symbolic link', () => symlinkSync(secret(), outputPath(state, id))],
    ['lets others write', () => openToAll('said')],
    ['is a folder', () => mkdirSync(outputPath(state, id))],
  ])('is not read where it %s', async (_, plant) => {
    plant();
    follower().follow(id);
    await drained();
    expect(sent).toEqual([]);
    expect(logged.join('')).toContain('the live output of a command is incomplete');
  });

  test('is not read unless the executor owns it', async () => {
    write('said');
    follower({ writerUid: 54_321 }).follow(id);
    await drained();
    expect(sent).toEqual([]);
  });
});

test('pending outputs are bounded: a new one replaces the oldest', async () => {
  const ids = Array.from({ length: OUTPUTS_MAX + 2 }, () => randomUUID());
  const outputs = follower({ sleep: () => new Promise(() => {}) });
  for (const one of ids) outputs.follow(one);
  expect(kept().map(({ command_id }: { command_id: string }) => command_id)).toEqual(ids.slice(2));
});

test('without stored cursors nothing is sent, and nothing fails', async () => {
  write('said\n');
  rmSync(folder, { recursive: true });
  follower().follow(id).end();
  expect(sent).toEqual([]);
  expect(logged.join('')).toContain('live outputs are not sent');
});

test('a damaged cursor file counts as absent', async () => {
  writeFileSync(join(folder, OUTPUTS_NAME), '{"v":1,"outputs":[{}]}');
  follower().resume();
  expect(sent).toEqual([]);
});

describe('an agent that ends', () => {
  test('sends all that is already written, but does not wait for more', async () => {
    const outputs = follower({
      sleep: (_, signal) => once(signal, 'abort').then(() => {}),
    });
    write('x'.repeat(3 * PIECE_MAX_BYTES));
    outputs.follow(id);
    await outputs.settle(5_000);
    expect(told().map(({ length }) => length)).toEqual(Array(3).fill(PIECE_MAX_BYTES));
    expect(kept()).toMatchObject([{ sent: 3 * PIECE_MAX_BYTES }]); // a later start goes on
  });

  test('does not wait long for an unreachable server', async () => {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const sleep: OutputParts['sleep'] = (ms) => (ms === 5_000 ? late : new Promise(() => {}));
    const outputs = follower({ sleep, send: () => new Promise(() => {}) });
    write('said\n');
    outputs.follow(id);
    const settled = outputs.settle(5_000);
    resolve();
    await settled;
    expect(kept()).toMatchObject([{ sent: 0, sending: 5 }]);
  });

  test('finishes the pending request before it stops', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof OK>();
    const outputs = follower({ send: () => promise });
    write('said\n');
    outputs.follow(id);
    const stopped = outputs.stop();
    resolve(OK);
    await stopped;
    expect(kept()).toMatchObject([{ sent: 5, sending: null }]);
  });
});
