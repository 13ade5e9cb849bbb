import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandResult } from '@tidegate/protocol/agent-api';
import type { Envelope } from '@tidegate/protocol/documents';
import { AgentVersion, nullable, strict, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { syncFolder, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import type { KeyChain } from '../trust/trusted-keys-chain.ts';

/** Where the agent leaves jobs for the executor: `<spool>/<command id>/`. */
export const DEFAULT_SPOOL = '/var/spool/tidegate/jobs';
/** The executor's folder for its trust and results; only root can write it. */
export const DEFAULT_EXECUTOR_STATE = '/var/lib/tidegate-executor';
export const ARTIFACTS_FOLDER = 'artifacts';
/** Its presence marks the job as complete; the executor ignores others. */
export const READY_MARK = 'ready';
export const JOB_FILES = {
  command: 'command.json',
  approval: 'approval.json',
  keySet: 'key-set.json',
  keyChain: 'key-chain.json',
  state: 'state.json',
  proof: 'proof.json',
} as const;

/** What an agent on trial says of itself once it has checked in: the checks that it fails. */
export const AgentProof = strict({
  version: AgentVersion,
  failing: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 50 }),
});
export type AgentProof = Static<typeof AgentProof>;
const RESULT_MAX_BYTES = 8 * 1024 * 1024;

/** Why the executor did not carry out a job. */
export const EXECUTOR_REFUSALS = [
  'not_set_up',
  'network_present',
  'job_unreadable',
  'command_refused',
  'not_an_install',
  'approval_refused',
  'state_refused',
  'host_policy',
  'unfit',
  'hook_failed',
  'unsupported_ecosystem',
  'artifact_extra',
  'artifact_missing',
  'artifact_not_a_file',
  'artifact_size_differs',
  'artifact_hash_differs',
  'artifact_unsigned',
  'plan_drift',
  'packages_broken',
  'transaction_interrupted',
  'packages_locked',
  'package_held',
  'release_refused',
  'agent_failed_before',
  'space_insufficient',
  'storage_failed',
  'install_failed',
  'repair_differs',
  'repair_failed',
  'unsupported_host',
  'reboot_blocked',
  'reboot_failed',
  'boot_id_unchanged',
  'core_service',
  'evidence_missing',
  'restart_failed',
] as const;
export type ExecutorRefusal = (typeof EXECUTOR_REFUSALS)[number];

/** What the executor leaves for the agent to report. */
export const JobResult = strict({
  command_id: Uuid,
  failure: nullable(Type.Enum(EXECUTOR_REFUSALS)),
  /** The failed check of the command or approval, where that was the failure. */
  check: nullable(Type.String({ maxLength: 64 })),
  result: CommandResult,
});
export type JobResult = Static<typeof JobResult>;

export interface JobDocuments {
  command: Uint8Array;
  /** Null for commands that need none. */
  approval: Envelope | null;
  keySet: Envelope;
  /** The key sets in between, when the executor is too far behind for `keySet` alone. */
  keyChain?: KeyChain | null;
  state: Envelope | null;
}

/** Creates an empty job after removing leftovers with the same id. */
export function makeJob(spool: string, commandId: string): { folder: string; artifacts: string } {
  const folder = join(spool, commandId);
  rmSync(folder, { recursive: true, force: true });
  const artifacts = join(folder, ARTIFACTS_FOLDER);
  mkdirSync(artifacts, { recursive: true, mode: 0o755 });
  return { folder, artifacts };
}

/** Writes the documents, and last of all the mark that starts the executor. */
export function completeJob(folder: string, documents: JobDocuments): void {
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
  const write = (name: string, bytes: Uint8Array) => writeDurably(join(folder, name), bytes, { mode: 0o644 });
  write(JOB_FILES.command, documents.command);
  if (documents.approval !== null) write(JOB_FILES.approval, text(documents.approval));
  write(JOB_FILES.keySet, text(documents.keySet));
  if (documents.keyChain) write(JOB_FILES.keyChain, text(documents.keyChain));
  if (documents.state !== null) write(JOB_FILES.state, text(documents.state));
  syncFolder(folder);
  writeFileSync(join(folder, READY_MARK), '');
}

/** Whether a job is complete and unanswered: the executor removes its mark after it has written the result. */
export function isMarkedReady(folder: string): boolean {
  return existsSync(join(folder, READY_MARK));
}

export function removeJob(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Where the executor writes what the package manager says while it works. */
export function outputPath(executorState: string, commandId: string): string {
  return join(executorState, 'output', `${commandId}.log`);
}

export function resultPath(executorState: string, commandId: string): string {
  return join(executorState, 'results', `${commandId}.json`);
}

/** The result of a job, null while there is none. It is believed only from a file that root (or we) wrote. */
export function readResult(
  executorState: string,
  commandId: string,
  writerUid: number | null,
): JobResult | null {
  const trust = { maxBytes: RESULT_MAX_BYTES, ownerUid: writerUid, forbiddenMode: 0o022 };
  const result = readTrustedJson(resultPath(executorState, commandId), JobResult, trust);
  return result?.command_id === commandId ? result : null;
}
