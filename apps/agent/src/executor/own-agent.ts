import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { SIGNATURE_FILE, SIGNATURE_MAX_BYTES, SUMS_FILE, SUMS_MAX_BYTES } from '@tidegate/signing/release';
import type { OwnPlaces } from '../ecosystems/ecosystem.ts';
import { type Layout, readLayout } from '../ecosystems/tidegate/layout.ts';
import { readRelease, readReleaseKey } from '../ecosystems/tidegate/read-release.ts';
import {
  AGENT_PACKAGE,
  archiveName,
  isAgentVersion,
  isNewer,
  programInArchive,
  retryAt,
  targetOf,
} from '../ecosystems/tidegate/release-rules.ts';
import { readTrials } from '../ecosystems/tidegate/trial-record.ts';
import { secureFolder } from '../platform/root-folder.ts';
import type { HostControl } from '../reboots/host-control.ts';
import { AGENT_UNIT, type AgentWitness, tryVersion } from './agent-trial.ts';
import { addVersion, pruneVersions, switchLink } from './agent-versions.ts';
import type { Commit, Installer, InstallJob, PrepareRefusal, Transaction } from './installer.ts';

/** What the agent's own update takes besides the staged archive. */
export interface OwnAgentMeans {
  commandId: string;
  host: HostControl;
  witness: AgentWitness;
  /** A document that the job brings beside its artifacts; null where it cannot be read. */
  read: (name: string, maxBytes: number) => Uint8Array | null;
  nowMs: () => number;
  pause: (ms: number) => Promise<unknown>;
}

/**
 * Installs another version of the agent beside the proven one, if the release key that root has put on this host signed
 * it, whoever approved it. The program that does this is the proven version, and stays it until the other has proved
 * itself.
 */
export function ownAgentInstaller(means: OwnAgentMeans): Installer {
  return {
    prepare: async (job, work) => {
      const judged = judge(job, means);
      return judged.ok ? { ok: true, value: await work(judged.transaction) } : judged;
    },
  };
}

type Judged = { ok: true; transaction: Transaction } | { ok: false; reason?: PrepareRefusal; detail: string };

function judge(job: InstallJob, means: OwnAgentMeans): Judged {
  const { own } = job.paths;
  const [action, ...others] = job.approval.payload.actions;
  const cannot = whyNot(means.host);
  if (own === null || cannot !== null) return refuse('unsupported_host', cannot ?? 'no place for versions');
  const secured = secureFolder(own.folder, { mode: null, isGivenAway: false });
  if (!secured.ok) return refuse('unsupported_host', secured.detail);
  const links = readLayout(own.folder);
  if (!links.ok) return refuse('unsupported_host', `the versions are not side by side: ${links.detail}`);
  const { proven } = links.layout;
  if (action === undefined || others.length > 0) return { ok: false, detail: 'the agent is updated alone' };
  const wanted = wantedOf(action);
  if (wanted === null) return { ok: false, detail: `${action.name} is not the agent for this host` };
  if (proven === wanted.version) {
    return { ok: true, transaction: { actions: [], reached: [action], commit: nothingLeft(action) } };
  }
  const fault = judgeRelease(own, wanted, means);
  if (fault !== null) return refuse('release_refused', fault);
  if (!isNewer(wanted.version, proven)) {
    return refuse(
      'release_refused',
      `${wanted.version} is not newer than ${proven}, and the agent never goes back`,
    );
  }
  const barred = findBar(own, wanted.version, means.nowMs());
  if (barred !== null) return refuse('agent_failed_before', barred);
  const commit: Commit = (onOutput) =>
    carryOut(job, { own, wanted, links: links.layout, means }, (line) =>
      onOutput?.(Buffer.from(`${line}\n`)),
    );
  const actions: PlanAction[] = [{ ...action, action: 'upgrade', from_version: proven }];
  return { ok: true, transaction: { actions, reached: [], commit } };
}

/** The executor must outlive the agent that it restarts. */
function whyNot(host: HostControl): string | null {
  const cannot = host.cannot();
  if (cannot !== null) return cannot;
  return host.ownUnit() === AGENT_UNIT ? 'the executor runs inside the unit of the agent' : null;
}

interface Wanted {
  version: string;
  target: string;
  filename: string;
  sha256: string;
}

function wantedOf({ action, name, arch, to_version: version, artifact }: PlanAction): Wanted | null {
  const target = targetOf(process);
  if (target === null || name !== AGENT_PACKAGE || arch !== target || action === 'remove') return null;
  if (version === undefined || !isAgentVersion(version) || artifact?.sha256 === undefined) return null;
  const { filename, sha256 } = artifact;
  return filename === archiveName(version, target) ? { version, target, filename, sha256 } : null;
}

/** The server's approval is not enough: the release key must have signed this very file under this very name. */
function judgeRelease(own: OwnPlaces, { filename, sha256 }: Wanted, { read }: OwnAgentMeans): string | null {
  const key = readReleaseKey(own);
  if (!key.ok) return key.detail;
  const sums = read(SUMS_FILE, SUMS_MAX_BYTES);
  const signature = read(SIGNATURE_FILE, SIGNATURE_MAX_BYTES);
  if (sums === null || signature === null) return `the job brings no ${SUMS_FILE} with its signature`;
  const release = readRelease(key.key, { sums, signature });
  if (!release.ok) return release.detail;
  return release.files.get(filename) === sha256 ? null : `the signed release does not name this ${filename}`;
}

function findBar(own: OwnPlaces, version: string, nowMs: number): string | null {
  const at = retryAt(readTrials(own).failures, version);
  if (at === 'never') return `version ${version} failed three times here: approve another`;
  return at <= nowMs
    ? null
    : `version ${version} failed here, and is not tried again before ${new Date(at).toISOString()}`;
}

async function carryOut(
  { approval, stage }: InstallJob,
  {
    own,
    wanted,
    links: { running, proven },
    means,
  }: { own: OwnPlaces; wanted: Wanted; links: Layout; means: OwnAgentMeans },
  tell: (line: string) => void,
): ReturnType<Commit> {
  const { version, target, filename } = wanted;
  const lines: string[] = [];
  const say = (line: string) => {
    lines.push(line);
    tell(line);
  };
  const failed = (detail: string) =>
    ({ ok: false, reason: 'install_failed', detail, exitCode: null, output: lines.join('\n') }) as const;
  // A trial whose job was removed has no end: the link goes back before the next one.
  if (running !== proven) switchLink(own.folder, 'agent', proven);
  pruneVersions(own.folder, null);
  const member = programInArchive(version, target);
  const added = await addVersion(own.folder, { version, archive: join(stage, filename), member });
  if (!added.ok) return failed(added.detail);
  const update_ids = approval.payload.updates.map(({ update_id }) => update_id);
  const trial = { command_id: means.commandId, update_ids, from: proven, to: version };
  const { host, witness, nowMs, pause } = means;
  const outcome = await tryVersion(trial, { places: own, host, witness, nowMs, pause, tell: say });
  if (!outcome.ok) return failed(outcome.detail);
  say(`Version ${version} has proved itself.`);
  return {
    ok: true,
    installed: [{ name: AGENT_PACKAGE, version, arch: target }],
    output: `${lines.join('\n')}\n`,
  };
}

function nothingLeft({ name, arch, to_version: version = '' }: PlanAction): Commit {
  const installed = [{ name, version, ...(arch !== undefined && { arch }) }];
  return async () => ({ ok: true, installed, output: 'This version is in use already.\n' });
}

function refuse(reason: PrepareRefusal, detail: string): Judged {
  return { ok: false, reason, detail };
}
