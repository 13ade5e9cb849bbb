import { statSync } from 'node:fs';
import type { RestartReport } from '@tidegate/protocol/restarts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { findContainer } from '../identity/container.ts';
import type { Pause } from '../platform/back-off.ts';
import { timestamp } from '../platform/clock.ts';
import type { FileTrust } from '../platform/file-layer.ts';
import { nameOwners } from './owners.ts';
import { readKernels } from './read-kernels.ts';
import { askDnf, readFlag, readLivepatch } from './read-reboot-signs.ts';
import { judgeReboot, judgeServices, type RebootFacts } from './reboot-rules.ts';
import { digestOf, fit } from './report-form.ts';
import { EVIDENCE_MAX_AGE_MS, readServiceFile } from './service-file.ts';

/** How long an installation's result waits for the observer, and how often it looks. */
const OBSERVER_MAX_MS = 30_000;
const OBSERVER_POLL_MS = 500;
/** An unchanged report is sent again after this time: a restored server may have lost it. */
const RESEND_MS = 24 * 3_600_000;

export interface WatchOptions {
  paths: HostPaths;
  /** The report of root's observer, and who must have written it. */
  serviceFile: string;
  writerUid: FileTrust['ownerUid'];
  bootId: string;
  nowMs: () => number;
  /** `/` except in tests. */
  root: string;
  /** Lets an agent that is root itself look; null where root's observer does. */
  observe: (() => void) | null;
}

type HostSigns = Omit<RebootFacts, 'services'>;

/** What the agent knows of old code that still runs. */
export interface RestartWatch {
  /** Reads everything again: after a scan or an installation. */
  refresh(): Promise<void>;
  /** The same after an installation, once the observer has looked: it is waited for, but not for ever. */
  refreshAfter(endMs: number, pause: Pause): Promise<void>;
  /** Reads what root's observer has left since; cheap where it left nothing. */
  follow(): Promise<void>;
  /** Null before the first `refresh`. */
  report(): RestartReport | null;
  /** The report if the server has another one, or has had this one for a day; null otherwise. */
  unsent(): RestartReport | null;
  /** The server has this report. */
  sent(report: RestartReport): void;
}

export function watchRestarts(options: WatchOptions): RestartWatch {
  const { paths, serviceFile, writerUid, bootId, nowMs, root } = options;
  let signs: HostSigns | null = null;
  let services = none('the observer has not been asked yet');
  let mark = '';
  let sent: { digest: string; atMs: number } | null = null;

  async function readServices(): Promise<RestartReport['services']> {
    const read = readServiceFile(serviceFile, writerUid);
    if (!read.ok) return none(read.detail);
    const { file } = read;
    if (file.boot_id !== bootId) return none('the observer has not looked since the last boot');
    if (nowMs() - Date.parse(file.observed_at) > EVIDENCE_MAX_AGE_MS)
      return none(`the observer looked last at ${file.observed_at}: see tidegate-observer.timer`);
    const stale = await nameOwners(paths, file.stale);
    return judgeServices({ stale, moreServices: file.more_services, cannot: file.cannot });
  }

  /** Changes with every report, and once when a report is too old. */
  function markNow(): string {
    const stat = statSync(serviceFile, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return 'absent';
    const isOld = nowMs() - Number(stat.mtimeMs) > EVIDENCE_MAX_AGE_MS;
    return `${stat.ino} ${stat.mtimeNs} ${isOld}`;
  }

  async function follow(): Promise<void> {
    const now = markNow();
    if (now === mark) return;
    mark = now;
    services = await readServices();
  }

  async function refresh(): Promise<void> {
    options.observe?.();
    signs = {
      container: findContainer(root),
      kernel: await readKernels(paths, root),
      flag: readFlag(root),
      packageManager: await askDnf(paths),
      livepatch: readLivepatch(root),
    };
    mark = '';
    await follow();
  }

  /** A look that began before the installation ended has not seen all of it. */
  function hasSeen(endMs: number): boolean {
    const read = readServiceFile(serviceFile, writerUid);
    return !read.ok || Date.parse(read.file.observed_at) >= endMs;
  }

  function report(): RestartReport | null {
    if (signs === null) return null;
    const reboot = judgeReboot({ ...signs, services });
    return fit({ observed_at: timestamp(nowMs()), boot_id: bootId, services, reboot });
  }

  return {
    refresh,
    refreshAfter: async (endMs, pause) => {
      const isObserved = options.observe === null;
      for (let waitedMs = 0; isObserved && waitedMs < OBSERVER_MAX_MS; waitedMs += OBSERVER_POLL_MS) {
        if (hasSeen(endMs) || !(await pause(OBSERVER_POLL_MS))) break;
      }
      await refresh();
      if (isObserved && !hasSeen(endMs))
        services = none('the observer has not looked since the installation');
    },
    follow,
    report,
    unsent: () => {
      const now = report();
      if (now === null || sent === null || sent.digest !== digestOf(now)) return now;
      return nowMs() - sent.atMs >= RESEND_MS ? now : null;
    },
    sent: (taken) => {
      sent = { digest: digestOf(taken), atMs: nowMs() };
    },
  };
}

function none(cannot: string): RestartReport['services'] {
  return judgeServices({ stale: [], moreServices: 0, cannot });
}
