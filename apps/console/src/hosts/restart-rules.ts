import type { KernelSeen, RestartNeed, RestartReport, StaleService } from '@tidegate/protocol/restarts';

/** The labels of the filters. Unknown is a choice of its own: it never counts as "not needed". */
export const SERVICES_WORDS: Readonly<Record<RestartNeed, string>> = {
  needed: 'Services need a restart',
  not_needed: 'No service needs a restart',
  unknown: 'Not known whether services need a restart',
};
export const REBOOT_WORDS: Readonly<Record<RestartNeed, string>> = {
  needed: 'Reboot needed',
  not_needed: 'No reboot needed',
  unknown: 'Not known whether a reboot is needed',
};

type Reboot = RestartReport['reboot'];

const KINDS: Readonly<Record<StaleService['kind'], string>> = {
  core: 'reboot the host: restarting this service alone ends every session',
  service: 'restart the service',
  other: 'restart the program: it belongs to no unit',
  session: 'ends when its user logs out',
};

/** What to do about a service. */
export function actOf({ kind }: Pick<StaleService, 'kind'>): string {
  return KINDS[kind];
}

/** Why a reboot is needed, or what was found instead, in sentences. */
export function rebootReasons(reboot: Reboot): string[] {
  const { evidence, running_kernel: running, next_kernel: next, packages, livepatch, reason } = reboot;
  const named = packages.length === 0 ? '' : `: ${packages.join(', ')}`;
  const words: Readonly<Record<Reboot['evidence'][number], string>> = {
    newer_kernel:
      !next && !running
        ? 'A newer kernel is installed.'
        : `A newer kernel is installed: ${kernelText(next)}. Running: ${kernelText(running)}.`,
    pinned_kernel: `The boot loader is pinned to another kernel: ${kernelText(next)}. Running: ${kernelText(running)}.`,
    reboot_required_file: `Packages asked for a reboot (/run/reboot-required)${named}.`,
    empty_reboot_required_file: 'The file /run/reboot-required is empty, as a live patch leaves it.',
    package_manager: `dnf says that the host needs a reboot${named}.`,
    core_service: 'A service that cannot be restarted by itself runs replaced files.',
    container: 'This host is a container: it has no kernel of its own.',
  };
  return [
    ...evidence.map((one) => words[one]),
    ...(livepatch === 'active' ? ['A live patch is active. It can delay the reboot, not replace it.'] : []),
    ...(reason === undefined ? [] : [`Not known: ${reason}.`]),
  ];
}

/** The release with the version of its package, where that says more. */
export function kernelText(kernel: KernelSeen | undefined): string {
  if (kernel === undefined) return 'not known';
  const { release, version } = kernel;
  return version === undefined || release.startsWith(version) ? release : `${release} (${version})`;
}
