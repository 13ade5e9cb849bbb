import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { RebootBlocker } from '@tidegate/protocol/reboots';
import type { HostReboot, RebootState, RebootWait, SlotGroup } from '@tidegate/protocol/reboots-api';

export const REBOOTS = '/api/v1/reboots';
export const SLOTS = '/api/v1/reboot-slots';

export const KINDS: Readonly<Record<HostReboot['kind'], string>> = {
  reboot: 'reboot',
  restart_services: 'restart of services',
};

export const STATES: Readonly<Record<RebootState, string>> = {
  queued: 'queued',
  running: 'running',
  rebooted: 'rebooted',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
  expired: 'gave up at its deadline',
};

const WAITS: Readonly<Record<RebootWait, string>> = {
  later: 'for its next attempt',
  online: 'for the host to check in',
  slot: 'for a free slot of its group',
  release: 'until a failed host of its group is released',
  healthy: 'for more hosts of its group to be well',
  turn: 'for its turn',
  fetch: 'for the host to fetch its command, or a blackout to end',
};

const BLOCKERS: Readonly<Record<RebootBlocker['kind'], string>> = {
  user: 'logged in',
  inhibitor: 'inhibits a shutdown',
  package_manager: 'is changing packages',
  other: '',
};

/** Why a host stands where it stands: what it waits for, what was in its way, and what was reported. */
export function whyText({ state, waits_for: waits, blockers, detail }: HostReboot): string {
  const inTheWay = (blockers ?? []).map(({ kind, name }) => `${isolated(name)} ${BLOCKERS[kind]}`.trim());
  return [
    ...(waits === null ? [] : [`Waits ${WAITS[waits]}.`]),
    ...(inTheWay.length === 0 ? [] : [`In the way: ${inTheWay.join(', ')}.`]),
    ...detailText(state, detail),
  ].join(' ');
}

function detailText(state: HostReboot['state'], detail: string | null): readonly string[] {
  if (detail === 'expired') return ['The host did not take the command in time.'];
  if (detail === null && state === 'expired') return ['Its turn did not come in time.'];
  return detail === null ? [] : [sentence(detail)];
}

function sentence(text: string): string {
  const written = isolated(`${text.charAt(0).toUpperCase()}${text.slice(1)}`);
  return /[.!?]$/.test(text) ? written : `${written}.`;
}

/** Whether it can be taken out of the queue, or called off; the server judges again. */
export function canCancel({ state }: Pick<HostReboot, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

export function groupText(group: string | null): string {
  return group ?? 'hosts of no group';
}

/** What a group allows, and how it stands: `1 of 2 down, 3 waiting, at least 4 must be well`. */
export function slotsText({ taken, max_at_once: most, waiting, min_healthy: well }: SlotGroup): string {
  return [
    `${taken} of ${counted(most, 'slot')} taken`,
    ...(waiting > 0 ? [`${counted(waiting, 'host')} waiting`] : []),
    ...(well > 0 ? [`at least ${counted(well, 'host')} must be well`] : []),
  ].join(', ');
}
