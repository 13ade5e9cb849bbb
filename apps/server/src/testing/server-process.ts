import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { NO_REGISTRIES_ENV } from './no-registries.ts';

const MAIN = join(import.meta.dirname, '../main.ts');

/** The real server in a separate process. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** SIGKILL, without any clean-up. Resolves when the process is gone. */
  kill(): Promise<void>;
}

/** Starts it with these SERVICE_ settings, on their port, and waits until it listens. */
export async function startServerProcess(
  env: Record<string, string>,
  { before = [] }: { before?: readonly string[] } = {},
): Promise<ServerProcess> {
  const [command = '', ...args] = [...before, process.execPath, MAIN];
  const child = spawn(command, args, {
    env: {
      PATH: process.env.PATH ?? '',
      SERVICE_HOST: '127.0.0.1',
      SERVICE_ADVISORY_SOURCE: 'off',
      ...compiledModules(),
      ...NO_REGISTRIES_ENV,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const url = await listening(child);
  const { pid } = child;
  if (pid === undefined) throw new Error('the server has no process id');
  return {
    url,
    pid,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function listening(child: ChildProcess): Promise<string> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('a server without output');
  let errors = '';
  stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000);
  });
  return new Promise((resolve, reject) => {
    child.once('close', (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
    createInterface({ input: stdout }).on('line', (line) => {
      const url = /listening .*url=(http:\S+)/.exec(line)?.[1];
      if (url) resolve(url);
    });
  });
}
