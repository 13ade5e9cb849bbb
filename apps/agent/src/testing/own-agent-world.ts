import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { PlanAction } from '@tidegate/protocol/plan';
import { generatePrivateKeyHex, loadSigningKey, type SigningKey, signDetached } from '@tidegate/signing/sign';
import { loadTrustedKey, publicKeyPem } from '@tidegate/signing/verify';
import { packTar, type TarEntry } from '@tidegate/support/tar';
import { programOf } from '../ecosystems/tidegate/layout.ts';
import { archiveName, programInArchive, targetOf } from '../ecosystems/tidegate/release-rules.ts';
import { AGENT_UNIT } from '../executor/agent-trial.ts';
import { switchLink } from '../executor/agent-versions.ts';
import { loadExecutorState, saveExecutorState } from '../jobs/executor-state.ts';
import { ARTIFACTS_FOLDER, JOB_FILES } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { parseUnitState } from '../reboots/unit-state.ts';
import { NOW_MS, updateOf } from './fleet.ts';
import { createJobWorld, FILE, type JobWorld } from './job-world.ts';

export const TARGET = targetOf(process) ?? 'linux-x64';

export function createReleaseKey(): SigningKey {
  return loadSigningKey({ keyId: 'release', privateKeyHex: generatePrivateKeyHex(randomBytes(32)) });
}

/** The archive of a version as a release has it. */
export function archiveOf(version: string, entries?: readonly TarEntry[]): Buffer {
  const path = programInArchive(version, TARGET);
  const program: TarEntry = {
    kind: 'file',
    path,
    mode: 0o755,
    owner: 0,
    bytes: Buffer.from(`program ${version}`),
  };
  return gzipSync(packTar(entries ?? [program], 0));
}

/** How a job is otherwise than a good one. */
export interface OwnJobParts {
  version?: string;
  from?: string;
  archive?: Buffer;
  signedBy?: SigningKey;
  /** The checksums; default: those of the archive. */
  sums?: string;
  /** After they were signed. */
  spoil?: (sums: Buffer) => Buffer;
  noProof?: boolean;
  actions?: PlanAction[];
}

/** A host whose agent lies side by side, at version 0.1.0. */
export interface OwnAgentWorld extends JobWorld {
  key: SigningKey;
  lib: string;
  /** What the links name. */
  links(): { agent: string; proven: string };
  versions(): string[];
  leaveOwnJob(parts?: OwnJobParts): string;
  /** What the agent of a version leaves in a job after it checked in. */
  prove(job: string, version: string, failing?: string[]): void;
  program(version: string): string;
}

export function createOwnAgentWorld(): OwnAgentWorld {
  const world = createJobWorld();
  const key = createReleaseKey();
  const lib = join(world.folder, 'lib');
  addInstalled(lib, '0.1.0');
  for (const name of ['agent', 'proven'] as const) switchLink(lib, name, '0.1.0');
  const releaseKey = join(world.folder, 'release.pem');
  const { publicKeyHex } = key;
  writeFileSync(releaseKey, publicKeyPem(loadTrustedKey({ keyId: 'release', publicKeyHex })));
  const loaded = loadExecutorState(world.stateFolder);
  if (!loaded.ok) throw new Error(loaded.detail);
  const places = { agent_versions: lib, release_key: releaseKey };
  saveExecutorState(world.stateFolder, { ...loaded.state, places });
  world.host.unit(AGENT_UNIT, { active: 'active', invocation: 'a' }, null);
  // Asked every few seconds of ten minutes: without starting a program each time.
  world.host.control.showUnit = async (unit) =>
    parseUnitState(readFileSync(join(world.host.root, `unit.${unit}`), 'utf8'));
  return Object.assign(world, {
    ...{ key, lib },
    links: () => ({ agent: versionAt(lib, 'agent'), proven: versionAt(lib, 'proven') }),
    versions: () => readdirSync(join(lib, 'versions')).toSorted(),
    leaveOwnJob: (parts: OwnJobParts = {}) => leaveOwnJob(world, key, parts),
    prove: (job: string, version: string, failing: string[] = []) => {
      const state = world.fleet.agentState({ server_time: timestamp(NOW_MS + world.waitedMs + 1_000) });
      writeFileSync(join(job, JOB_FILES.state), JSON.stringify(state));
      writeFileSync(join(job, JOB_FILES.proof), JSON.stringify({ version, failing }));
    },
    program: (version: string) => readFileSync(join(lib, programOf(version)), 'utf8'),
  });
}

export function addInstalled(lib: string, version: string): void {
  mkdirSync(join(lib, 'versions', version), { recursive: true });
  writeFileSync(join(lib, programOf(version)), `program ${version}`, { mode: 0o755 });
}

function versionAt(lib: string, name: string): string {
  return readlinkSync(join(lib, name)).split('/')[1] ?? '';
}

function leaveOwnJob(world: JobWorld, key: SigningKey, parts: OwnJobParts): string {
  const { version = '0.2.0', from = '0.1.0', signedBy = key, archive = archiveOf(version) } = parts;
  const filename = archiveName(version, TARGET);
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const artifact = {
    filename,
    url: `https://server.test/agents/${filename}`,
    size_bytes: archive.length,
    sha256,
  };
  const action: PlanAction = {
    ...{ action: 'upgrade', name: 'tidegate-agent', arch: TARGET, from_version: from, to_version: version },
    artifact,
  };
  const updateId = randomUUID();
  const named = { name: 'tidegate-agent', arch: TARGET, from_version: from, to_version: version };
  const approval = world.fleet.approval({
    ...{ ecosystem: 'tidegate', updates: [updateOf(updateId, named)] },
    actions: parts.actions ?? [action],
  });
  const job = world.leaveJob({
    approvalEnvelope: approval.envelope,
    command: {
      ...{ params: { update_ids: [updateId] }, approval: approval.reference },
      expires_at: timestamp(NOW_MS + 7 * 24 * 3_600_000),
    },
    state: world.fleet.agentState({ server_time: timestamp(NOW_MS + world.waitedMs) }),
  });
  rmSync(join(job, ARTIFACTS_FOLDER, FILE));
  writeFileSync(join(job, ARTIFACTS_FOLDER, filename), archive);
  if (parts.noProof) return job;
  const sums = Buffer.from(parts.sums ?? `${sha256}  ${filename}\n`);
  writeFileSync(join(job, 'SHA256SUMS'), parts.spoil?.(Buffer.from(sums)) ?? sums);
  writeFileSync(join(job, 'SHA256SUMS.sig'), signDetached(signedBy, sums));
  return job;
}
