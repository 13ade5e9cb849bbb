import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished } from 'vitest';
import type { TestEngine } from '../../apps/server/src/testing/engines.ts';
import { AGENT_USER, asUser, MAP_USER } from './agent-user.ts';
import { createAgentOn, type InstalledAgent, must, ONLY_APT } from './host.ts';
import { logIn, type Operator } from './operator.ts';
import { type CommandRun, missingLines, type RunbookStep, runCommands, withVariables } from './runbook.ts';
import { type ServerProcess, startServer, TIDEGATE } from './server-process.ts';

/** A server, and a shell on its machine in which `tidegate` works on its data. */
export type KeyScene = {
  readonly server: ServerProcess;
  readonly operator: Operator;
  readonly dataDir: string;
  readonly folder: string;
  /** The values of `$NAME` in commands and expected output. */
  readonly names: Record<string, string>;
  /** Runs a line or block in the shell of the server's machine. */
  shell(commands: string): Promise<CommandRun>;
  /** Runs every block of a runbook's step and compares the output with the expected one. Returns the output. */
  follow(step: RunbookStep): Promise<string>;
  enrolled(name: string): Promise<InstalledAgent>;
};

export async function createKeyScene(engine: TestEngine): Promise<KeyScene> {
  const made = tmpDir('tidegate-keys-');
  onTestFinished(() => made.remove());
  const folder = made.path;
  chmodSync(folder, 0o755); // the user that downloads must reach its host
  const place = await engine.place();
  const env = { SERVICE_ADVISORY_SOURCE: 'off', SERVICE_LOG_LEVEL: 'debug' };
  const server = await startServer({ ...place, advisoryUrl: 'http://127.0.0.1:9', env });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  const bin = join(folder, 'bin');
  for (const name of ['bin', 'safe', 'carry']) mkdirSync(join(folder, name));
  const names: Record<string, string> = {
    SAFE: join(folder, 'safe'),
    CARRY: join(folder, 'carry'),
    SERVER: server.url,
    TOKEN: operator.token,
    SERVICE_DATA_DIR: place.dataDir,
    ...(place.databaseUrl === null ? {} : { SERVICE_DATABASE_URL: place.databaseUrl }),
  };
  writeTool(bin, 'tidegate', `exec ${TIDEGATE} "$@"`);

  const shell = (commands: string) =>
    runCommands(commands, {
      env: { ...names, ...compiledModules(), PATH: `${bin}:${SYSTEM_PATH}` },
      cwd: folder,
    });

  async function follow({ title, commands, shown }: RunbookStep): Promise<string> {
    const printed: string[] = [];
    for (const block of commands) {
      const run = await shell(block);
      if (run.code !== 0) throw new Error(`"${title}" ended with ${run.code}:\n${run.stdout}\n${run.stderr}`);
      printed.push(run.stdout, run.stderr);
    }
    const output = printed.join('\n');
    for (const text of shown) expect(missingLines(withVariables(text, names), output), title).toEqual([]);
    return output;
  }

  async function enrolled(name: string): Promise<InstalledAgent> {
    const dir = join(folder, name);
    mkdirSync(dir);
    const aptConfig = emptyApt(join(dir, 'apt'));
    const host = await createAgentOn(dir, {
      serverUrl: server.url,
      machineId: `machine-${name}`,
      places: [...ONLY_APT, '--apt-config', aptConfig],
      user: AGENT_USER,
    });
    must(await host.enrol(await operator.registrationToken()));
    must(await host.runOnce());
    // The `tidegate-agent` of a runbook runs the agent with the folders of this host.
    const places = `--config "${host.configDir}" --ecosystems apt --executor-state "${dir}/executor" --spool "${dir}/spool"`;
    const machine = `--machine-id-source "file:${dir}/machine-id" --apt-config "${aptConfig}"`;
    writeTool(
      bin,
      'tidegate-agent',
      `${MAP_USER}\nexec "${host.binary}" "$@" --allow-insecure-http ${places} ${machine}`,
    );
    return host;
  }

  return { server, operator, dataDir: place.dataDir, folder, names, shell, follow, enrolled };
}

/** The version of a host's key set, from its agent. */
export async function keySetOf(host: InstalledAgent): Promise<number> {
  const { configDir, binary } = host;
  const run = await runCommands(
    `${asUser(AGENT_USER).join(' ')} "${binary}" status --json --config "${configDir}"`,
    {
      env: { PATH: SYSTEM_PATH },
      cwd: '/',
    },
  );
  const status: { key_set_version?: number } = JSON.parse(run.stdout);
  return status.key_set_version ?? 0;
}

/** An apt without packages: these hosts only matter for the keys they trust. */
function emptyApt(root: string): string {
  for (const part of [
    'etc/apt',
    'var/lib/apt/lists/partial',
    'var/cache/apt/archives/partial',
    'var/lib/dpkg',
  ]) {
    mkdirSync(join(root, part), { recursive: true });
  }
  writeFileSync(join(root, 'var/lib/dpkg/status'), '');
  const config = join(root, 'apt.conf');
  const status = join(root, 'var/lib/dpkg/status');
  writeFileSync(config, `Dir "${root}";\nDir::State::status "${status}";\nAPT::Sandbox::User "root";\n`);
  return config;
}

function writeTool(bin: string, name: string, line: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
}
