import { InventoryAnswer, type InventoryReport } from '@tidegate/protocol/agent-api';
import { type BareAgent, enrolBareAgent } from './bare-agent.ts';
import { expectAnswer, type Operator } from './operator.ts';

/** The version of every reported update, in the form of apt and of npm. */
export const OFFERED = { apt: '3.0.12-1', npm: '3.0.12' } as const;

/** Enrols a host whose reports the story makes up. */
export async function addHost(
  { url, operator }: { url: string; operator: Operator },
  hostname: string,
): Promise<BareAgent> {
  return enrolBareAgent(url, {
    registrationToken: await operator.registrationToken(),
    machineId: `machine-of-${hostname}`,
    hostname,
  });
}

/** Has a host report an update of each package, with its plan unless left out; returns their ids by name. */
export async function offerUpdates(
  agent: BareAgent,
  {
    ecosystem,
    names,
    withoutPlan = [],
  }: {
    ecosystem: keyof typeof OFFERED;
    names: readonly string[];
    withoutPlan?: readonly string[];
  },
): Promise<(name: string) => string> {
  const version = OFFERED[ecosystem];
  const isSystem = ecosystem === 'apt';
  const arch = isSystem ? 'amd64' : '/srv/app'; // for npm it is the folder
  const source = (name: string, at: string) => (isSystem ? { source_name: name, source_version: at } : {});
  const planOf = (name: string) => ({
    resolved_at: new Date().toISOString(),
    actions: [
      {
        ...{ action: 'upgrade' as const, name, arch, from_version: '1.0.0', to_version: version },
        ...source(name, version),
        ...(isSystem ? { origin: 'Debian:12/stable' } : {}),
        artifact: {
          filename: `${name}.pkg`,
          url: `https://mirror.example/${name}.pkg`,
          size_bytes: 10_345,
          sha256: 'a'.repeat(64),
        },
      },
    ],
  });
  const report: InventoryReport = {
    scanned_at: new Date().toISOString(),
    complete: true,
    packages: names.map((name) => ({ name, version: '1.0.0', arch, ...source(name, '1.0.0') })),
    updates: names.map((name) => ({
      ...{ name, arch, current_version: '1.0.0', available_version: version },
      ...(withoutPlan.includes(name) ? {} : { plan: planOf(name) }),
    })),
  };
  const answer = await agent.call('PUT', `/inventory/${ecosystem}`, report);
  const ids = new Map(
    expectAnswer(answer, 200, InventoryAnswer).updates.map(({ name, update_id }) => [name, update_id]),
  );
  return (name) => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`${name} was not reported`);
    return id;
  };
}

/** Waits until the gate has judged an update, so that a story does not get `verdict_pending`. */
export async function untilJudged(operator: Operator, updateId: string): Promise<void> {
  for (let i = 0; i < 20; i++) {
    const { status } = await operator.call('POST', `/api/v1/updates/${updateId}/preview`);
    if (status === 200) return;
  }
  throw new Error(`update ${updateId} is not judged`);
}

/** The action of a plan of apt that brings the offered version of a package. */
export function aptAction(name: string, more: object = {}) {
  return {
    ...{ action: 'upgrade', name, arch: 'amd64', from_version: '1.0.0', to_version: OFFERED.apt },
    ...{ source_name: name, source_version: OFFERED.apt, origin: 'Debian:12/stable' },
    artifact: {
      ...{ filename: `${name}.pkg`, url: `https://mirror.example/${name}.pkg` },
      ...{ size_bytes: 10_345, sha256: 'a'.repeat(64) },
    },
    ...more,
  };
}
