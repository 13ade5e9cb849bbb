import { dirname } from 'node:path';
import { errorCode } from '../platform/file-layer.ts';
import { secureFolder } from '../platform/root-folder.ts';
import { findStale } from './find-stale.ts';
import { type ServiceFile, writeServiceFile } from './service-file.ts';

export interface ObserveOptions {
  /** Where the report goes; its folder must be root's. */
  out: string;
  proc: string;
  bootId: string;
  nowMs: number;
  elapsedMs: () => number;
}

/** Root's part: looks at all processes once and leaves the report for the agent. It changes and restarts nothing. */
export function observe(
  options: ObserveOptions,
): { ok: true; file: ServiceFile } | { ok: false; detail: string } {
  const { out, proc, bootId, nowMs, elapsedMs } = options;
  const secured = secureFolder(dirname(out), { mode: 0o755, isGivenAway: false });
  if (!secured.ok) return secured;
  const { stale, moreServices, cannot } = findStale({ proc, elapsedMs });
  const file: ServiceFile = {
    v: 1,
    // With milliseconds: an installation that ended in the same second may not be seen yet.
    observed_at: new Date(nowMs).toISOString(),
    boot_id: bootId,
    cannot,
    stale,
    more_services: moreServices,
  };
  try {
    writeServiceFile(out, file);
    return { ok: true, file };
  } catch (error) {
    return { ok: false, detail: `${out} cannot be written (${errorCode(error)})` };
  }
}
