import { fchownSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RegisterAnswer } from '@tidegate/protocol/agent-api';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { chooseMachineIdSource } from '../identity/choose-machine-id.ts';
import {
  type AgentConfig,
  CONFIG_NAME,
  type HostLayout,
  loadConfig,
  type SaveOutcome,
  saveConfig,
} from '../identity/config-file.ts';
import { describeHost } from '../identity/host-facts.ts';
import type { MachineIdSource } from '../identity/machine-id.ts';
import { saveExecutorState } from '../jobs/executor-state.ts';
import { DEFAULT_EXECUTOR_STATE, DEFAULT_SPOOL } from '../jobs/job-folder.ts';
import { openJournal } from '../journal/journal.ts';
import { JOURNAL_NAME } from '../journal/journal-state.ts';
import { errorCode, ownUid, writeDurably } from '../platform/file-layer.ts';
import { holdFolder } from '../platform/held-folder.ts';
import { secureFolder } from '../platform/root-folder.ts';
import { checkServerUrl, createServerClient, type ServerClient } from '../session/server-client.ts';
import { pinKeySet } from '../trust/trusted-keys.ts';
import type { AgentFolder, HostUser } from './agent-folder.ts';

const SCAN_SECONDS = 4 * 3_600;

export interface EnrolOptions {
  folder: AgentFolder;
  serverUrl: string;
  token: string;
  /** `auto`, or one of `MachineIdSource`. */
  machineIdSource: string;
  allowInsecureHttp: boolean;
  /** Discards an earlier enrolment of this folder. */
  replace: boolean;
  /** The user that will run the agent; null for the current one. */
  user: HostUser | null;
  layout: HostLayout;
  /** The package managers to use; all on the host when null or absent. */
  ecosystems?: readonly Ecosystem[] | null;
  /** The certificates that alone vouch for the server; the public ones when null or absent. */
  serverCa?: string | null;
  client?: ServerClient;
}

export type EnrolOutcome =
  | { ok: true; agentId: string; fleetId: string; canInstall: boolean; machineIdSource: MachineIdSource }
  | { ok: false; retryable: boolean; detail: string };

/** Registers this host, pins the server's key set and, as root, sets up the executor. */
export async function enrol(options: EnrolOptions): Promise<EnrolOutcome> {
  const url = checkServerUrl(options.serverUrl, options.allowInsecureHttp);
  if (!url.ok) return refuse(url.detail);
  const { path: folder, ownerUid } = options.folder;
  const before = loadConfig(folder, ownerUid);
  if (!options.replace && (before.ok || before.reason !== 'absent')) {
    return refuse(
      `${join(folder, CONFIG_NAME)} exists: this host is enrolled. To enrol it anew, revoke the agent in the ` +
        'console and add --replace',
    );
  }
  const machine = chooseMachineIdSource(options.machineIdSource);
  if (!machine.ok) return refuse(machine.detail);
  // Checked first: a use of the token must not be spent if the answer cannot be stored.
  const writable = probeFolder(folder);
  if (!writable.ok) return refuse(writable.detail);

  const client = options.client ?? createServerClient({ baseUrl: url.url, ca: options.serverCa ?? null });
  const answer = await client.request({
    method: 'POST',
    path: '/api/v1/agents/register',
    headers: { authorization: `Bearer ${options.token}`, [MACHINE_ID_HEADER]: machine.machineId },
    body: describeHost(options.layout),
    ownConnection: true,
  });
  if (answer.kind === 'unreachable') return { ok: false, retryable: true, detail: answer.detail };
  if (answer.kind === 'problem') return explain(answer.status, answer.code, answer.detail);
  if (!Check(RegisterAnswer, answer.body)) return refuse('the server answered in an unknown format');
  const pinned = pinKeySet(answer.body.key_set, { root: answer.body.root, nowMs: Date.now() });
  if (!pinned.ok) return refuse(`the key set of the server cannot be trusted (${pinned.reason})`);

  const same =
    before.ok && isSameAgent(before.config, answer.body.agent_id, pinned.keys) ? before.config : null;
  const config: AgentConfig = {
    server_url: url.url,
    agent_id: answer.body.agent_id,
    machine_id_source: machine.source,
    access_token: answer.body.access_token,
    refresh_token: answer.body.refresh_token,
    pending_request_id: null,
    trusted_keys: pinned.keys,
    key_set: answer.body.key_set,
    highest_seq: same?.highest_seq ?? { epoch: 0, seq: 0 },
    strict: true,
    polling: { check_in_seconds: answer.body.check_in_interval_seconds, scan_seconds: SCAN_SECONDS },
    ecosystems: options.ecosystems ? [...options.ecosystems] : null,
    allow_insecure_http: options.allowInsecureHttp,
    ...(Object.keys(options.layout).length === 0 ? {} : { paths: options.layout }),
  };
  const journal = prepareJournal(options.folder, { isSameAgent: same !== null, sha256: machine.sha256 });
  if (!journal.ok) return refuse(journal.detail);
  const saved = saveConfig(folder, config);
  if (!saved.ok) return refuse(saved.detail);
  const canInstall = process.geteuid?.() === 0;
  if (canInstall) {
    const prepared = prepareExecutor(options, config);
    if (!prepared.ok) return refuse(prepared.detail);
  }
  const { agent_id: agentId, machine_id_source: machineIdSource } = config;
  return { ok: true, agentId, fleetId: pinned.keys.fleet_id, canInstall, machineIdSource };
}

