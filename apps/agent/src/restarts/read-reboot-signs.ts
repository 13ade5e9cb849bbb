import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RestartReport } from '@tidegate/protocol/restarts';
import { PackageName } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { isDnfHost } from '../ecosystems/dnf/places.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { errorCode } from '../platform/file-layer.ts';
import { findProgram, runProgram } from '../platform/run-program.ts';
import { parseNeedsRestarting, type RebootFacts } from './reboot-rules.ts';

const FLAG_MAX_CHARS = 64 * 1024;
const DNF_LIMITS = { timeoutMs: 120_000, maxOutputBytes: 256 * 1024 };
const LIVEPATCHES = 'sys/kernel/livepatch';

/** What update-notifier or unattended-upgrades left on Debian and Ubuntu. */
export function readFlag(root: string): RebootFacts['flag'] {
  const text = readOr(root, 'run/reboot-required');
  if (text === null) return { state: 'absent', packages: [] };
  if (text === undefined) return { state: 'unreadable', packages: [] };
  const named = (readOr(root, 'run/reboot-required.pkgs') ?? '').split('\n').map((line) => line.trim());
  const packages = [...new Set(named)].filter((name) => Check(PackageName, name));
  return { state: text.trim() === '' && packages.length === 0 ? 'empty' : 'set', packages };
}

/** canonical-livepatch and kpatch both load modules that the kernel lists. */
export function readLivepatch(root: string): RestartReport['reboot']['livepatch'] {
  try {
    const patches = readdirSync(join(root, LIVEPATCHES));
    const states = patches.map((name) => readOr(root, join(LIVEPATCHES, name, 'enabled')));
    if (states.some((state) => state?.trim() === '1')) return 'active';
    return states.some((state) => state === undefined) ? 'unknown' : 'inactive';
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? 'inactive' : 'unknown';
  }
}

/** Without repositories: a question about this host never waits for a network. */
export async function askDnf(paths: HostPaths): Promise<RebootFacts['packageManager']> {
  const notAsked = { need: 'not_asked' as const, packages: [] };
  if (!(await isDnfHost(paths))) return notAsked;
  const program = (await findProgram('dnf-3')) === null ? 'dnf5' : 'dnf-3';
  const root = paths.dnfRoot === null ? [] : ['--installroot', paths.dnfRoot];
  const args = [...root, '--disablerepo=*', '-q', 'needs-restarting', ...(program === 'dnf5' ? [] : ['-r'])];
  const answer = await runProgram({ program, args, ...DNF_LIMITS });
  return parseNeedsRestarting({ exitCode: answer.ok ? 0 : answer.exitCode, stdout: answer.stdout });
}

/** Null where it does not exist, undefined where it cannot be read. */
function readOr(root: string, path: string): string | null | undefined {
  try {
    return readFileSync(join(root, path), 'utf8').slice(0, FLAG_MAX_CHARS);
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? null : undefined;
  }
}
