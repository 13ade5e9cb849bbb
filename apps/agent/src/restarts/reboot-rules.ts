import type { REBOOT_EVIDENCE, RestartReport } from '@tidegate/protocol/restarts';
import type { KernelVerdict } from './kernel-rules.ts';

type Reboot = RestartReport['reboot'];
type Evidence = (typeof REBOOT_EVIDENCE)[number];

export interface RebootFacts {
  /** The evidence that this is a container; null on a machine. */
  container: string | null;
  kernel: KernelVerdict;
  /** `/run/reboot-required`, with the names in its `.pkgs`; a live patch leaves an empty file. */
  flag: { state: 'absent' | 'set' | 'empty' | 'unreadable'; packages: readonly string[] };
  /** The verdict of dnf's needs-restarting; `not_asked` where there is none. */
  packageManager: { need: 'needed' | 'not_needed' | 'not_asked'; packages: readonly string[] };
  services: RestartReport['services'];
  livepatch: Reboot['livepatch'];
}

const PACKAGES_MAX = 50;

/** A reboot is needed by any evidence, and not needed only where nothing is unknown. Never in a container. */
export function judgeReboot(facts: RebootFacts): Reboot {
  const { container, kernel, flag, packageManager, services, livepatch } = facts;
  const common = { livepatch, ...(kernel.running.release === '' ? {} : { running_kernel: kernel.running }) };
  if (container !== null) {
    return { need: 'not_needed', evidence: ['container'], packages: [], ...common };
  }
  const evidence: Evidence[] = [];
  if (kernel.kind === 'newer') evidence.push('newer_kernel');
  if (kernel.kind === 'pinned') evidence.push('pinned_kernel');
  if (flag.state === 'set') evidence.push('reboot_required_file');
  if (packageManager.need === 'needed') evidence.push('package_manager');
  if (services.stale.some(({ kind }) => kind === 'core')) evidence.push('core_service');
  const isNeeded = evidence.length > 0;
  if (flag.state === 'empty') evidence.push('empty_reboot_required_file');
  const reasons = [
    kernel.kind === 'unknown' ? kernel.reason : null,
    flag.state === 'unreadable' ? '/run/reboot-required cannot be read' : null,
    services.need === 'unknown' ? `services: ${services.reason ?? 'not looked at'}` : null,
  ].filter((reason) => reason !== null);
  const isUnknown = !isNeeded && reasons.length > 0;
  return {
    need: isNeeded ? 'needed' : isUnknown ? 'unknown' : 'not_needed',
    ...(isUnknown ? { reason: reasons.join('; ').slice(0, 1_000) } : {}),
    evidence,
    ...common,
    ...(kernel.kind === 'unknown' ? {} : { next_kernel: kernel.next }),
    packages: [...new Set([...flag.packages, ...packageManager.packages])].slice(0, PACKAGES_MAX),
  };
}

/** What services need, from what was seen. Sessions end with their users and need no act of an operator. */
export function judgeServices(seen: {
  stale: RestartReport['services']['stale'];
  moreServices: number;
  cannot: string | null;
}): RestartReport['services'] {
  const { stale, moreServices, cannot } = seen;
  const isNeeded = moreServices > 0 || stale.some(({ kind }) => kind !== 'session');
  return {
    need: isNeeded ? 'needed' : cannot === null ? 'not_needed' : 'unknown',
    ...(cannot === null ? {} : { reason: cannot }),
    stale,
    more_services: moreServices,
  };
}

/** The answer of `dnf needs-restarting -r` (dnf 4) or `dnf5 needs-restarting`: words and exit code have to agree. */
export function parseNeedsRestarting({
  exitCode,
  stdout,
}: {
  exitCode: number | null;
  stdout: string;
}): RebootFacts['packageManager'] {
  const packages = [...stdout.matchAll(/^ +\* (\S+)$/gm)].map(([, name = '']) => name);
  if (exitCode === 1 && packages.length > 0) return { need: 'needed', packages };
  if (exitCode === 0 && packages.length === 0) return { need: 'not_needed', packages };
  return { need: 'not_asked', packages: [] };
}
