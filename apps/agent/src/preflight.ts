import type { Environment } from '@tidegate/protocol/proxy-route';
import { examineDisk } from './checks/examine-disk.ts';
import { examineManagers } from './checks/examine-managers.ts';
import { withoutSystemd } from './checks/examine-units.ts';
import { doubtful, type Finding, faulty, sound } from './checks/finding.ts';
import { reachServer } from './checks/reach-server.ts';
import type { EcosystemDriver } from './ecosystems/ecosystem.ts';
import { hostPaths } from './ecosystems/host-places.ts';
import { chooseMachineIdSource, doubtMachineIdSource } from './identity/choose-machine-id.ts';
import type { HostLayout } from './identity/config-file.ts';
import { findContainer } from './identity/container.ts';
import { DEFAULT_EXECUTOR_STATE, DEFAULT_SPOOL } from './jobs/job-folder.ts';
import { chooseExecutor, type HostFacts } from './jobs/start-executor.ts';
import { isBootedWithSystemd } from './platform/systemd-unit.ts';

export interface PreflightParts {
  serverUrl: string;
  allowInsecureHttp: boolean;
  machineIdSource: string;
  /** Where the agent will keep its state; it need not exist. */
  folder: string;
  layout: HostLayout;
  drivers: readonly EcosystemDriver[];
  facts: HostFacts;
  env: Environment;
  serverCa?: string | null;
  nowMs: () => number;
  root?: string;
}

/** Checks what an enrolment and the agent after it will need, before a token is used. Changes nothing. */
export async function preflight(parts: PreflightParts): Promise<Finding[]> {
  const { folder, layout, drivers, nowMs, root = '/' } = parts;
  return [
    ...(await reachServer(parts)),
    examineMachine(parts.machineIdSource, root),
    ...examineContainer(root),
    ...(await examineManagers(drivers, { paths: hostPaths(layout), nowMs: nowMs(), ailing: doubtful })),
    examineInstallations(parts),
    ...(isBootedWithSystemd(root) ? [] : [withoutSystemd()]),
    examineDisk([folder, layout.spool ?? DEFAULT_SPOOL, layout.executor_state ?? DEFAULT_EXECUTOR_STATE]),
  ];
}

function examineMachine(requested: string, root: string): Finding {
  const check = 'machine id';
  const chosen = chooseMachineIdSource(requested, root);
  if (!chosen.ok) return faulty(check, chosen.detail);
  const doubt = doubtMachineIdSource(chosen.source, root);
  return doubt === null
    ? sound(check, `from ${chosen.source}`)
    : doubtful(check, `from ${chosen.source}; ${doubt}`);
}

/** What a container needs is told here, since an enrolment only refuses what it cannot do. */
function examineContainer(root: string): Finding[] {
  const container = findContainer(root);
  if (container === null) return [];
  return [
    doubtful(
      'container',
      `this is a container (${container}). It needs a machine id of its own that stays when it is made anew, something ` +
        'that keeps "tidegate-agent run" running, and a package manager; its updates are gone when it is made anew from its image',
    ),
  ];
}

/** A host that only reports is enrolled all the same, so this is no fault. */
function examineInstallations({ facts, layout }: PreflightParts): Finding {
  const check = 'installations';
  const access = chooseExecutor(facts, layout);
  if (access.how === 'systemd') return sound(check, 'through systemd, without network');
  if (access.how === 'unshare') {
    return doubtful(
      check,
      'through unshare, if the agent runs as root: install the package tidegate-agent, whose units run it as a user of its own',
    );
  }
  return doubtful(check, `this host will only report: ${access.detail}; run this as root, as enrol will be`);
}
