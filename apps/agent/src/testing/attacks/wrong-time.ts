import { copyFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { resultPath } from '../../jobs/job-folder.ts';
import { CLOCK_SKEW_MS, timestamp } from '../../platform/clock.ts';
import { createKey, NOW_MS, revoked, type TestKey } from '../fleet.ts';
import type { JobWorld } from '../job-world.ts';
import { type Attack, carryOut } from './attack.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const over = timestamp(NOW_MS - CLOCK_SKEW_MS);

const keysOf = ({ fleet }: JobWorld, version: number, ...keys: TestKey['entry'][]) =>
  fleet.keySet({ version, keys });

/** Lets the executor see a later signed time, or a later incarnation of the server, by a good job. */
const sawState = (members: object) => async (world: JobWorld) => {
  await carryOut(world, { state: world.fleet.agentState(members), command: { seq: 400 } });
};

/** Rollback (T11): what was good once. */
export const ROLLED_BACK: Attack[] = [
  {
    name: 'a command with a lower seq than the last',
    before: async (world) => void (await carryOut(world, { command: { seq: 500 } })),
    parts: () => ({ command: { seq: 499 } }),
    agent: 'command stale_seq',
    executor: 'command_refused stale_seq',
  },
  {
    name: 'a command with the seq of the last',
    before: async (world) => void (await carryOut(world, { command: { seq: 500 } })),
    parts: () => ({ command: { seq: 500 } }),
    agent: 'command stale_seq',
    executor: 'command_refused stale_seq',
  },
  {
    name: 'a command from before the server was restored',
    before: async (world) => void (await carryOut(world, { command: { epoch: 2, seq: 1 } })),
    parts: () => ({ command: { epoch: 1, seq: 9_000 } }),
    agent: 'command stale_epoch',
    executor: 'command_refused stale_epoch',
  },
  {
    name: 'the same where only the state of the fleet told of the restore',
    before: async (world) => {
      const state = world.fleet.agentState({ epoch: 2 });
      await carryOut(world, { state, command: { epoch: 2, seq: 1 } });
    },
    parts: ({ fleet }) => ({ state: fleet.agentState({ epoch: 1 }), command: { epoch: 1, seq: 9_000 } }),
    agent: 'command stale_epoch',
    executor: 'command_refused stale_epoch',
  },
  {
    name: 'an earlier approval of the same update',
    parts: ({ fleet, action }) => ({
      approvalEnvelope: fleet.approval({ actions: [action], issued_at: timestamp(NOW_MS - DAY_MS) }).envelope,
    }),
    agent: 'approval not_the_referenced_one',
    executor: 'approval_refused not_the_referenced_one',
  },
  {
    name: 'the key set of before a revocation, and a command by the revoked key',
    before: async (world) => {
      const next = createKey(2);
      const { entry } = world.fleet.key;
      await carryOut(world, { keySet: keysOf(world, 2, entry, next.entry) });
      const keySet = world.fleet.keySet({ version: 3, keys: [revoked(entry), next.entry], signedBy: next });
      await carryOut(world, { keySet, signedBy: next });
    },
    parts: (world) => ({ keySet: keysOf(world, 1, world.fleet.key.entry) }),
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'another key set of the version that is known',
    parts: (world) => {
      const signedBy = createKey(2);
      return { signedBy, keySet: keysOf(world, 1, world.fleet.key.entry, signedBy.entry) };
    },
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
];

/** Freeze (T12) and clocks (T16): what should be over, or is yet to come. */
export const OUT_OF_TIME: Attack[] = [
  {
    name: 'an expired command',
    parts: () => ({ command: { expires_at: over } }),
    agent: 'command expired',
    executor: 'command_refused expired',
  },
  {
    name: 'an expired approval',
    parts: () => ({ approval: { expires_at: over } }),
    agent: 'approval expired',
    executor: 'approval_refused expired',
  },
  {
    name: 'a command that is not valid yet',
    parts: () => ({ command: { not_before: timestamp(NOW_MS + HOUR_MS) } }),
    agent: 'command not_yet_valid',
    executor: 'command_refused not_yet_valid',
  },
  {
    name: 'a command under a key set that has expired: a newer one was kept from this host',
    options: () => ({ nowMs: () => NOW_MS + 91 * DAY_MS }),
    parts: () => ({
      command: {
        not_before: timestamp(NOW_MS + 91 * DAY_MS),
        expires_at: timestamp(NOW_MS + 92 * DAY_MS),
      },
      approval: { expires_at: timestamp(NOW_MS + 98 * DAY_MS) },
    }),
    agent: 'command expired_keys',
    executor: 'command_refused expired_keys',
  },
  {
    name: 'a newer key set that has expired, and a command by the key it brings',
    parts: ({ fleet }) => {
      const signedBy = createKey(2);
      const keys = [fleet.key.entry, signedBy.entry];
      return { signedBy, keySet: fleet.keySet({ version: 2, keys, expiresMs: NOW_MS }) };
    },
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'an old state of the fleet: it does not turn the signed time back',
    before: sawState({ server_time: timestamp(NOW_MS + 23 * HOUR_MS) }),
    parts: ({ fleet }) => ({
      state: fleet.agentState(),
      command: { seq: 500, expires_at: timestamp(NOW_MS + 22 * HOUR_MS) },
    }),
    agent: 'command expired',
    executor: 'command_refused expired',
  },
  {
    name: 'a host whose clock was set back by years',
    before: sawState({ server_time: timestamp(NOW_MS + 23 * HOUR_MS) }),
    options: () => ({ nowMs: () => Date.UTC(2020, 0, 1) }),
    parts: () => ({ command: { seq: 500, expires_at: timestamp(NOW_MS + 22 * HOUR_MS) } }),
    agent: 'command expired',
    executor: 'command_refused expired',
  },
  {
    name: 'the signed time that comes with the job itself ends it',
    parts: ({ fleet }) => ({ state: fleet.agentState({ server_time: timestamp(NOW_MS + 48 * HOUR_MS) }) }),
    agent: 'command expired',
    executor: 'command_refused expired',
    learns: 'time',
  },
];

/** Replays (T14). */
export const REPLAYED: Attack[] = [
  {
    name: 'the bytes of a command that was carried out, as another job',
    before: async (world) => {
      const first = await carryOut(world);
      lastJob.set(world, first);
    },
    spoil: (job, world) => copyCommand(lastJob.get(world) ?? '', job),
    agent: 'command stale_seq',
    executor: 'command_refused stale_seq',
  },
  {
    name: 'the id of a command that was carried out, with a new seq',
    before: async (world) => void (await carryOut(world, { commandId: SEEN_ID })),
    parts: () => ({ commandId: SEEN_ID }),
    agent: 'command already_seen',
    executor: 'job ID has a result already',
  },
  {
    name: 'the same after its result was thrown away: what it did is not done twice',
    before: async (world) => {
      const job = await carryOut(world, { commandId: SEEN_ID });
      rmSync(resultPath(world.stateFolder, basename(job)));
    },
    parts: () => ({ commandId: SEEN_ID }),
    agent: 'command already_seen',
    executor: 'interrupted',
  },
  {
    name: 'a job that was refused once, mended',
    before: async (world) => {
      await world.execute(world.leaveJob({ commandId: SEEN_ID, command: { crit: ['x'] } }));
    },
    parts: () => ({ commandId: SEEN_ID }),
    agent: 'ok',
    executor: 'job ID has a result already',
  },
];

const SEEN_ID = '01900000-0000-7000-8000-00000000abcd';
const lastJob = new WeakMap<JobWorld, string>();

function copyCommand(from: string, to: string): void {
  const command = join(from, 'command.json');
  copyFileSync(command, join(to, 'command.json'));
}
