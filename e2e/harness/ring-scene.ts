import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import type { AptPackage, AptSet } from '@tidegate/testkit/apt-packages';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { type Host, must } from './host.ts';
import { type Answer, expectAnswer, liftLimits, logIn, type Operator } from './operator.ts';
import { clockAhead, newestRollout, policyWithProbe, statesOf, untilStates } from './rollouts.ts';
import { OFTEN } from './server-process.ts';
import { createWorld, type World } from './world.ts';

const NAME = 'app';
/** While a host has this file, its set-ups do not end. */
const WAIT = 'wait';
/** While the first host has this file, its probe is red. */
export const BROKEN = 'broken';
/** Versions whose set-up has begun, one per line. */
export const TRACE = 'trace';

/** A version of the package; with `postinst` its set-up does more. */
export function release(version: string, postinst = 'true'): AptPackage {
  const lines = [
    `echo ${version} >> "$DPKG_ROOT/${TRACE}"`,
    `rm -f "$DPKG_ROOT/${BROKEN}"`,
    `while [ -e "$DPKG_ROOT/${WAIT}" ]; do sleep 0.05; done`,
    postinst,
  ];
  return { name: NAME, version, postinst: lines.join('\n') };
}

const START: AptSet = {
  installed: [release('1.0-1')],
  // The second package keeps the host's security archive from being empty.
  offered: [release('1.1-1'), { name: 'other', version: '1.0-1', archive: 'security' }],
};

/** Four hosts with the package: two in the first ring, and one in each of two more. */
export interface RingScene extends World {
  readonly operator: Operator;
  /** The first has a probe. */
  readonly canary: Host;
  readonly second: Host;
  readonly early: Host;
  readonly rest: Host;
  /** What hosts have fetched as approvals, in order. */
  readonly approvals: readonly ApprovalPayload[];
  /** Waits until the update to a version is in these states, in the order of the hosts. */
  untilStates(version: string, ...states: (string | null)[]): Promise<void>;
  states(version: string): Promise<(string | null)[]>;
  installed(): Promise<(string | undefined)[]>;
  /** An act on the newest rollout. */
  act(what: string, reason: string): Promise<Answer>;
  /** From now on the server's clock is ahead, and the operator has logged in again. */
  ahead(ms: number): Promise<void>;
}

export async function createRingScene(engine: TestEngine): Promise<RingScene> {
  const world = await createWorld(engine, OFTEN);
  let { operator } = world;
  await liftLimits(operator); // a story looks more often than people do
  let root = '';
  const probe = policyWithProbe(() => join(root, BROKEN));
  const packages = [START];
  const [canary, second, early, rest] = await Promise.all([
    ...[world.enrolled({ packages, policyFile: probe.policyFile }), world.enrolled({ packages })],
    ...[world.enrolled({ packages }), world.enrolled({ packages })],
  ] as const);
  root = canary.apt.root;
  probe.write();
  for (const host of [canary, second]) await operator.moveTo(host.agentId(), 'canary');
  await operator.moveTo(early.agentId(), 'early');
  const hosts = [canary, second, early, rest];
  const ids = hosts.map((host) => host.agentId());
  return {
    ...world,
    get operator() {
      return operator;
    },
    ...{ canary, second, early, rest },
    approvals: approvalsSeenBy(world),
    untilStates: (version, ...states) => untilStates(operator, ids, { name: NAME, version }, states),
    states: (version) => statesOf(operator, ids, { name: NAME, version }),
    installed: () => Promise.all(hosts.map(async (host) => (await host.installed())[NAME])),
    act: async (what, reason) => {
      const { id } = await newestRollout(operator);
      return operator.call('POST', `/api/v1/rollouts/${id}/${what}`, { reason });
    },
    ahead: async (ms) => {
      await world.server.restart(clockAhead(ms));
      operator = await logIn(world.server.url);
    },
  };
}

export const holdSetUp = (host: Host) => writeFileSync(join(host.apt.root, WAIT), '');
export const letGo = (host: Host) => rmSync(join(host.apt.root, WAIT));

/** The archives of these hosts have a new version, and the hosts report it. */
export async function offer(hosts: readonly Host[], pkg: AptPackage): Promise<void> {
  await Promise.all(
    hosts.map(async (host) => {
      await host.apt.publish(pkg);
      must(await host.runOnce());
    }),
  );
}

/** What a fake source says of one version. */
export function affected(version: string) {
  return ['Debian', 'Ubuntu'].map((ecosystem) => ({ ecosystem, name: NAME, versions: [version] }));
}

/** The SHA-256 of a version in each approval that a host has fetched. */
export function hashesOf(seen: readonly ApprovalPayload[], version: string): (string | undefined)[] {
  return seen
    .flatMap(({ actions }) => actions)
    .filter(({ to_version }) => to_version === version)
    .map(({ artifact }) => artifact?.sha256);
}

const Signed = Type.Object({ payload: Type.String() });

function approvalsSeenBy({ proxy }: World): readonly ApprovalPayload[] {
  const seen: ApprovalPayload[] = [];
  proxy.tamper = ({ path, status, body }) => {
    if (path.includes('/approvals/') && status === 200) {
      const { payload } = Value.Parse(Signed, body);
      seen.push(Value.Parse(ApprovalPayload, JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))));
    }
    return body;
  };
  return seen;
}

const Decisions = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), outcome: Type.String() })),
});
const Decision = Type.Object({ record: Type.Object({ outcome_reason: Type.Unknown() }) });

/** Why the gate kept a host's offer back when it was asked last; null: it was not. */
export async function blockedBy(operator: Operator, host: Host): Promise<unknown> {
  const [update] = await operator.updates({ name: NAME, agent_id: host.agentId(), state: 'pending' });
  const list = await operator.call('GET', `/api/v1/updates/${update?.id}/decisions`);
  const blocked = expectAnswer(list, 200, Decisions).items.find(({ outcome }) => outcome === 'blocked');
  if (!blocked) return null;
  const answer = await operator.call('GET', `/api/v1/decisions/${blocked.id}`);
  return expectAnswer(answer, 200, Decision).record.outcome_reason;
}
