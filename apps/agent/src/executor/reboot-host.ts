import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { RebootBlocker, RebootOrder } from '@tidegate/protocol/reboots';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import type { RebootBlockerNames } from '../host-policy/policy-rules.ts';
import { timestamp } from '../platform/clock.ts';
import { judgeBlockers } from '../reboots/blocker-rules.ts';
import type { HostControl } from '../reboots/host-control.ts';
import { failed, interrupted, type JobEnd, refused, withRetry } from './job-result.ts';
import type { StateNews } from './watch-state.ts';

const MINUTE_MS = 60_000;
/** How often a warning looks whether the command was cancelled. */
export const LOOK_EVERY_MS = 1_000;
/** How long the last look waits for a state that was signed at the end of the warning. */
export const STATE_WAIT_MS = 5 * MINUTE_MS;
/** How much earlier than the end of the warning that state may be signed: agents fetch it every 20 seconds. */
const STATE_SLACK_MS = 30_000;
/** When logged-in users are told again, in minutes before the end. */
const REMINDERS_MINUTES = [10, 5, 1];
/** How long a host may take to go down. */
export const DOWN_MAX_MS = 15 * MINUTE_MS;
/** After this time a host with blockers may be asked again. */
const BLOCKED_RETRY_MS = 15 * MINUTE_MS;

/** What a reboot needs besides its order. */
export interface RebootMeans {
  host: HostControl;
  paths: HostPaths;
  blockerNames: () => RebootBlockerNames;
  hasOtherJob: () => boolean;
  /** Why the command may not begin at this time: it has expired, or the host's policy forbids it. Null: it may. */
  vetoAt: (timeMs: number) => JobEnd | null;
  askServer: (laterMs: number) => StateNews;
  /** Remembers durably that the boot is being ended. */
  leaveMark: () => void;
  nowMs: () => number;
  pause: (ms: number) => Promise<unknown>;
}

/**
 * Ends one boot of the host. Everything is looked at before anybody is told, and again just before the end: blockers, the
 * end of the command, the host's policy, and whether the command was cancelled. A boot that has ended is never
 * followed by another end.
 */
export async function rebootHost(order: RebootOrder, means: RebootMeans): Promise<JobEnd> {
  const { host, nowMs, vetoAt } = means;
  const cannot = host.cannot();
  if (cannot !== null) return refused('unsupported_host', cannot);
  if (host.bootId() !== order.boot_id) return rebooted(means, 'already_rebooted: that boot has ended before');
  const startedAt = timestamp(nowMs());
  const warnMs = order.warn_minutes * MINUTE_MS;
  const first = await look(means, { isWarned: warnMs > 0 });
  if (first.blockers.length > 0) return blocked(first.blockers, means);
  if (!first.hasPeople || warnMs === 0) return endBoot(order, means, { startedAt, isWarned: false });
  const late = vetoAt(nowMs() + warnMs);
  if (late !== null) return late;
  const untold = await host.tell(warning(order, order.warn_minutes));
  if (untold !== null) {
    return blocked([{ kind: 'other', name: `logged-in users cannot be warned: ${untold}` }], means);
  }
  return (await waitWarning(order, means)) ?? endBoot(order, means, { startedAt, isWarned: true });
}

/** Reports what became of a reboot whose executor was ended, by the reboot or otherwise. It never ends another boot. */
export async function afterReboot(
  order: RebootOrder,
  means: RebootMeans,
  { wasBegun }: { wasBegun: boolean },
): Promise<JobEnd> {
  const { host, nowMs } = means;
  if (host.bootId() !== order.boot_id) return rebooted(means);
  if (wasBegun) return awaitEnd(order, means, timestamp(nowMs()));
  const reason = 'The executor stopped before the reboot; this host was not rebooted.';
  await host.tell(callOff('its preparation was interrupted'));
  return interrupted(nowMs(), reason);
}

