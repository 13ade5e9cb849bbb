import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { buildAgentWhenStale } from '../e2e/harness/agent-binary.ts';
import { createAgentOn, must, ONLY_APT } from '../e2e/harness/host.ts';
import { liftLimits, logIn, type Operator } from '../e2e/harness/operator.ts';
import { ecosystemsOfThisHost } from '../e2e/harness/os-release.ts';
import { startServer } from '../e2e/harness/server-process.ts';
import { copyDebianHost, type DebianCopy } from './debian-tree.ts';

/** Single approvals of the second part, in random order. */
const SINGLE = 30;
const ROUNDS_MAX = 60;

process.exitCode = await main();

/**
 * Patches copies of this Debian machine, which itself stays as it is: all that is clear with one approval, compared with a
 * copy after `apt-get dist-upgrade`; and another copy with single approvals in random order. Exit code: 0 done, 1 failed, 2
 * not possible here.
 */
async function main(): Promise<number> {
  if (process.getuid?.() !== 0) return refuse('only root can mount copies of this machine');
  if (process.env.TIDEGATE_OWN_MOUNTS !== '1') {
    // The copies are mounted where no other process sees them, and are gone with this one.
    const words = ['--mount', '--propagation', 'private', process.execPath, fileURLToPath(import.meta.url)];
    const env = { ...process.env, TIDEGATE_OWN_MOUNTS: '1' };
    return spawnSync('unshare', words, { stdio: 'inherit', env }).status ?? 1;
  }
  using folder = tmpDir('tidegate-debian-host-');
  chmodSync(folder.path, 0o755);
  await buildAgentWhenStale();
  const results = [
    await onCopy(join(folder.path, 'whole'), patchWhole),
    await onCopy(join(folder.path, 'single'), patchSingly),
  ];
  return results.includes(false) ? 1 : 0;
}

interface Scene {
  readonly tree: DebianCopy;
  readonly operator: Operator;
  readonly round: () => Promise<unknown>;
}

/** A copy of this machine with an agent, and a server of its own. */
async function onCopy(folder: string, work: (scene: Scene) => Promise<boolean>): Promise<boolean> {
  const tree = await copyDebianHost(folder);
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  const server = await startServer({ dataDir: join(folder, 'data'), advisoryUrl: osv.url });
  try {
    const operator = await logIn(server.url);
    await liftLimits(operator); // the host sends in seconds what it would in minutes
    const agent = await createAgentOn(folder, {
      serverUrl: server.url,
      machineId: 'a-copy',
      places: ['--apt-config', tree.aptConfig, ...ONLY_APT], // of the others this machine has no copy
    });
    must(await agent.enrol(await operator.registrationToken()));
    return await work({ tree, operator, round: async () => must(await agent.runOnce()) });
  } finally {
    await server.stop();
    await osv.stop();
    await tree.unmount();
  }
}

async function patchWhole({ tree, operator, round }: Scene): Promise<boolean> {
  const startMs = performance.now();
  const ids = await planned(operator, round);
  const plannedMs = performance.now();
  say(`${ids.length} updates have a plan and a verdict after ${seconds(startMs, plannedMs)} s`);
  const { body } = await operator.call('POST', '/api/v1/updates/approve', { update_ids: ids });
  const answer = JSON.stringify(body);
  const approvedMs = performance.now();
  await round();
  const endMs = performance.now();
  const installs = await operator.commands({ action: 'install_update' });
  const drifts = await operator.events({ type: 'PLAN_DRIFT' });
  const states = await operator.updates({ state: 'installed' });
  say(
    `approved in ${seconds(plannedMs, approvedMs)} s, installed in ${seconds(approvedMs, endMs)} s: ${answer.length} bytes of answer`,
  );
  say(
    `${installs.length} runs of apt (${installs.map(({ status }) => status).join(', ')}), ${states.length} updates installed, ${drifts.length} drifts`,
  );
  const twin = await copyDebianHost(join(tree.folder, 'twin'));
  const twinMs = performance.now();
  await runTool('apt-get', ['-y', '-qq', 'dist-upgrade'], { env: twin.env });
  say(`apt-get dist-upgrade of a twin took ${seconds(twinMs, performance.now())} s`);
  const [ours, theirs] = [await tree.installed(), await twin.installed()];
  await twin.unmount();
  const differences = [...new Set([...ours, ...theirs])].filter(
    (line) => ours.has(line) !== theirs.has(line),
  );
  say(
    differences.length === 0
      ? 'dpkg-query answers the same'
      : `dpkg-query differs: ${differences.join('; ')}`,
  );
  const audit = (await runTool('dpkg', [`--root=${tree.root}`, '--audit'])).trim();
  say(`dpkg --audit says "${audit}"`);
  return (
    installs.every(({ status }) => status === 'success') &&
    differences.length === 0 &&
    audit === '' &&
    drifts.length === 0
  );
}

async function patchSingly({ tree, operator, round }: Scene): Promise<boolean> {
  const ids = await planned(operator, round);
  const chosen = ids.toSorted(byTail).slice(0, SINGLE);
  for (const id of chosen) await operator.approved(id);
  const startMs = performance.now();
  for (let i = 0; i < ROUNDS_MAX; i++) {
    await round();
    const states = await Promise.all(chosen.map(async (id) => (await operator.update(id)).state));
    if (states.every((state) => state !== 'approved' && state !== 'awaiting_plan' && state !== 'installing'))
      break;
  }
  const states = await Promise.all(chosen.map(async (id) => (await operator.update(id)).state));
  const drifts = await operator.events({ type: 'PLAN_DRIFT' });
  const audit = (await runTool('dpkg', [`--root=${tree.root}`, '--audit'])).trim();
  const done = states.filter((state) => state === 'installed').length;
  say(
    `${done} of ${chosen.length} single approvals installed in ${seconds(startMs, performance.now())} s, ${drifts.length} drifts; dpkg --audit says "${audit}"`,
  );
  return done === chosen.length && drifts.length === 0 && audit === '';
}

/** The pending updates, once the host has sent the plan of each and of all of them. */
async function planned(operator: Operator, round: () => Promise<unknown>): Promise<string[]> {
  for (let i = 0; i < ROUNDS_MAX; i++) {
    await round();
    const updates = await operator.updates({ state: 'pending' });
    const without = updates.filter(({ has_plan: hasPlan }) => !hasPlan);
    if (i === 0) say(`${updates.length} updates are pending`);
    if (without.length > 0 && i < ROUNDS_MAX - 1) continue;
    if (without.length > 0) say(`without a plan: ${without.map(({ name }) => name).join(', ')}`);
    break;
  }
  await round();
  return (await operator.updates({ state: 'pending' })).flatMap(({ id, has_plan: has }) => (has ? [id] : []));
}

/** Ids end in random digits. */
function byTail(a: string, b: string): number {
  return a.slice(-12) < b.slice(-12) ? -1 : 1;
}

function seconds(fromMs: number, toMs: number): string {
  return ((toMs - fromMs) / 1_000).toFixed(1);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function refuse(reason: string): number {
  process.stderr.write(`${reason}\n`);
  return 2;
}
