import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptHost, type AptHostOptions, createAptHost } from '@tidegate/testkit/apt-host';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { agentFor, asUser } from './agent-user.ts';
import { type Child, startChild } from './child.ts';

/** What one call of the agent came to. `json` is what it printed with --json. */
export type AgentRun = {
  code: number | null;
  json: Record<string, unknown>;
  log: readonly string[];
};

export type HostOptions = AptHostOptions & {
  /** The address that the agent speaks to: the server, or a proxy before it. */
  serverUrl: string;
  /** Told apart by this where there are several on one server. */
  machineId?: string;
};

/** The compiled agent in folders of its own. */
export type InstalledAgent = {
  readonly configDir: string;
  /** The program, where whoever runs it can start it. */
  readonly binary: string;
  enrol(token: string): Promise<AgentRun>;
  /** The id that enrolment gave; throws before. */
  agentId(): string;
  /** One full round (`run --once`). */
  runOnce(): Promise<AgentRun>;
  /** The same, while it is under way. */
  startOnce(): Child;
  /** The polling agent, until it is told to end. */
  run(): Child;
};

/** A throw-away apt host with the agent on it. */
export type Host = InstalledAgent & {
  readonly apt: AptHost;
  /** Name and version of what dpkg-query shows as installed. */
  installed(): Promise<Record<string, string>>;
  /** What the maintainer scripts of the host wrote into `root/<name>`; empty where nothing was. */
  trace(name: string): Promise<string[]>;
  stop(): Promise<void>;
};

/** What this machine itself has of other package managers is no part of a story. */
export const ONLY_APT = ['--ecosystems', 'apt'] as const;

const Json = Type.Record(Type.String(), Type.Unknown());

/** Makes the host in `dir`, which is opened to every user: the agent downloads without root's rights. */
export async function createHost(dir: string, options: HostOptions): Promise<Host> {
  const { serverUrl, machineId = 'machine-of-the-story', ...aptOptions } = options;
  await chmod(dir, 0o755);
  const aptDir = join(dir, 'apt');
  await mkdir(aptDir, { recursive: true });
  const apt = await createAptHost(aptDir, { transport: 'http', ...aptOptions });
  const agent = await createAgentOn(dir, {
    serverUrl,
    machineId,
    places: [...ONLY_APT, '--apt-config', apt.aptConf],
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
  /** Who runs it, where that is not root: a user of this machine. */
  user?: string | null;
};

/** Puts the agent into `dir`, for the host that `places` stands for: arguments of enrol such as --apt-config. */
export async function createAgentOn(
  dir: string,
  { serverUrl, machineId, places, user = null }: AgentOptions,
): Promise<InstalledAgent> {
  const configDir = join(dir, 'agent');
  const machineIdFile = join(dir, 'machine-id');
  await writeFile(machineIdFile, `${machineId}\n`);
  let agentId: string | null = null;
  const binary = agentFor(user, dir);
  const env = { PATH: SYSTEM_PATH, TMPDIR: '/tmp' };
  const run = (...args: string[]) => {
    const [program, ...words] = [...asUser(user), binary, 'run', ...args, '--json', '--config', configDir];
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

/** Waits for a call of the agent to end, and reads the one line of JSON that it prints. */
export async function finish(child: Child): Promise<AgentRun> {
  const { code } = await child.ended;
  const last: unknown = JSON.parse(child.stdout.at(-1) ?? '{}');
  return { code, json: Check(Json, last) ? last : {}, log: child.stderr };
}

/** Throws with the agent's own words when it did not end well. */
export function must(run: AgentRun): AgentRun {
  if (run.code === 0) return run;
  throw new Error(`the agent ended with ${run.code}: ${JSON.stringify(run.json)}\n${run.log.join('\n')}`);
}
