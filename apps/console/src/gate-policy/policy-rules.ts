import type {
  VulnerabilityPolicy,
  VulnerabilityPolicyState,
} from '@tidegate/protocol/vulnerability-policy-api';

/** The choices, as a person reads them. */
export const POLICIES: Readonly<Record<VulnerabilityPolicy, { label: string; meaning: string }>> = {
  any: {
    label: 'Every known vulnerability',
    meaning:
      'Also one that the host has already and that no version fixes: an operator overrides each such update with a reason.',
  },
  introduced: {
    label: 'Only vulnerabilities that the update introduces',
    meaning:
      'What the host has already stays listed, and does not stop. Malicious packages and versions that could not be checked stop as before.',
  },
};

/** What a choice would do to this fleet; null while no open update is judged. */
export function effectOf(policy: VulnerabilityPolicy, { open }: VulnerabilityPolicyState): string | null {
  if (open.judged === 0) return null;
  return `Stops ${text(open.stopped[policy])} of ${text(open.judged)} open updates of this fleet.`;
}

/** Both choices in one sentence; null while no open update is judged. */
export function comparisonOf({ open: { judged, stopped } }: VulnerabilityPolicyState): string | null {
  if (judged === 0) return null;
  return `To the letter: ${text(stopped.any)} of ${text(judged)} stopped; introduced only: ${text(stopped.introduced)}.`;
}

/** Updates that the numbers omit. */
export function omittedText({ open: { judged, not_judged: count } }: VulnerabilityPolicyState): string {
  if (judged === 0 && count === 0)
    return 'There are no open updates yet. The numbers appear with the first hosts.';
  if (count === 0) return 'All open updates are counted.';
  const also = judged > 0 ? ' more' : '';
  return `${text(count)}${also} ${count === 1 ? 'is' : 'are'} not judged yet and not counted.`;
}

function text(count: number): string {
  return count.toLocaleString('en');
}
