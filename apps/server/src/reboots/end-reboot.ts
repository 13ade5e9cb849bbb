import type { RebootState } from '@tidegate/protocol/reboots-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { changeReboot, type RebootRow, type WaitingReboot } from './store.ts';

/** Longest text of a host in an event, in characters. */
const DETAIL_MAX_CHARS = 300;
const GOOD: readonly RebootState[] = ['rebooted', 'done', 'cancelled'];

/** Ends a row of the queue with its event; false where somebody else has moved it. */
export async function endReboot(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  end: {
    row: Pick<RebootRow, 'id' | 'agent_id' | 'kind'>;
    command: string | null;
    state: RebootState;
    detail: string | null;
    newBootId?: string | null;
    outcomes?: string | null;
    by: string;
  },
): Promise<boolean> {
  const { row, command, state, detail, newBootId = null, outcomes = null, by } = end;
  const ended_at = platform.now();
  const change = { state, detail, outcomes, new_boot_id: newBootId, ended_at };
  if (!(await changeReboot(tx, { id: row.id, command, change }))) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'reboot_ended', component: 'reboots', agentId: row.agent_id, actor: by },
    severity: state === 'failed' ? 'error' : GOOD.includes(state) ? 'info' : 'warning',
    content: {
      ...{ reboot_id: row.id, kind: row.kind, state },
      detail: detail === null ? null : detail.slice(0, DETAIL_MAX_CHARS),
    },
  });
  return true;
}

/** Ends rows that no host has a command of, each with what is known of its last attempt. */
export async function expireReboots(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  rows: readonly WaitingReboot[],
): Promise<void> {
  for (const row of rows) {
    const { detail } = row;
    await endReboot(tx, platform, { row, command: null, state: 'expired', detail, by: 'server' });
  }
}
