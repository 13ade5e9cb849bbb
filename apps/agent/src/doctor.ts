import { HOOK_STAGES } from '@tidegate/protocol/probes';
import type { Environment } from '@tidegate/protocol/proxy-route';
import { examineDisk } from './checks/examine-disk.ts';
import { examineFolders } from './checks/examine-folders.ts';
import { examineManagers } from './checks/examine-managers.ts';
import { examineUnits } from './checks/examine-units.ts';
import type { Finding } from './checks/finding.ts';
import { reachServer } from './checks/reach-server.ts';
import { stateOfExecutor } from './commands/executor-key-chain.ts';
import type { EcosystemDriver, OwnPlaces } from './ecosystems/ecosystem.ts';
import { hostPaths, ownPlaces } from './ecosystems/host-places.ts';
import { readLayout } from './ecosystems/tidegate/layout.ts';
import { readReleaseKey } from './ecosystems/tidegate/read-release.ts';
import { readTrials } from './ecosystems/tidegate/trial-record.ts';
import { findRepository, repositoryOf } from './enrolment/agent-repository.ts';
import { readHooks } from './hooks/hook-file.ts';
import { findHookFault } from './hooks/run-hooks.ts';
import { describePolicy } from './host-policy/describe-policy.ts';
import { loadHostPolicy, stateMaxAgeMinutes } from './host-policy/policy.ts';
import type { PolicyPlace } from './host-policy/policy-folders.ts';
import { doubtMachineIdSource } from './identity/choose-machine-id.ts';
import { type AgentConfig, CONFIG_NAME, loadConfig } from './identity/config-file.ts';
import { readMachineId } from './identity/machine-id.ts';
import { DEFAULT_EXECUTOR_STATE, DEFAULT_SPOOL } from './jobs/job-folder.ts';
import { chooseExecutor, EXECUTOR_UID, type HostFacts } from './jobs/start-executor.ts';
import { readServerTime } from './journal/journal-state.ts';
import { CLOCK_SKEW_MS } from './platform/clock.ts';
import type { CheckFile } from './probes/check-folder.ts';
import { type ProbeFile, readProbes } from './probes/probe-file.ts';
import { findProgramFault } from './probes/root-program.ts';
import { SYSTEMCTL } from './probes/units.ts';
import { ageOfState } from './session/freshness.ts';

/** Checks everything an agent needs without changing anything or using a token. */
export async function examine(
  folder: string,
  parts: {
    drivers: readonly EcosystemDriver[];
    facts: HostFacts;
    nowMs: number;
    policy: PolicyPlace;
    root?: string;
    systemctl?: string;
    env?: Environment;
    serverCa?: string | null;
  },
): Promise<Finding[]> {
  const loaded = loadConfig(folder);
  const ofRoot = [examinePolicy(parts.policy), ...examineProbes(parts.policy), ...examineHooks(parts.policy)];
  if (!loaded.ok) return [{ check: 'configuration', ok: false, detail: loaded.detail }, ...ofRoot];
  const { config } = loaded;
  const { root = '/', systemctl = SYSTEMCTL, env = process.env, serverCa = null, nowMs } = parts;
  const { server_url: serverUrl, allow_insecure_http: allowInsecureHttp, paths = {} } = config;
  const executorState = paths.executor_state ?? DEFAULT_EXECUTOR_STATE;
  return [
    { check: 'configuration', ok: true, detail: `agent ${config.agent_id}` },
    examineFolders({ folder, configName: CONFIG_NAME, executorState, rootUid: EXECUTOR_UID }),
    examineDisk([folder, executorState, paths.spool ?? DEFAULT_SPOOL]),
    examineMachine(config, root),
    examineKeys(config, parts.nowMs),
    {
      check: 'strict mode',
      ok: config.strict,
      detail: config.strict ? 'on' : 'off: unsigned commands are accepted',
    },
    ...(await reachServer({ serverUrl, allowInsecureHttp, serverCa, env, nowMs: () => nowMs })),
    examineState(folder, config, parts.nowMs),
    ...(await examineManagers(parts.drivers, { paths: hostPaths(paths), nowMs })),
    examineExecutor(config, parts.facts),
    ...examineOwnVersions(ownPlaces(paths, { executorState, ownerUid: EXECUTOR_UID, server: null })),
    ...(await examineUnits({ root, systemctl })),
    examineRepository(root, config, parts.policy),
    ...examineShownState(config, parts),
    ...ofRoot,
  ];
}

