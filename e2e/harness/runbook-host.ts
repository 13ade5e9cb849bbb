import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, onTestFinished } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { AGENT_USER, MAP_USER, RUNUSER } from './agent-user.ts';
import { createAgentOn, type InstalledAgent, must, ONLY_APT } from './host.ts';
import { logIn, type Operator, pause } from './operator.ts';
import { type CommandRun, missingLines, readRunbook, runCommands, stepOf, withVariables } from './runbook.ts';
import { type ServerProcess, startServer } from './server-process.ts';

export const RUNBOOKS = fileURLToPath(new URL('../../docs/runbooks/', import.meta.url));
/** The facts of a check-in are stored within seconds. */
const SEEN_WITHIN_MS = 90_000;
const CONFIG = 'config.json';

/** A host with the compiled agent and without packages, on which the steps of a runbook can be run. */
export type ReadingHost = InstalledAgent & {
  readonly dir: string;
  /** The values of `$NAME` in commands and expected output. */
  readonly variables: Record<string, string>;
  /** Runs a block of a step until its output contains what the step shows. */
  follow(title: string, how?: Following): Promise<CommandRun>;
  config(): Promise<{ agent_id: string; access_token: string }>;
  /** Makes the next request of the host fail, so that it renews. */
  spoilAccessToken(): Promise<void>;
};

export type Following = {
  /** The index of the block of commands, and of the expected output if that differs. */
  part?: number;
  shownPart?: number;
  /** The expected exit code. */
  code?: number;
  /** False: the output is checked elsewhere. */
  shown?: boolean;
};

export type RunbookScene = {
  readonly server: ServerProcess;
  readonly operator: Operator;
  /** A host that is not enrolled; `url` is the server address for it. */
  newHost(options?: { machineId?: string; url?: string }): Promise<ReadingHost>;
  /** A host that is enrolled and has checked in. */
  enrolled(options?: { url?: string }): Promise<ReadingHost>;
};

/** A server, and hosts for the steps of a runbook. */
export async function createRunbookScene(engine: TestEngine, file: string): Promise<RunbookScene> {
  const folder = tmpDir('tidegate-runbook-');
  onTestFinished(() => folder.remove());
  await chmod(folder.path, 0o755); // the user that downloads must reach its host
  const place = await engine.place();
  const env = { SERVICE_ADVISORY_SOURCE: 'off' };
  const server = await startServer({ ...place, advisoryUrl: 'http://127.0.0.1:9', env });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  let hosts = 0;

  async function newHost({ machineId, url = server.url }: { machineId?: string; url?: string } = {}) {
    const name = `host-${++hosts}`;
    const dir = join(folder.path, name);
    await mkdir(dir);
    const aptConfig = await writeEmptyApt(join(dir, 'apt'));
    const agent = await createAgentOn(dir, {
      ...{
        serverUrl: url,
        places: [...ONLY_APT, '--apt-config', aptConfig],
        machineId: machineId ?? `machine-${name}`,
        user: AGENT_USER,
      },
    });
    const bin = await writePrograms(dir, { ...agent, aptConfig });
    const variables: Record<string, string> = {
      ...{ SERVER: url, TOKEN: operator.token, MACHINE_ID_FILE: join(dir, 'machine-id') },
    };
    const configFile = join(agent.configDir, CONFIG);
    const host: ReadingHost = {
      ...agent,
      dir,
      variables,
      follow: (title, how) => follow({ file, title, env: variables, bin, dir }, how),
      config: async () => Value.Parse(Config, JSON.parse(await readFile(configFile, 'utf8'))),
      async spoilAccessToken() {
        const config: unknown = JSON.parse(await readFile(configFile, 'utf8'));
        const spoilt = Object.assign({}, config, { access_token: 'not.a.token' });
        await writeFile(configFile, JSON.stringify(spoilt));
      },
    };
    return host;
  }

  return {
    server,
    operator,
    newHost,
    async enrolled(options) {
      const host = await newHost(options);
      must(await host.enrol(await operator.registrationToken()));
      must(await host.runOnce());
      host.variables.AGENT_ID = host.agentId();
      return host;
    },
  };
}

const Config = Type.Object({ agent_id: Type.String(), access_token: Type.String() });

async function follow(
  at: { file: string; title: string; env: Record<string, string>; bin: string; dir: string },
  { part = 0, shownPart = part, code = 0, shown = true }: Following = {},
): Promise<CommandRun> {
  const { title } = at;
  const step = stepOf(readRunbook(join(RUNBOOKS, at.file)), title);
  const commands = step.commands[part] ?? '';
  const untilMs = performance.now() + SEEN_WITHIN_MS;
  for (;;) {
    const env = { ...at.env, PATH: `${at.bin}:${SYSTEM_PATH}`, TMPDIR: '/tmp' };
    const ran = await runCommands(commands, { env, cwd: at.dir });
    expect(ran.code, `${title}: ${ran.stdout}\n${ran.stderr}`).toBe(code);
    const wanted = shown ? withVariables(step.shown[shownPart] ?? '', at.env) : '';
    const lacking = missingLines(wanted, `${ran.stdout}\n${ran.stderr}`);
    if (lacking.length === 0) return ran;
    // Only reading may be repeated.
    if (performance.now() > untilMs || commands.includes('POST')) {
      expect(lacking, `${title}: ${ran.stdout}\n${ran.stderr}`).toEqual([]);
    }
    await pause(500);
  }
}

/** The programs that a runbook calls on a host: the agent with this host's folders, and the start of its unit. */
async function writePrograms(
  dir: string,
  { configDir, binary, aptConfig }: { configDir: string; binary: string; aptConfig: string },
): Promise<string> {
  const bin = join(dir, 'bin');
  await mkdir(bin);
  const places = `--ecosystems apt --executor-state "${dir}/executor" --spool "${dir}/spool" --apt-config "${aptConfig}"`;
  await writeScript(
    join(bin, 'tidegate-agent'),
    `command=$1; shift
if [ "$command" = enrol ]; then
  ${MAP_USER}
  set -- "$@" --allow-insecure-http --machine-id-source "file:${dir}/machine-id" ${places}
fi
exec "${binary}" "$command" "$@" --config "${configDir}"`,
  );
  await writeScript(join(bin, 'runuser'), RUNUSER);
  // There is no systemd here: it runs one round of the unit's program, as its user.
  await writeScript(
    join(bin, 'systemctl'),
    '[ "$*" = "start tidegate-agent" ] && exec runuser -u tidegate-agent -- tidegate-agent run --once',
  );
  return bin;
}

async function writeScript(path: string, text: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}

/** An apt without packages: these hosts have nothing to update. */
async function writeEmptyApt(root: string): Promise<string> {
  for (const part of [
    'etc/apt',
    'var/lib/apt/lists/partial',
    'var/cache/apt/archives/partial',
    'var/lib/dpkg',
  ]) {
    await mkdir(join(root, part), { recursive: true });
  }
  await writeFile(join(root, 'var/lib/dpkg/status'), '');
  const file = join(root, 'apt.conf');
  await writeFile(file, `Dir "${root}";\nDir::State::status "${root}/var/lib/dpkg/status";\n`);
  return file;
}
