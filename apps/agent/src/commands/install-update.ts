import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { APPROVAL_MAX_BYTES, type ApprovalPayload, Envelope } from '@tidegate/protocol/documents';
import { Check } from 'typebox/value';
import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { type ArtifactVerdict, judgeArtifact } from '../ecosystems/judge-artifact.ts';
import { judgeByHost } from '../host-policy/policy.ts';
import { agentEvent } from '../journal/events.ts';
import { lackOfSpace } from '../platform/disk-space.ts';
import { describeFailure, type Outcome, retryable } from '../platform/failures.ts';
import { errorCode } from '../platform/file-layer.ts';
import { APPROVAL_REFUSAL_TEXT, verifyApproval } from '../trust/verify-approval.ts';
import { type CommandEnd, fail, refuse } from './command-end.ts';
import {
  askHost,
  handOver,
  insist,
  type JobCommand,
  type JobDependencies,
  namedUpdates,
  withJob,
} from './executor-job.ts';
import { keepWayBack } from './keep-way-back.ts';

export interface InstallDependencies extends JobDependencies {
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
}

/** Prepares an approved installation and hands it to the executor; nothing is installed by this process. */
export async function installUpdate(
  dependencies: InstallDependencies,
  install: JobCommand<'install_update'>,
): Promise<CommandEnd | 'left'> {
  const { command, pause } = install;
  const { executor, nowMs } = dependencies;
  if (executor.how === 'none') return refuse(dependencies, 'no_executor', executor.detail);
  if (command.approval === undefined) {
    return refuse(dependencies, 'approval_missing', 'the command names no approval');
  }
  const { token_id: tokenId } = command.approval;
  const patience = { untilMs: Date.parse(command.expires_at), pause };
  const fetched = await insist(dependencies, 'an approval', patience, () =>
    fetchApproval(dependencies, tokenId),
  );
  if (!fetched.ok) {
    const reason = `the approval could not be fetched: ${describeFailure(fetched.failure)}`;
    return fail(dependencies, reason, fetched.failure);
  }
  const judged = verifyApproval(fetched.value, {
    trusted: dependencies.config.current().trusted_keys,
    agentId: command.agent_id,
    updateIds: command.params.update_ids,
    reference: command.approval,
    nowMs: nowMs(),
  });
  if (!judged.ok) return refuse(dependencies, judged.reason, APPROVAL_REFUSAL_TEXT[judged.reason]);
  const { approval } = judged;
  const trusted = dependencies.config.current().trusted_keys;
  const veto = askHost(dependencies, (loaded) => judgeByHost(loaded, { approval, trusted, nowMs: nowMs() }));
  if (veto !== null) return veto;
  return withJob(executor, command.command_id, async ({ folder, artifacts }) => {
    const brought = await bringArtifacts(dependencies, approval.payload, artifacts);
    if (!brought.ok) return artifactFailure(dependencies, approval.payload, brought);
    const wayBack = await keepWayBack(dependencies, approval.payload, artifacts);
    const end = await handOver(dependencies, executor, { ...install, folder, approval });
    if (end === 'left' || wayBack === null || end.result.status === 'refused') return end;
    return { ...end, result: { ...end.result, way_back: wayBack } };
  });
}

async function fetchApproval(
  { config, session }: InstallDependencies,
  tokenId: string,
): Promise<Outcome<Envelope>> {
  const answer = await session.call({
    method: 'GET',
    path: `/api/v1/agents/${config.current().agent_id}/approvals/${tokenId}`,
    maxAnswerBytes: APPROVAL_MAX_BYTES,
  });
  if (!answer.ok) return answer;
  if (Check(Envelope, answer.value.body)) return { ok: true, value: answer.value.body };
  return retryable('the approval is not an envelope');
}

type Brought =
  | { ok: true }
  | { ok: false; reason: 'fetch_failed' | 'space_insufficient' | 'artifact_mismatch'; detail: string };

/** A4: the agent verifies every hash too, although the executor does not rely on it. */
async function bringArtifacts(
  { drivers, paths }: InstallDependencies,
  payload: ApprovalPayload,
  directory: string,
): Promise<Brought> {
  const driver = drivers.find(({ ecosystem }) => ecosystem === payload.ecosystem);
  if (driver === undefined) {
    return {
      ok: false,
      reason: 'fetch_failed',
      detail: `${payload.ecosystem} is not supported on this host`,
    };
  }
  const sizeBytes = payload.actions.reduce((total, { artifact }) => total + (artifact?.size_bytes ?? 0), 0);
  const lack = lackOfSpace(directory, sizeBytes);
  if (lack !== null) return { ok: false, reason: 'space_insufficient', detail: `the download ${lack}` };
  const fetched = await driver.fetch(paths, { actions: payload.actions, directory });
  if (!fetched.ok) {
    const reason = fetched.reason.startsWith('artifact_mismatch') ? 'artifact_mismatch' : 'fetch_failed';
    return { ok: false, reason, detail: fetched.reason };
  }
  const mismatch = findMismatch(payload, directory);
  return mismatch === null ? { ok: true } : { ok: false, reason: 'artifact_mismatch', detail: mismatch };
}

export function findMismatch(payload: ApprovalPayload, directory: string): string | null {
  const unjudged = new Set(readdirSync(directory));
  for (const { artifact } of payload.actions) {
    // A valid approval has one artifact per file name, so actions that share a file are judged once.
    if (artifact === undefined || !unjudged.delete(artifact.filename)) continue;
    const judged = judgeFile(() => judgeArtifact(artifact, join(directory, artifact.filename)));
    if (!judged.ok) return judged.detail;
  }
  return null;
}

function judgeFile(
  judge: () => ArtifactVerdict,
): ArtifactVerdict | { ok: false; reason: 'storage_failed'; detail: string } {
  try {
    return judge();
  } catch (error) {
    return {
      ok: false,
      reason: 'storage_failed',
      detail: `an artifact cannot be read (${errorCode(error)})`,
    };
  }
}

function artifactFailure(
  dependencies: InstallDependencies,
  payload: ApprovalPayload,
  brought: Extract<Brought, { ok: false }>,
): CommandEnd {
  const end = fail(dependencies, `${brought.reason}: ${brought.detail}`, null);
  if (brought.reason !== 'artifact_mismatch') return end;
  const event = agentEvent('ARTIFACT_MISMATCH', brought.detail, {
    nowMs: dependencies.nowMs(),
    details: { check: brought.reason, token_id: payload.token_id, ...namedUpdates(payload) },
  });
  return { ...end, events: [event] };
}
