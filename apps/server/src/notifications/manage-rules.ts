import { RULES_MAX, type RuleRequest } from '@tidegate/protocol/notifications-api';
import { appendEvent } from '../events/append-event.ts';
import { readHead } from '../events/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { type FieldFault, noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { zoneFault } from '../windows/schedule-rules.ts';
import { findChannel } from './channel-store.ts';
import {
  deleteRule,
  findRule,
  insertRule,
  listRules,
  type RuleRow,
  ruleNamed,
  ruleOf,
  updateRule,
} from './rule-store.ts';
import { nextDigest } from './time-rules.ts';

interface Asked {
  readonly request: RuleRequest;
  readonly actor: string;
}

/** What is wrong with a request of the right form; empty if nothing is. */
export function ruleFaults({ conditions, quiet_hours: quiet, mode }: RuleRequest): FieldFault[] {
  const faults: FieldFault[] = [];
  const quietZone = quiet && zoneFault(quiet.zone);
  if (quietZone) faults.push({ path: '/quiet_hours/zone', message: quietZone });
  if (quiet && quiet.from === quiet.until) {
    faults.push({ path: '/quiet_hours/until', message: 'must differ from the begin of the quiet hours' });
  }
  const digestZone = mode.kind === 'digest' ? zoneFault(mode.zone) : null;
  if (digestZone) faults.push({ path: '/mode/zone', message: digestZone });
  if (mode.kind === 'escalation' && conditions.event_types.length > 0) {
    const message = 'must be empty: an escalation is about exploited fixes that wait, not about events';
    faults.push({ path: '/conditions/event_types', message });
  }
  return faults;
}

/** A new rule speaks of what happens from now on. */
export async function addRule(platform: Platform, { request, actor }: Asked): Promise<RuleRow> {
  const nowMs = platform.now();
  return platform.database.transact(async (tx) => {
    if ((await listRules(tx)).length >= RULES_MAX) {
      throw new Refusal('conflict', { detail: `There are ${RULES_MAX} rules already. Remove one first.` });
    }
    await checkNames(tx, request, null);
    const row: RuleRow = {
      ...{ id: platform.newId(), ...columnsOf(request, nowMs) },
      position: (await readHead(tx))?.position ?? 0,
      ...{ created_by: actor, created_at: nowMs, updated_at: nowMs },
    };
    await insertRule(tx, row);
    await tell(tx, platform, { row, actor, change: 'added' });
    return row;
  });
}

export async function changeRule(
  platform: Platform,
  { id, request, actor }: Asked & { id: string },
): Promise<RuleRow> {
  const nowMs = platform.now();
  return platform.database.transact(async (tx) => {
    const kept = await findRule(tx, id);
    if (!kept) throw noSuch('rule');
    await checkNames(tx, request, id);
    // What happened while it was off is not sent afterwards.
    const isNewlyOn = kept.is_enabled === 0 && request.is_enabled;
    const position = isNewlyOn ? ((await readHead(tx))?.position ?? 0) : kept.position;
    const row = { ...kept, ...columnsOf(request, nowMs), position, updated_at: nowMs };
    await updateRule(tx, id, row);
    await tell(tx, platform, { row, before: kept, actor, change: 'changed' });
    return row;
  });
}

/** Removes a rule. What it has sent already, and what waits to be, stays. */
export async function removeRule(
  platform: Platform,
  { id, actor }: { id: string; actor: string },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const row = await findRule(tx, id);
    if (!row) throw noSuch('rule');
    await deleteRule(tx, id);
    await tell(tx, platform, { row, actor, change: 'removed' });
  });
}

async function checkNames(tx: Tx, request: RuleRequest, but: string | null): Promise<void> {
  if (await ruleNamed(tx, { name: request.name, but })) {
    throw notValid([{ path: '/name', message: 'must differ from the names of the other rules' }]);
  }
  if (!(await findChannel(tx, request.channel_id))) {
    throw notValid([{ path: '/channel_id', message: 'must be the id of a channel' }]);
  }
}

function columnsOf(request: RuleRequest, nowMs: number) {
  const { name, channel_id, is_enabled: isEnabled, conditions, quiet_hours: quiet, mode } = request;
  return {
    ...{ name, channel_id, is_enabled: isEnabled ? 1 : 0, conditions: JSON.stringify(conditions) },
    quiet_hours: quiet && JSON.stringify(quiet),
    mode: JSON.stringify(mode),
    next_digest_at: mode.kind === 'digest' ? nextDigest(mode, nowMs) : null,
  };
}

async function tell(
  tx: Tx,
  platform: Platform,
  {
    row,
    before,
    actor,
    change,
  }: { row: RuleRow; before?: RuleRow; actor: string; change: 'added' | 'changed' | 'removed' },
): Promise<void> {
  await appendEvent(tx, platform, {
    ...{ kind: 'security', type: 'NOTIFICATION_RULE_CHANGED', severity: 'warning' },
    ...{ component: 'notifications', actor },
    content: { rule_id: row.id, ...shown(row), change, actor, ...(before && { before: shown(before) }) },
  });
}

function shown(row: RuleRow) {
  const { name, channel_id, is_enabled: isEnabled, conditions, quietHours, mode } = ruleOf(row);
  return {
    ...{ name, channel_id, is_enabled: isEnabled === 1 },
    ...{ conditions, quiet_hours: quietHours, mode },
  };
}
