import type { PolicyLoad } from './policy.ts';
import type { HostPolicy, RebootBlockerNames } from './policy-rules.ts';

/** One line for the host's administrators: the restrictions, or why nothing is installed. */
export function describePolicy(loaded: PolicyLoad): string {
  switch (loaded.kind) {
    case 'none':
      return 'none: nothing is restricted';
    case 'policy':
      return describeRestrictions(loaded.policy).join('; ') || 'one that restricts nothing';
    case 'unusable':
      return loaded.detail;
    case 'unreadable':
      return `${loaded.detail}; the executor reads it as root, this user sees what is refused only when it is`;
  }
}

/** Why the policy lets no update of the agent be offered; null if it does. */
export function refusalOfAgentUpdates(loaded: PolicyLoad): string | null {
  const isFree =
    loaded.kind === 'none' || (loaded.kind === 'policy' && loaded.policy.agentUpdates !== 'never');
  return isFree ? null : `the policy of this host is ${describePolicy(loaded)}`;
}

function describeRestrictions({
  ecosystems,
  neverTouch,
  maxChange,
  standingApprovals,
  reboot,
  restartServices,
  agentUpdates,
  rebootBlockers,
  hours,
  stateMaxAgeMinutes,
  secondSignature,
}: HostPolicy): string[] {
  const globs = Object.entries(neverTouch).flatMap(([ecosystem, names]) =>
    names.length === 0 ? [] : [`${ecosystem} ${names.join(' ')}`],
  );
  return [
    ...(ecosystems === undefined ? [] : [`ecosystems: ${ecosystems.join(', ') || 'none'}`]),
    ...(globs.length === 0 ? [] : [`never touched: ${globs.join(', ')}`]),
    ...(maxChange === undefined ? [] : [`npm and PyPI: changes up to ${maxChange}`]),
    ...(standingApprovals === 'refuse' ? ['approvals by policies: refused'] : []),
    ...(reboot === 'never' ? ['reboots: never'] : []),
    ...(restartServices === 'never' ? ['restarts of services: never'] : []),
    ...(agentUpdates === 'never' ? ['updates of the agent: never'] : []),
    ...describeBlockers(rebootBlockers),
    ...(hours === undefined
      ? []
      : [
          `hours: ${hours.map(({ days, from, to, time_zone: zone = 'UTC' }) => `${days.join(',')} ${from}-${to} ${zone}`).join(', ')}`,
        ]),
    ...(stateMaxAgeMinutes === undefined ? [] : [`signed state: at most ${stateMaxAgeMinutes} min old`]),
    ...(secondSignature === undefined
      ? []
      : [`signed besides the server by ${secondSignature.threshold} of ${secondSignature.keys.length}`]),
  ];
}

function describeBlockers(blockers: RebootBlockerNames | undefined): string[] {
  const { users = [], ignoredInhibitors = [] } = blockers ?? {};
  return [
    ...(users.length === 0 ? [] : [`reboots wait for the logins of: ${users.join(', ')}`]),
    ...(ignoredInhibitors.length === 0
      ? []
      : [`reboots do not wait for the inhibitors of: ${ignoredInhibitors.join(', ')}`]),
  ];
}
