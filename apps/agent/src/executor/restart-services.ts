import type { RestartOrder, UnitOutcome } from '@tidegate/protocol/reboots';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { timestamp } from '../platform/clock.ts';
import type { FileTrust } from '../platform/file-layer.ts';
import { shownText } from '../platform/shown-text.ts';
import type { HostControl } from '../reboots/host-control.ts';
import { isNeverRestarted, unrestarted } from '../reboots/unit-state.ts';
import { EVIDENCE_MAX_AGE_MS, readServiceFile } from '../restarts/service-file.ts';
import { isCoreUnit } from '../restarts/unit-rules.ts';
import { failed, type JobEnd, refused } from './job-result.ts';

/** Longest whole command; services that are left are not attempted. */
const RESTARTS_MAX_MS = 60 * 60_000;
/** How long a restarted service may take until it says that it runs. */
const SETTLE_MAX_MS = 10_000;
const SETTLE_EVERY_MS = 500;
const DETAIL_MAX_CHARS = 500;

export interface RestartMeans {
  host: HostControl;
  paths: HostPaths;
  /** The report of root's observer, and who must have written it. */
  serviceFile: string;
  writerUid: FileTrust['ownerUid'];
  vetoAt: (timeMs: number) => JobEnd | null;
  nowMs: () => number;
  pause: (ms: number) => Promise<unknown>;
}

/**
 * Restarts services of the order that root's own observer saw running replaced files, one by one. Each is judged by
 * systemd afterwards: it runs, and it is another run than before.
 */
export async function restartServices({ units }: RestartOrder, means: RestartMeans): Promise<JobEnd> {
  const { host, paths, vetoAt, nowMs } = means;
  const cannot = host.cannot();
  if (cannot !== null) return refused('unsupported_host', cannot);
  const own = host.ownUnit();
  const core = units.find((unit) => isCoreUnit(unit) || isNeverRestarted(unit) || unit === own);
  if (core !== undefined) {
    return refused('core_service', `${core} is never restarted by itself: it takes a reboot, or a person`);
  }
  const evidence = readEvidence(means);
  if (!evidence.ok) return refused('evidence_missing', evidence.detail);
  const { packageManagers } = await host.findBusy(paths);
  if (packageManagers.length > 0) {
    return refused(
      'packages_locked',
      `${packageManagers.join(', ')} is at work: services are restarted after it`,
    );
  }
  const veto = vetoAt(nowMs());
  if (veto !== null) return veto;
  const beganMs = nowMs();
  const outcomes: UnitOutcome[] = [];
  for (const unit of units) {
    const isLate = nowMs() - beganMs >= RESTARTS_MAX_MS || vetoAt(nowMs()) !== null;
    if (!evidence.stale.has(unit)) outcomes.push({ unit, outcome: 'not_stale' });
    else if (isLate) outcomes.push({ unit, outcome: 'not_attempted' });
    else outcomes.push(await restart(unit, means));
  }
  const times = { startedAt: timestamp(beganMs), finishedAt: timestamp(nowMs()) };
  return told(outcomes, times);
}

function readEvidence({
  host,
  serviceFile,
  writerUid,
  nowMs,
}: RestartMeans): { ok: true; stale: ReadonlySet<string> } | { ok: false; detail: string } {
  const read = readServiceFile(serviceFile, writerUid);
  if (!read.ok) return read;
  const { file } = read;
  if (file.boot_id !== host.bootId()) {
    return { ok: false, detail: 'the observer has not looked since the last boot' };
  }
  if (nowMs() - Date.parse(file.observed_at) > EVIDENCE_MAX_AGE_MS) {
    return { ok: false, detail: `the observer looked last at ${file.observed_at}` };
  }
  const services = file.stale.filter(({ kind }) => kind === 'service');
  return { ok: true, stale: new Set(services.map(({ name }) => name)) };
}

async function restart(unit: string, { host, pause }: RestartMeans): Promise<UnitOutcome> {
  const failure = (text: string): UnitOutcome => ({
    ...{ unit, outcome: 'failed', detail: shownText(text, DETAIL_MAX_CHARS) },
  });
  const before = await host.showUnit(unit);
  if (before === null) return failure('systemd does not say what it does');
  const run = await host.restartUnit(unit);
  if (!run.ok) return failure(run.detail);
  let after = await host.showUnit(unit);
  for (let waitedMs = 0; after?.active === 'activating' && waitedMs < SETTLE_MAX_MS; ) {
    await pause(SETTLE_EVERY_MS);
    waitedMs += SETTLE_EVERY_MS;
    after = await host.showUnit(unit);
  }
  if (after === null) return failure('systemd does not say what it does after the restart');
  const why = unrestarted(before, after);
  return why === null ? { unit, outcome: 'restarted' } : failure(why);
}

function told(units: UnitOutcome[], times: { startedAt: string; finishedAt: string }): JobEnd {
  const left = units.filter(({ outcome }) => outcome === 'failed' || outcome === 'not_attempted');
  const named = left.map(({ unit, outcome, detail }) => `${unit}: ${detail ?? outcome}`).join('; ');
  if (left.length > 0) {
    const end = failed('restart_failed', named, times);
    return { ...end, result: { ...end.result, units } };
  }
  const result = {
    ...{ status: 'success' as const, started_at: times.startedAt, finished_at: times.finishedAt, units },
    ...(units.some(({ outcome }) => outcome === 'restarted')
      ? {}
      : { reason: 'nothing_stale: none of these services runs replaced files any more' }),
  };
  return { failure: null, check: null, result };
}