/** Everything once more, then the end. */
async function endBoot(
  order: RebootOrder,
  means: RebootMeans,
  { startedAt, isWarned }: { startedAt: string; isWarned: boolean },
): Promise<JobEnd> {
  const { host, nowMs, vetoAt, leaveMark } = means;
  const off = async (end: JobEnd, why: string) => {
    if (isWarned) await host.tell(callOff(why));
    return end;
  };
  const { blockers, names } = await look(means, { isWarned });
  if (blockers.length > 0) return off(blocked(blockers, means), 'it would disturb what runs now');
  if (host.bootId() !== order.boot_id) return rebooted(means, 'already_rebooted: that boot has ended before');
  const veto = vetoAt(nowMs());
  if (veto !== null) return off(veto, 'its time is over');
  leaveMark();
  if (isWarned) await host.tell(`Tidegate: this host restarts now (${order.cause}).`);
  const begun = await host.reboot({ despiteInhibitors: names.ignoredInhibitors.length > 0 });
  if (!begun.ok) {
    const times = { startedAt, finishedAt: timestamp(nowMs()) };
    return off(failed('reboot_failed', begun.detail, times), 'systemd refuses it');
  }
  return awaitEnd(order, means, startedAt);
}

/** Usually this process ends with the boot; its successor proves the next one. */
async function awaitEnd(order: RebootOrder, means: RebootMeans, startedAt: string): Promise<JobEnd> {
  const { host, nowMs, pause } = means;
  for (let waitedMs = 0; waitedMs < DOWN_MAX_MS; waitedMs += LOOK_EVERY_MS) {
    if (host.bootId() !== order.boot_id) return rebooted(means);
    await pause(LOOK_EVERY_MS);
  }
  const detail = `the host did not go down within ${DOWN_MAX_MS / MINUTE_MS} minutes`;
  return failed('boot_id_unchanged', detail, { startedAt, finishedAt: timestamp(nowMs()) });
}

/** Null when the whole warning has passed, and a state of its end does not take the command back. */
async function waitWarning(order: RebootOrder, means: RebootMeans): Promise<JobEnd | null> {
  const { host, askServer, pause } = means;
  const warnMs = order.warn_minutes * MINUTE_MS;
  for (let waitedMs = 0; waitedMs < warnMs + STATE_WAIT_MS; waitedMs += LOOK_EVERY_MS) {
    const news = askServer(Math.max(0, warnMs - STATE_SLACK_MS));
    const isOver = waitedMs >= warnMs;
    if (isOver && news.kind === 'fresh') return null;
    if (news.kind === 'over') {
      await host.tell(callOff('it was cancelled'));
      return refused('state_refused', news.detail, news.check);
    }
    const leftMinutes = (warnMs - waitedMs) / MINUTE_MS;
    if (waitedMs > 0 && REMINDERS_MINUTES.includes(leftMinutes)) await host.tell(warning(order, leftMinutes));
    await pause(LOOK_EVERY_MS);
  }
  await host.tell(callOff('the server cannot be asked whether it still holds'));
  const news = askServer(warnMs - STATE_SLACK_MS);
  return news.kind === 'fresh' ? null : refused('state_refused', news.detail, news.check);
}

async function look(means: RebootMeans, { isWarned }: { isWarned: boolean }) {
  const { host, paths, hasOtherJob, blockerNames } = means;
  const names = blockerNames();
  const busy = { ...(await host.findBusy(paths)), hasOtherJob: hasOtherJob() };
  const blockers = judgeBlockers(busy, { isWarned, policy: names });
  return { blockers, names, hasPeople: 'unknown' in busy.people || busy.people.length > 0 };
}

function blocked(blockers: RebootBlocker[], { nowMs }: RebootMeans): JobEnd {
  const named = blockers.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  const end = withRetry(refused('reboot_blocked', named), nowMs() + BLOCKED_RETRY_MS);
  return { ...end, result: { ...end.result, blockers } };
}

/** Proven by the kernel's own id of the boot. */
function rebooted({ host, nowMs }: RebootMeans, reason?: string): JobEnd {
  const result: CommandResult = {
    ...{ status: 'success', boot_id: host.bootId(), finished_at: timestamp(nowMs()) },
    ...(reason === undefined ? {} : { reason }),
  };
  return { failure: null, check: null, result };
}

function warning({ cause }: RebootOrder, minutes: number): string {
  const time = minutes === 1 ? '1 minute' : `${minutes} minutes`;
  return `Tidegate: this host restarts in ${time} (${cause}). Save your work.`;
}

function callOff(why: string): string {
  return `Tidegate: the restart of this host is called off: ${why}.`;
}