function isSameAgent(
  before: AgentConfig,
  agentId: string,
  { fleet_id }: AgentConfig['trusted_keys'],
): boolean {
  return before.agent_id === agentId && before.trusted_keys.fleet_id === fleet_id;
}

/**
 * The same agent keeps its journal, so that its commands cannot be replayed. A damaged journal is dropped, as
 * config.json has the command order too. The journal of another fleet or agent is dropped: its counters mean
 * nothing here.
 */
function prepareJournal(
  { path, ownerUid }: AgentFolder,
  { isSameAgent: isKept, sha256 }: { isSameAgent: boolean; sha256: string },
): SaveOutcome {
  const opened = isKept ? openJournal(path, { nowMs: Date.now(), ownerUid }) : null;
  // The operator has just confirmed the machine, so a different one is not a sign of a copy.
  if (opened?.ok) return opened.journal.recordMachine(sha256).saved;
  rmSync(join(path, JOURNAL_NAME), { force: true });
  return { ok: true };
}

/**
 * Creates the executor's folders before root takes over the agent's folder: anything below that folder could be
 * moved by the agent's user later.
 */
export function secureExecutor({ layout, user }: Pick<EnrolOptions, 'layout' | 'user'>): SaveOutcome {
  if (ownUid() !== 0) return { ok: true };
  const { executor_state: state = DEFAULT_EXECUTOR_STATE, spool = DEFAULT_SPOOL } = layout;
  const secured = secureFolder(state, { mode: 0o755, isGivenAway: false });
  return secured.ok ? secureFolder(spool, { mode: 0o755, isGivenAway: user !== null }) : secured;
}

/** Root's part: the executor's trusted keys and the spool where the agent leaves jobs. */
function prepareExecutor({ layout, user }: EnrolOptions, config: AgentConfig): SaveOutcome {
  const state = layout.executor_state ?? DEFAULT_EXECUTOR_STATE;
  const spool = layout.spool ?? DEFAULT_SPOOL;
  const { executor_state: _state, spool: _spool, ...places } = layout;
  const saved = saveExecutorState(state, {
    v: 1,
    fleet_id: config.trusted_keys.fleet_id,
    agent_id: config.agent_id,
    machine_id_source: config.machine_id_source,
    trusted_keys: config.trusted_keys,
    places,
  });
  return saved.ok ? prepareSpool(spool, user) : saved;
}

/** The agent fills the spool, so root gives it away, through its descriptor, never by path. */
function prepareSpool(spool: string, user: HostUser | null): SaveOutcome {
  const secured = secureFolder(spool, { mode: 0o755, isGivenAway: user !== null });
  if (!secured.ok || user === null) return secured;
  const held = holdFolder(secured.path);
  if (!held.ok) return { ok: false, detail: `${spool} cannot be opened (${held.code})` };
  try {
    fchownSync(held.folder.fd, user.uid, user.gid);
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${spool} cannot be given to ${user.name} (${errorCode(error)})` };
  } finally {
    held.folder.close();
  }
}

/** Finds a user of the system by name; null when there is none. */
export function findUser(name: string, passwd = readFileSync('/etc/passwd', 'utf8')): EnrolOptions['user'] {
  for (const line of passwd.split('\n')) {
    const [user, , uid, gid] = line.split(':');
    if (user === name && uid !== undefined && gid !== undefined)
      return { name, uid: Number(uid), gid: Number(gid) };
  }
  return null;
}

function probeFolder(folder: string): SaveOutcome {
  const path = join(folder, '.write-test');
  try {
    writeDurably(path, new Uint8Array(4_096), { mode: 0o600 });
    rmSync(path);
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${folder} cannot be written (${errorCode(error)})` };
  }
}

function explain(status: number, code: string, detail: string): EnrolOutcome {
  switch (code) {
    case 'registration_token_invalid':
      return refuse('the registration token is wrong, used up or expired; make a new one in the console');
    case 'machine_already_registered':
      return refuse(
        'the server has an active agent on this machine; revoke it in the console, then enrol again',
      );
    case 'machine_in_another_group':
      return refuse(
        'the server knows this machine as a host of another group than that of the registration token; use a token of its group, or move or delete the host in the console, then enrol again',
      );
    default:
      return {
        ok: false,
        retryable: status === 429 || status >= 500,
        detail: `${status} ${code}: ${detail}`,
      };
  }
}

function refuse(detail: string): { ok: false; retryable: false; detail: string } {
  return { ok: false, retryable: false, detail };
}
