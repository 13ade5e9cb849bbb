import { bundlersOf } from '@tidegate/protocol/bundles';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { type ArtifactIdentity, type PlanHost, sightingsOf } from '../artifacts/identity-rules.ts';

/** An artifact with the hash that a host has installed, or would install. */
export interface Proof extends ArtifactIdentity {
  readonly hash: string;
}

interface Brought {
  readonly ecosystem: Ecosystem;
  readonly host: PlanHost;
  readonly actions: readonly PlanAction[];
}

export function proofKey({ scope, name, version, variant, algorithm, hash }: Proof): string {
  return [scope, name, version, variant, algorithm, hash].join('\n');
}

/** What a plan brings, to the hash. The versions that it replaces are in it for the way back, and prove nothing. */
export function proofsOf({ ecosystem, host, actions }: Brought): Proof[] {
  return sightingsOf({ ecosystem, host, actions: actions.map(({ back: _, ...action }) => action) });
}

/** What a plan brings and `proven` does not have with every hash that the plan names; without a hash nothing is proven. */
export function unprovenIn(
  { ecosystem, host, actions }: Brought,
  proven: ReadonlySet<string>,
): { package: string; version: string }[] {
  const bundlers = bundlersOf({ ecosystem, actions });
  return actions.flatMap((action) => {
    const { name, to_version: version } = action;
    if (version === undefined) return [];
    const own = proofsOf({ ecosystem, host, actions: [bundlers.get(action) ?? action] });
    const isProven = own.length > 0 && own.every((one) => proven.has(proofKey(one)));
    return isProven ? [] : { package: name, version };
  });
}
