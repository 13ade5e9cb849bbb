import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptHost, type AptHostOptions, createAptHost } from '@tidegate/testkit/apt-host';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { loadConfig, saveConfig } from '../../apps/agent/src/identity/config-file.ts';
import { agentFor, asUser } from './agent-user.ts';
import { type Child, startChild } from './child.ts';

/** The outcome of one call of the agent. `json` is its output with --json. */
export type AgentRun = {
  code: number | null;
  json: Record<string, unknown>;
  log: readonly string[];
};

export type HostOptions = AptHostOptions & {
  /** The address that the agent calls: the server, or a proxy in front of it. */
  serverUrl: string;
  /** Must differ between the hosts of one server. */
  machineId?: string;
  /** The file with the host's own policy; default: that of the machine that runs the story, which has none. */
  policyFile?: string;
  /** The machine that a reboot ends; default: the one that runs the story, so no command may reach that line. */
  hostRoot?: string;
  /** The agent; default: this version's. It is copied, so that another version can take its place. */
  program?: string;
};

/** The compiled agent with its own folders. */
export type InstalledAgent = {
  readonly configDir: string;
  /** The program, at a path where its user can start it. */
  readonly binary: string;
  enrol(token: string): Promise<AgentRun>;
  /** The id from the enrolment; throws before it. */
  agentId(): string;
  /** One full round (`run --once`). */
  runOnce(): Promise<AgentRun>;
  /** Starts the same without waiting for its end. */
  startOnce(): Child;
  /** Starts the polling agent, which runs until it gets a signal. */
  run(): Child;
};

/** A throw-away apt host with the agent on it. */
export type Host = InstalledAgent & {
  readonly apt: AptHost;
  /** The installed packages and their versions, from dpkg-query. */
  installed(): Promise<Record<string, string>>;
  /** The lines that the host's maintainer scripts wrote to `root/<name>`; empty if there are none. */
  trace(name: string): Promise<string[]>;
  stop(): Promise<void>;
};

/** Leaves out other package managers of the machine that runs the tests. */
export const ONLY_APT = ['--ecosystems', 'apt'] as const;

const Json = Type.Record(Type.String(), Type.Unknown());

/** Creates the host in `dir`, which every user can read, as the agent downloads without root. */
export async function createHost(dir: string, options: HostOptions): Promise<Host> {
  const {
    serverUrl,
    machineId = 'machine-of-the-story',
    policyFile,
    hostRoot,
    program,
    ...aptOptions
  } = options;
  await chmod(dir, 0o755);
  const aptDir = join(dir, 'apt');
  await mkdir(aptDir, { recursive: true });
  const apt = await createAptHost(aptDir, { transport: 'http', ...aptOptions });
  const agent = await createAgentOn(dir, {
    serverUrl,
    machineId,
    places: [...ONLY_APT, '--apt-config', apt.aptConf],
    ...(policyFile !== undefined && { policyFile }),
    ...(hostRoot !== undefined && { hostRoot }),
    ...(program !== undefined && { program }),
  });
  return {
    ...agent,
    apt,
    installed: async () => Object.fromEntries(await apt.installed()),
    trace: async (name) => {
      const text = await readFile(join(apt.root, name), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
    stop: () => apt.stop(),
  };
}

type AgentOptions = {
  serverUrl: string;
  machineId: string;
  places: readonly string[];
  policyFile?: string;
  hostRoot?: string;
  program?: string;
  /** Added to its environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The local user that runs it; default root. */
  user?: string | null;
};

/** Sets up the agent in `dir`; `places` are arguments of enrol such as --apt-config. */
export async function createAgentOn(
  dir: string,
  { serverUrl, machineId, places, env: added = {}, user = null, policyFile, hostRoot, program }: AgentOptions,
): Promise<InstalledAgent> {
  const configDir = join(dir, 'agent');
  const machineIdFile = join(dir, 'machine-id');
  await writeFile(machineIdFile, `${machineId}\n`);
  let agentId: string | null = null;
  const binary = agentFor(user, dir, program);
  const env = { PATH: SYSTEM_PATH, TMPDIR: '/tmp', ...added };
  const run = (...args: string[]) => {
    const policy = policyFile === undefined ? [] : ['--policy', policyFile];
    const root = hostRoot === undefined ? [] : ['--host-root', hostRoot];
    const given = [...args, ...policy, ...root];
    const [program, ...words] = [...asUser(user), binary, 'run', ...given, '--json', '--config', configDir];
    return startChild(program, words, { env });
  };
  return {
    configDir,
    binary,
    enrol: async (token) => {
      const state = ['--executor-state', join(dir, 'executor'), '--spool', join(dir, 'spool')];
      const machine = ['--machine-id-source', `file:${machineIdFile}`, ...places];
      const server = ['--server', serverUrl, '--allow-insecure-http'];
      const owner = user === null ? [] : ['--user', user];
      const words = ['enrol', '--json', '--config', configDir, ...server, ...machine, ...state, ...owner];
      const enrolled = await finish(startChild(binary, words, { env: { ...env, TIDEGATE_TOKEN: token } }));
      if (typeof enrolled.json.agent_id === 'string') agentId = enrolled.json.agent_id;
      return enrolled;
    },
    agentId: () => {
      if (agentId === null) throw new Error('the host is not enrolled');
      return agentId;
    },
    runOnce: () => finish(run('--once')),
    startOnce: () => run('--once'),
    run: () => run(),
  };
}

/** Waits for a call of the agent to end and reads the one line of JSON that it prints. */
export async function finish(child: Child): Promise<AgentRun> {
  const { code } = await child.ended;
  const last: unknown = JSON.parse(child.stdout.at(-1) ?? '{}');
  return { code, json: Check(Json, last) ? last : {}, log: child.stderr };
}

/** Throws with the agent's output unless it ended with 0. */
export function must(run: AgentRun): AgentRun {
  if (run.code === 0) return run;
  throw new Error(`the agent ended with ${run.code}: ${JSON.stringify(run.json)}\n${run.log.join('\n')}`);
}

/** For stories that start an agent which was in contact before: its first check-in comes at any time of an interval. */
export function pollEachSecond({ configDir }: { configDir: string }): void {
  const loaded = loadConfig(configDir);
  if (!loaded.ok) throw new Error(loaded.detail);
  const { config } = loaded;
  saveConfig(configDir, { ...config, polling: { ...config.polling, check_in_seconds: 1 } });
}
