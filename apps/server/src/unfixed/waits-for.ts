import { Ecosystem } from '@tidegate/protocol/scalars';
import type { FIX_WAITS } from '@tidegate/protocol/vulnerabilities-api';
import type { VulnerabilityPolicy } from '@tidegate/protocol/vulnerability-policy-api';
import { Value } from 'typebox/value';
import type { ScopedHost } from '../agents/host-scope.ts';
import { policyInForce } from '../approvals/vulnerability-policy.ts';
import type { Config } from '../config.ts';
import { type HoldInForce, heldIn } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import type { Platform } from '../platform/platform.ts';
import { STOPPED_BY } from '../updates/stopped-rules.ts';

/** What may stop an operator's approval, beside what is recorded of an update. */
export interface Stops {
  readonly policy: VulnerabilityPolicy;
  readonly holds: readonly HoldInForce[];
}

export async function stopsOf(deps: {
  platform: Pick<Platform, 'database' | 'now'>;
  config: Pick<Config, 'vulnerabilityPolicy'>;
}): Promise<Stops> {
  const { read } = deps.platform.database;
  const { policy } = await policyInForce(read, deps);
  return { policy, holds: await holdsInForce(read, deps.platform.now()) };
}

interface OpenUpdate {
  readonly ecosystem: string;
  readonly name: string;
  readonly available_version: string;
  readonly state: string;
  readonly stopped_under: string | null;
}

/** What an open update waits for. Its whole plan is judged when it is approved: here only its own package is. */
export function waitsFor(
  update: OpenUpdate,
  host: ScopedHost,
  { policy, holds }: Stops,
): (typeof FIX_WAITS)[number] {
  const { state, stopped_under: stopped, name, available_version: to_version } = update;
  if (state === 'approved' || state === 'installing') return 'installation';
  if (state === 'awaiting_plan') return 'plan';
  const ecosystem = Value.Parse(Ecosystem, update.ecosystem);
  if (heldIn(holds, { ecosystem, host, actions: [{ name, to_version }] }).length > 0) return 'hold';
  if (stopped === null) return 'check';
  return STOPPED_BY[policy].includes(stopped) ? 'gate' : 'approval';
}
