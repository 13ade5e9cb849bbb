import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../platform/file-layer.ts';
import { isAgentVersion } from './release-rules.ts';

export const VERSIONS_FOLDER = 'versions';
export const PROGRAM_NAME = 'tidegate-agent';
/** `agent` is what the agent's unit runs, perhaps on trial; `proven` is what root's units and people run. */
export type LinkName = 'agent' | 'proven';

export interface Layout {
  /** The version that the agent's unit starts. */
  running: string;
  proven: string;
}

export type LayoutOutcome = { ok: true; layout: Layout } | { ok: false; isAbsent: boolean; detail: string };

/** The target of a link, relative to its folder. */
export function programOf(version: string): string {
  return join(VERSIONS_FOLDER, version, PROGRAM_NAME);
}

/** Which versions the links of a folder name. */
export function readLayout(folder: string): LayoutOutcome {
  const [running, proven] = [readLink(folder, 'agent'), readLink(folder, 'proven')];
  if (!running.ok) return running;
  if (!proven.ok) return proven;
  return { ok: true, layout: { running: running.version, proven: proven.version } };
}

function readLink(
  folder: string,
  name: LinkName,
): { ok: true; version: string } | Extract<LayoutOutcome, { ok: false }> {
  const path = join(folder, name);
  try {
    const target = readlinkSync(path);
    const [, version = ''] = target.split('/');
    if (isAgentVersion(version) && target === programOf(version)) return { ok: true, version };
    return {
      ok: false,
      isAbsent: false,
      detail: `${path} leads to ${JSON.stringify(target)}, which is no version`,
    };
  } catch (error) {
    const code = errorCode(error);
    return { ok: false, isAbsent: code === 'ENOENT', detail: `${path} cannot be read (${code})` };
  }
}
