import type { AgentPackage, AgentPackages } from '@tidegate/protocol/agent-packages-api';
import type { AgentFolder } from './open-folder.ts';
import { packagesOf } from './sums-rules.ts';

/** What hosts can install, and why not all of it. */
export type OfferedPackages = Pick<AgentPackages, 'version' | 'files' | 'faults'>;

/** The packages of one version, each compared with its checksum: the server's version, where there are several. */
export async function listPackages(folder: AgentFolder, ownVersion: string): Promise<OfferedPackages> {
  const state = await folder.state();
  if (state.kind !== 'ready') {
    const fault =
      state.kind === 'faulty'
        ? state.fault
        : `There is no software for agents in ${folder.path}: install the package tidegate-agents, or set SERVICE_AGENTS_DIR`;
    return { version: null, files: [], faults: [fault] };
  }
  const named = packagesOf(state.sums);
  const version = named.find((one) => one.version === ownVersion)?.version ?? named[0]?.version ?? null;
  const files: AgentPackage[] = [];
  const faults: string[] = [];
  for (const { version: of, ...file } of named) {
    if (of !== version) continue;
    const opened = await folder.open(file.path);
    if (opened.kind === 'faulty') faults.push(opened.fault);
    if (opened.kind !== 'whole') continue;
    await opened.handle.close();
    files.push({ ...file, bytes: opened.bytes });
  }
  if (named.length === 0) faults.push(`${folder.path} holds no package of the agent for Linux`);
  return { version: files.length === 0 ? null : version, files, faults };
}
