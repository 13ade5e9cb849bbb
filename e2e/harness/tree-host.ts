import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '@tidegate/testkit/run-tool';
import { expect } from 'vitest';
import { installDebootstrap, makeDebianTree } from '../../scripts/debian-tree.ts';
import { addDnf } from './tree-dnf.ts';
import { runInTree, startUnit } from './unit-process.ts';

/** A Debian tree that takes packages from nobody but the server of a story, with apt or with dnf. */
export interface TreeHost {
  path(name: string): string;
  /** Runs a command to its end as root, and returns what it printed. */
  run(command: readonly string[]): Promise<string>;
  /** One check-in of the agent, as its unit starts it. */
  agentRuns(): Promise<void>;
  /** The agent brings the job, and the executor, which systemd would start, installs it while the agent waits. */
  install(): Promise<void>;
  /** What `doctor` prints as the user of the agent, whatever it finds: a tree has no systemd. */
  doctor(): Promise<string>;
  /** The last words that something had for systemctl. */
  asked(count: number): string[];
}

/** `folder` is for the tree; every user must have access to it. */
export async function createTreeHost(folder: string, manager: 'apt' | 'dnf'): Promise<TreeHost> {
  await installDebootstrap();
  const tree = await makeDebianTree(folder);
  const path = (name: string) => join(tree.root, name);
  await runTool('apt-get', ['-y', '--no-install-recommends', 'install', 'curl'], { env: tree.env });
  if (manager === 'dnf') await addDnf(tree, folder);
  writeFileSync(path('etc/hosts'), '127.0.0.1 localhost\n');
  writeFileSync(path('etc/machine-id'), `${'5f'.repeat(16)}\n`);
  // Debian's own updates are no part of the story, and take minutes to plan.
  writeFileSync(path('etc/apt/sources.list'), '');
  rmSync(path('var/lib/apt/lists'), { recursive: true });
  mkdirSync(path('var/lib/apt/lists/partial'), { recursive: true });
  // A tree has no systemd: this one writes down what it is asked.
  mkdirSync(path('run/systemd/system'), { recursive: true });
  writeFileSync(path('usr/bin/systemctl'), '#!/bin/sh\necho "$@" >>/var/log/systemctl\n');
  chmodSync(path('usr/bin/systemctl'), 0o755);

  const unit = (name: string, ...args: string[]) => startUnit({ tree: tree.root, unit: name, args });
  const succeeds = async (child: ReturnType<typeof unit>) =>
    expect([await child.ended, child.stderr.slice(-5)]).toEqual([
      { code: 0, signal: null },
      expect.anything(),
    ]);
  return {
    path,
    run: (command) => runInTree(tree.root, command),
    agentRuns: () => succeeds(unit('tidegate-agent.service', '--once')),
    install: async () => {
      const agent = unit('tidegate-agent.service', '--once');
      const jobs = path('var/spool/tidegate/jobs');
      const isReady = () =>
        existsSync(jobs) && readdirSync(jobs).some((job) => existsSync(join(jobs, job, 'ready')));
      await expect.poll(isReady).toBe(true);
      await succeeds(unit('tidegate-executor.service', '--linger', '0'));
      await succeeds(agent);
    },
    doctor: () =>
      runInTree(tree.root, [
        ...['sh', '-c'],
        'setpriv --reuid tidegate-agent --regid tidegate-agent --clear-groups tidegate-agent doctor 2>&1 || true',
      ]),
    asked: (count) => readFileSync(path('var/log/systemctl'), 'utf8').trimEnd().split('\n').slice(-count),
  };
}