/** Checks of this program and its own files, without which no version of it can work. */
const OWN_CHECKS: readonly string[] = [
  ...['configuration', 'folders', 'machine id', 'signing keys', 'installations', 'server'],
];

/** Those that fail, by name: what a version on trial says of itself. */
export function failingOf(findings: readonly Finding[]): string[] {
  return findings.filter(({ check, ok }) => !ok && OWN_CHECKS.includes(check)).map(({ check }) => check);
}

function examineMachine({ machine_id_source: source }: AgentConfig, root: string): Finding {
  const check = 'machine id';
  const machine = readMachineId(source, root);
  if (!machine.ok) return { check, ok: false, detail: machine.detail };
  const doubt = doubtMachineIdSource(source, root);
  if (doubt === null) return { check, ok: true, detail: `from ${source}` };
  return { check, ok: true, isDoubtful: true, detail: `from ${source}; ${doubt}` };
}

function examineKeys({ trusted_keys: { keys, version, expires_at } }: AgentConfig, nowMs: number): Finding {
  const active = keys.filter((key) => key.status === 'active').length;
  const ok = active > 0 && Date.parse(expires_at) > nowMs;
  return { check: 'signing keys', ok, detail: `set ${version}, ${active} active, valid until ${expires_at}` };
}

/** T12: without contact a revocation may be missed; a stopped agent has no contact either. */
function examineState(folder: string, config: AgentConfig, nowMs: number): Finding {
  const check = 'signed state';
  const intervalMs = config.polling.check_in_seconds * 1_000;
  const { serverTime, ageSeconds, isOld } = ageOfState(readServerTime(folder), { intervalMs, nowMs });
  if (serverTime === null) return { check, ok: true, detail: 'none received yet' };
  const detail = `the newest is from ${serverTime}, ${ageSeconds} s ago`;
  if (!isOld) return { check, ok: true, detail };
  return { check, ok: true, isDoubtful: true, detail: `${detail}: no contact since, or this clock is wrong` };
}

function examineExecutor(config: AgentConfig, facts: HostFacts): Finding {
  const access = chooseExecutor(facts, config.paths ?? {});
  const check = 'installations';
  if (access.how === 'none') return { check, ok: false, detail: `this host only reports: ${access.detail}` };
  const detail = `started through ${access.how}, without network`;
  if (access.how === 'systemd') return { check, ok: true, detail };
  const advice =
    'ends with the agent: an update that restarts the agent is cut short; enable tidegate-executor.path';
  return { check, ok: true, isDoubtful: true, detail: `${detail}; it ${advice}` };
}

/** Where updates of the agent's package come from. */
function examineRepository(
  root: string,
  { server_url: serverUrl }: AgentConfig,
  place: PolicyPlace,
): Finding {
  const check = 'updates of the agent';
  const policy = loadHostPolicy(place);
  const isNever = policy.kind === 'policy' && policy.policy.agentUpdates === 'never';
  const found = findRepository(root);
  if (isNever) return { check, ok: true, detail: 'by hand only, as the policy of this host says' };
  if (found === null) return { check, ok: true, detail: 'by hand: no source of apt or dnf offers them' };
  const url = repositoryOf(serverUrl).href;
  if (found.url === url) return { check, ok: true, detail: `${found.file} offers those of ${url}` };
  const detail = `${found.file} offers those of ${found.url ?? 'an unknown server'}, not of ${url}: "tidegate-agent enrol --replace" writes it anew, unless it was changed by hand`;
  return { check, ok: true, isDoubtful: true, detail };
}

