import { ServiceUnit } from '@tidegate/protocol/reboots';
import type { RebootKind } from '@tidegate/protocol/reboots-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { withTags } from '../agents/host-scope.ts';
import { lockBinding } from '../agents/store.ts';
import { createFreezes } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { type NewCommand, queueCommand } from '../commands/queue-command.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Opened } from '../platform/db/row-seals.ts';
import type { Platform } from '../platform/platform.ts';
import { DEFAULT_LIMITS, isHalted } from '../reboot-slots/slot-rules.ts';
import { limitsOf } from '../reboot-slots/store.ts';
import { endReboot } from './end-reboot.ts';
import { allLimits, countAllSlots } from './slots-store.ts';
import { askAt, changeReboot, groupsWaiting, nextInLine, openReboot } from './store.ts';

/** How long after its offer a command may begin at the latest, beside the warning, in milliseconds. */
const OFFER_LIFETIME_MS = 60 * 60_000;
/** Hosts of blackouts that are passed over to find those of free slots. */
const PASSED_OVER_MAX = 100;
/** Restarts of services that one turn offers; they take no slot. */
const RESTARTS_MAX = 200;

/** A blackout may be ended early: its hosts are looked at again after so many milliseconds. */
const FROZEN_MAX_MS = 3_600_000;

type Means = Pick<Platform, 'database' | 'newId' | 'now'>;
type Waiting = { id: string; agent_id: string; group: string | null };

/** Offers free slots to those who have waited longest. The slot itself is taken when the host fetches the command. */
export async function offerReboots(platform: Means, isStopped: () => boolean): Promise<void> {
  const nowMs = platform.now();
  const { read } = platform.database;
  await offerTo(platform, { kind: 'restart_services', group: null, free: RESTARTS_MAX, nowMs });
  const limits = new Map((await allLimits(read)).map((row) => [row.group_name, limitsOf(row)]));
  const slots = await countAllSlots(read);
  for (const { group, waiting, offered } of await groupsWaiting(read, nowMs)) {
    if (isStopped()) return;
    const limit = limits.get(group) ?? DEFAULT_LIMITS;
    const counts = slots.get(group) ?? { open: 0, failed: 0 };
    const free = limit.maxAtOnce - counts.open - offered;
    if (waiting === 0 || free <= 0 || isHalted(limit, counts)) continue;
    await offerTo(platform, { kind: 'reboot', group, free, nowMs });
  }
}

async function offerTo(
  platform: Means,
  { kind, group, free, nowMs }: { kind: RebootKind; group: string | null; free: number; nowMs: number },
): Promise<void> {
  const { database } = platform;
  const line = await nextInLine(database.read, { kind, group, nowMs, limit: free + PASSED_OVER_MAX });
  const { ready, frozen } = await apart(platform, line);
  for (const [timeMs, ids] of frozen) await database.transact((tx) => askAt(tx, { ids, timeMs }));
  let left = free;
  for (const { id, agentId } of ready) {
    if (left === 0) return;
    if (await database.transact((tx) => offer(tx, platform, { id, agentId }))) left--;
  }
}

/** Those who may be changed now, and the others by when they are looked at again. */
async function apart({ database, now }: Means, line: readonly Waiting[]) {
  const frozen = new Map<number, string[]>();
  const blackouts = line.length === 0 ? [] : await liveBlackouts(database.read, now());
  if (blackouts.length === 0)
    return { ready: line.map(({ id, agent_id: agentId }) => ({ id, agentId })), frozen };
  const freezes = createFreezes(blackouts, now());
  const scopes = blackouts.map(({ scope }) => scope);
  const hosts = await withTags(
    database.read,
    line.map(({ id, agent_id, group }) => ({ row: id, id: agent_id, group })),
    scopes,
  );
  const ready: { id: string; agentId: string }[] = [];
  for (const host of hosts) {
    const freeze = freezes.of(host);
    if (freeze === null) {
      ready.push({ id: host.row, agentId: host.id });
      continue;
    }
    const untilMs = Math.min(freeze.untilMs, now() + FROZEN_MAX_MS);
    frozen.set(untilMs, [...(frozen.get(untilMs) ?? []), host.row]);
  }
  return { ready, frozen };
}

/**
 * Queues the command of one host; false where it needs none any more. The host is held first, so that of two servers
 * the second one finds that the row has a command.
 */
async function offer(
  tx: Tx,
  platform: Means,
  { id, agentId }: { id: string; agentId: string },
): Promise<boolean> {
  const host = await lockBinding(tx, { engine: platform.database.engine, agentId });
  const { row, isThere } = await openReboot(tx, id);
  if (row === null) {
    // Nobody asked for it: the seal is reported, and the row does not stand in the way of others.
    const change = { state: 'failed', detail: 'not_sealed', ended_at: platform.now() } as const;
    if (isThere) await changeReboot(tx, { id, command: null, change });
    return false;
  }
  const over = { row, command: null, by: 'server' };
  if (host?.status !== 'active') {
    await endReboot(tx, platform, { ...over, state: 'failed', detail: 'the host is revoked or deleted' });
    return false;
  }
  if (host.bootId !== row.boot_id) {
    const detail = 'it has been restarted since';
    const state = row.kind === 'reboot' ? 'rebooted' : 'done';
    await endReboot(tx, platform, { ...over, state, detail, newBootId: host.bootId });
    return false;
  }
  const nowMs = platform.now();
  const commandId = await queueCommand(tx, platform, { ...commandOf(row, nowMs), agentId });
  const change = { command_id: commandId, offered_at: nowMs, attempts: row.attempts + 1 };
  if (!(await changeReboot(tx, { id, command: null, change })))
    throw new Error('a row was moved that was held');
  return true;
}

function commandOf(row: Opened<'host_reboots'>, nowMs: number): Omit<NewCommand, 'agentId'> {
  const { kind, boot_id, warn_minutes, reason: cause, units, asked_by: createdBy } = row;
  const latestMs = nowMs + OFFER_LIFETIME_MS + warn_minutes * 60_000;
  const common = { createdBy, expiresAtMs: Math.min(row.deadline_at, latestMs) };
  if (kind === 'reboot') return { ...common, action: 'reboot', params: { boot_id, warn_minutes, cause } };
  const named = Value.Parse(Type.Array(ServiceUnit), JSON.parse(units ?? '[]'));
  return { ...common, action: 'restart_services', params: { units: named } };
}
