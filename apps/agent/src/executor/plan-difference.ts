import type { PlanAction } from '@tidegate/protocol/plan';

/**
 * Compares the approved with the simulated actions as exact sets: an extra, missing or different action is a
 * difference; only one that the host has reached already may be missing. Returns a sentence for the operator, or
 * null when there is none.
 */
export function planDifference(
  approved: readonly PlanAction[],
  simulated: readonly PlanAction[],
  reached: readonly PlanAction[] = [],
): string | null {
  const expected = new Map(approved.map((action) => [keyOf(action), action]));
  const actual = new Map(simulated.map((action) => [keyOf(action), action]));
  if (expected.size !== approved.length) return 'the approval names a package twice';
  if (actual.size !== simulated.length) return 'the transaction names a package twice';
  const done = new Set(reached.map(keyOf));
  const differences: string[] = [];
  for (const [key, action] of actual) {
    const agreed = expected.get(key);
    if (agreed === undefined) differences.push(`it would also ${say(action)}`);
    else if (!isSame(agreed, action))
      differences.push(`it would ${say(action)} where to ${say(agreed)} was approved`);
  }
  for (const [key, action] of expected) {
    if (!actual.has(key) && !done.has(key)) differences.push(`it would not ${say(action)}`);
  }
  const [first, ...others] = differences;
  if (first === undefined) return null;
  return `The transaction differs from the approved plan: ${first}${others.length > 0 ? `, and ${others.length} more` : ''}.`;
}

function isSame(a: PlanAction, b: PlanAction): boolean {
  return a.action === b.action && a.from_version === b.from_version && a.to_version === b.to_version;
}

function keyOf({ name, arch }: PlanAction): string {
  return `${name}:${arch ?? ''}`;
}

function say({ action, name, arch, from_version: from, to_version: to }: PlanAction): string {
  const versions = [from === undefined ? '' : ` from ${from}`, to === undefined ? '' : ` to ${to}`];
  return `${action} ${arch === undefined ? name : `${name}:${arch}`}${versions.join('')}`;
}
