import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';

/** A clean-up that waits outside this process. */
export type Leash = {
  /** Adds one line to the input of the clean-up. The line must not contain a line feed. */
  tell(line: string): void;
  /** Lets the clean-up run now and waits until it has ended. A second call does nothing. */
  release(): Promise<void>;
};

/**
 * Starts a shell script that reads its input to the end and then cleans up. The input ends when this process or
 * worker thread is gone, however it ended: an exit handler would not run after SIGKILL or `worker.terminate()`.
 * The script shares our stderr, so whoever waits for our output to close also waits for the clean-up.
 */
export function startLeash(options: {
  script: string;
  args?: readonly string[];
  owner?: { uid: number; gid: number };
}): Leash {
  // Signals that a terminal sends to the process group must not end the clean-up.
  const child = spawn(
    '/bin/sh',
    ['-c', `trap '' INT TERM HUP; ${options.script}`, 'leash', ...(options.args ?? [])],
    {
      stdio: ['pipe', 'ignore', 'inherit'],
      cwd: '/',
      detached: true,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      ...options.owner,
    },
  );
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  let released: Promise<void> | undefined;

  async function release(): Promise<void> {
    child.ref();
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }

  return {
    tell: (line) => {
      if (line.includes('\n')) throw new RangeError('a line for the leash must not contain a line feed');
      child.stdin.write(`${line}\n`);
    },
    release: () => {
      released ??= release();
      return released;
    },
  };
}