/** The executor sees a state only with a job, so an old one is normal; a job with an old one is refused. */
function examineShownState(
  { paths = {} }: AgentConfig,
  { policy, nowMs }: { policy: PolicyPlace; nowMs: number },
): Finding[] {
  const executor = stateOfExecutor(paths.executor_state ?? DEFAULT_EXECUTOR_STATE);
  if (executor === null) return [];
  const check = 'state of the last job';
  const limit = `an installation needs one from the last ${stateMaxAgeMinutes(loadHostPolicy(policy))} min`;
  const { newest_state: newest } = executor;
  if (newest === undefined) return [{ check, ok: true, detail: `the executor has seen none yet; ${limit}` }];
  const ageMs = nowMs - Date.parse(newest);
  const detail = `the executor last saw one from ${newest}, ${Math.round(ageMs / 1_000)} s ago; ${limit}`;
  if (ageMs >= -CLOCK_SKEW_MS) return [{ check, ok: true, detail }];
  return [{ check, ok: true, isDoubtful: true, detail: `${detail}: the clock of this host is behind` }];
}

/** Nothing where a package installs the agent. */
function examineOwnVersions(places: OwnPlaces): Finding[] {
  const check = 'versions of the agent';
  const links = readLayout(places.folder);
  if (!links.ok) return links.isAbsent ? [] : [{ check, ok: false, detail: links.detail }];
  const { running, proven } = links.layout;
  const { last } = readTrials(places);
  const is =
    running === proven
      ? `${proven} is in use`
      : `${running} is on trial, and ${proven} is kept until it has proved itself`;
  const was =
    last === null || last.phase === 'trying'
      ? ''
      : `; the last trial was of ${last.to} at ${last.began_at}: ${last.detail ?? 'it has proved itself'}`;
  const key = readReleaseKey(places);
  const detail = `${is}${was}`;
  if (key.ok) return [{ check, ok: true, detail: `${detail}; release key ${key.key.publicKeyHex}` }];
  return [{ check, ok: true, isDoubtful: true, detail: `${detail}; no other is offered: ${key.detail}` }];
}

function examinePolicy(place: PolicyPlace): Finding {
  const loaded = loadHostPolicy(place);
  const isFollowed = loaded.kind === 'none' || loaded.kind === 'policy';
  return { check: 'host policy', ok: isFollowed, detail: describePolicy(loaded) };
}

/** Nothing where root has named none. */
function examineProbes(place: PolicyPlace): Finding[] {
  const check = 'probes';
  const folder = readProbes(place);
  if (!folder.ok) return [{ check, ok: false, detail: folder.fault }];
  const faults = folder.files.flatMap((file) => faultOf(file, place));
  if (folder.files.length === 0) return [];
  const names = folder.files.map(({ name }) => name).join(', ');
  return faults.length === 0
    ? [{ check, ok: true, detail: `${names}: "tidegate-agent probes" runs them` }]
    : faults.map((fault) => ({ check, ok: false, detail: fault }));
}

function faultOf(file: CheckFile<ProbeFile>, place: PolicyPlace): string[] {
  if (!file.ok) return [`${file.name} is unknown to all who wait for it: ${file.fault}`];
  const fault = file.value.kind === 'program' ? findProgramFault(file.value.program, place) : null;
  return fault === null ? [] : [`${file.name} is unknown to all who wait for it: ${fault}`];
}

function examineHooks(place: PolicyPlace): Finding[] {
  return HOOK_STAGES.flatMap((stage) => {
    const check = `hooks ${stage}`;
    const folder = readHooks(place, stage);
    if (folder.ok && folder.files.length === 0) return [];
    const fault = findHookFault(place, stage);
    const names = folder.ok ? folder.files.map(({ name }) => name).join(', ') : '';
    const effect = stage === 'before' ? 'nothing is installed until root has mended it' : 'none of them runs';
    return [{ check, ok: fault === null, detail: fault === null ? names : `${fault}; ${effect}` }];
  });
}
