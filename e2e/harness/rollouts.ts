import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { Ring } from '@tidegate/protocol/rings';
import { RolloutDetail, RolloutItem } from '@tidegate/protocol/rollouts-api';
import { Type } from 'typebox';
import { expect, onTestFinished } from 'vitest';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { expectAnswer, type Operator } from './operator.ts';

const DAY_MS = 86_400_000;
/** How often a story looks at a step of a rollout. */
export const TURN = { interval: 200 };
const Items = Type.Object({ items: Type.Array(RolloutItem) });

/** Publishes a policy with rings that approves everything clear. */
export async function publishRings(
  operator: Operator,
  rings: readonly Ring[],
  change: object = {},
): Promise<PolicyDetail> {
  const ends_at = new Date(Date.now() + 30 * DAY_MS).toISOString();
  const policy = { ...STANDING, ends_at, rings, ...change };
  return expectAnswer(await operator.call('POST', '/api/v1/policies', policy), 201, PolicyDetail);
}

/** A change that leaves the rings as they are. */
export async function changeRings(operator: Operator, policy: PolicyDetail, change: object): Promise<void> {
  const { name, text, scope, terms, windows, ends_at, rings, sha256: replaces } = policy;
  const body = { name, text, scope, terms, windows, ends_at, rings, replaces, ...change };
  expectAnswer(await operator.call('PUT', `/api/v1/policies/${policy.id}`, body), 200, PolicyDetail);
}

/** The newest rollout. */
export async function newestRollout(operator: Operator): Promise<RolloutDetail> {
  const { items } = expectAnswer(await operator.call('GET', '/api/v1/rollouts'), 200, Items);
  const answer = await operator.call('GET', `/api/v1/rollouts/${items[0]?.id}`);
  return expectAnswer(answer, 200, RolloutDetail);
}

/** Waits until the newest rollout is like this. */
export async function untilRollout(operator: Operator, like: object): Promise<RolloutDetail> {
  const newest = () => newestRollout(operator).catch((error: unknown) => error);
  await expect.poll(newest, TURN).toMatchObject(like);
  return newestRollout(operator);
}

/** The state of a version's update on each of these hosts; null: it does not offer it. */
export async function statesOf(
  operator: Operator,
  agentIds: readonly string[],
  { name, version }: { name: string; version: string },
): Promise<(string | null)[]> {
  const updates = await operator.updates({ name });
  return agentIds.map(
    (id) => updates.find((one) => one.agent_id === id && one.available_version === version)?.state ?? null,
  );
}

export async function untilStates(
  operator: Operator,
  agentIds: readonly string[],
  of: { name: string; version: string },
  states: readonly (string | null)[],
): Promise<void> {
  await expect.poll(() => statesOf(operator, agentIds, of), TURN).toEqual(states);
}

/**
 * A host policy with one probe, which is red while the file exists. Root reads both only where nobody else can change a
 * folder on the way: not in the folder for temporary files.
 */
export function policyWithProbe(redWhile: () => string): { policyFile: string; write: () => void } {
  const folder = mkdtempSync('/run/tidegate-story-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const policyFile = join(folder, 'policy.json');
  writeFileSync(policyFile, JSON.stringify({ v: 1 }), { mode: 0o644 });
  return {
    policyFile,
    write: () => {
      const probes = join(folder, 'probes.d');
      mkdirSync(probes, { mode: 0o755 });
      const probe = { v: 1, kind: 'program', program: '/usr/bin/test', args: ['!', '-e', redWhile()] };
      writeFileSync(join(probes, 'app.json'), JSON.stringify(probe), { mode: 0o644 });
    },
  };
}

/** Environment of a server whose clock is ahead. */
export function clockAhead(ms: number): Record<string, string> {
  const code = `const now=Date.now;Date.now=()=>now()+${ms}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
