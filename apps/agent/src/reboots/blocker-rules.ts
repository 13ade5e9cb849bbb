import { REBOOT_BLOCKERS_MAX, type RebootBlocker } from '@tidegate/protocol/reboots';
import type { RebootBlockerNames } from '../host-policy/policy-rules.ts';
import type { Inhibitor } from './logind-rules.ts';

/** What a host was seen to do; a text says why something could not be seen. */
export interface HostBusy {
  people: readonly string[] | { unknown: string };
  inhibitors: readonly Inhibitor[] | { unknown: string };
  /** Package managers at work, by name. */
  packageManagers: readonly string[];
  /** Another job waits for the executor. */
  hasOtherJob: boolean;
}

/**
 * What keeps a host from rebooting now. People block where they were not and will not be warned, and where root's policy
 * names them. What could not be seen blocks.
 */
export function judgeBlockers(
  busy: HostBusy,
  { isWarned, policy }: { isWarned: boolean; policy: RebootBlockerNames },
): RebootBlocker[] {
  const { people, inhibitors, packageManagers, hasOtherJob } = busy;
  const isNamed = (names: readonly string[], name: string) => names.includes('*') || names.includes(name);
  const blocking =
    'unknown' in people ? [] : people.filter((user) => !isWarned || isNamed(policy.users, user));
  const inhibiting =
    'unknown' in inhibitors ? [] : inhibitors.filter(({ who }) => !isNamed(policy.ignoredInhibitors, who));
  const unknown = [people, inhibitors].flatMap((seen) => ('unknown' in seen ? [seen.unknown] : []));
  const blockers: RebootBlocker[] = [
    ...blocking.map((name) => ({ kind: 'user' as const, name })),
    ...inhibiting.map(({ who, why }) => ({ kind: 'inhibitor' as const, name: `${who}: ${why}` })),
    ...packageManagers.map((name) => ({ kind: 'package_manager' as const, name })),
    ...(hasOtherJob ? [{ kind: 'other' as const, name: 'another job of the executor' }] : []),
    ...unknown.map((name) => ({ kind: 'other' as const, name })),
  ];
  return blockers.slice(0, REBOOT_BLOCKERS_MAX);
}
