import { CommandStatus } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { patienceOf } from '../agents/presence.ts';
import { cancelCommand } from '../commands/change-command.ts';
import { readAnswer } from '../commands/command-answer.ts';
import { findCommand } from '../commands/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { endReboot } from './end-reboot.ts';
import { progressOf, RETRY_JITTER_MS } from './progress-rules.ts';
import type { Turn } from './settle-slots.ts';
import { slotOfCommand } from './slots-store.ts';
import { attemptsUnderWay, changeReboot, findReboot } from './store.ts';

/** Rows that one statement reads. */
const PAGE = 200;

type Means = Pick<Platform, 'database' | 'newId' | 'now' | 'random'>;

/** Moves every host whose command is under way or over. Each is a transaction of its own. */
export async function followAttempts(platform: Means, { listeningSince, isStopped }: Turn): Promise<void> {
  for (let after = ''; !isStopped(); ) {
    const page = await attemptsUnderWay(platform.database.read, { limit: PAGE, after });
    for (const id of page) {
      await platform.database.transact((tx) => followAttempt(tx, platform, { id, listeningSince }));
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last;
  }
}

async function followAttempt(
  tx: Tx,
  platform: Means,
  { id, listeningSince }: { id: string; listeningSince: number },
): Promise<void> {
  const row = await findReboot(tx, id);
  const commandId = row?.command_id ?? null;
  if (!row || row.ended_at !== null || commandId === null) return;
  const command = await findCommand(tx, commandId);
  if (!command) return;
  const answer = readAnswer(command);
  const slot = await slotOfCommand(tx, commandId);
  const nowMs = platform.now();
  const step = progressOf({
    ...{
      nowMs,
      couldReport: nowMs - listeningSince >= patienceOf(row),
      kind: row.kind,
      isCancelled: row.cancelled_by !== null,
      slot,
    },
    ...{ attempts: row.attempts, offeredAtMs: row.offered_at ?? row.asked_at },
    command: {
      ...{ status: Value.Parse(CommandStatus, command.status), reason: command.reason },
      retryAtMs: answer.retry_at === undefined ? null : Date.parse(answer.retry_at),
    },
  });
  switch (step.kind) {
    case 'wait':
      return;
    case 'running':
      if (row.state !== 'running') {
        await changeReboot(tx, { id, command: commandId, change: { state: 'running' } });
      }
      return;
    case 'withdraw':
      // Its agent may have fetched it in this moment: then its result decides.
      if ((await cancelCommand(tx, platform, { command, by: 'server' })) !== 'cancelled') return;
      return putBack(tx, platform, { id, commandId, notBeforeMs: step.notBeforeMs, change: {} });
    case 'again': {
      const blockers = answer.blockers === undefined ? null : JSON.stringify(answer.blockers);
      const change = { blockers, detail: step.detail };
      return putBack(tx, platform, { id, commandId, notBeforeMs: step.notBeforeMs, change });
    }
    case 'end': {
      const outcomes = answer.units === undefined ? null : JSON.stringify(answer.units);
      const newBootId = step.state === 'rebooted' ? (answer.boot_id ?? row.host_boot) : null;
      const { state, detail } = step;
      const by = state === 'cancelled' ? (row.cancelled_by ?? 'server') : 'server';
      await endReboot(tx, platform, { row, command: commandId, state, detail, newBootId, outcomes, by });
    }
  }
}

/** Spread at random, so that hosts that were refused together do not ask together. */
async function putBack(
  tx: Tx,
  { random }: Pick<Platform, 'random'>,
  to: { id: string; commandId: string; notBeforeMs: number; change: object },
): Promise<void> {
  const jitterMs = Math.floor((random(2).readUInt16LE(0) / 0x1_0000) * RETRY_JITTER_MS);
  const queued = { state: 'queued', command_id: null, offered_at: null } as const;
  const change = { ...queued, ...to.change, not_before: to.notBeforeMs + jitterMs };
  await changeReboot(tx, { id: to.id, command: to.commandId, change });
}
