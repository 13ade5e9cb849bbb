import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { buildAgentWhenStale } from '../e2e/harness/agent-binary.ts';
import { type AgentRun, createAgentOn, must } from '../e2e/harness/host.ts';
import { logIn, type Operator } from '../e2e/harness/operator.ts';
import { ecosystemsOfThisHost } from '../e2e/harness/os-release.ts';
import { startServer } from '../e2e/harness/server-process.ts';
import { type DebianTree, installDebootstrap, makeDebianTree } from './debian-tree.ts';

/** The most updates that one run approves. */
const UPDATES_MAX = 200;

process.exitCode = await main();

/** Installs the pending security updates of a real Debian tree. Exit code: 0 done, 1 failed, 2 not possible here. */
async function main(): Promise<number> {
  if (process.getuid?.() !== 0) {
    process.stderr.write(
      'npm run test:debian creates a Debian tree with debootstrap, which only root can do. Run it as root.\n',
    );
    return 2;
  }
  using folder = tmpDir('tidegate-debian-');
  chmodSync(folder.path, 0o755); // the user that downloads needs access to the tree
  let tree: DebianTree;
  try {
    say('creating a Debian tree with debootstrap, which takes about a minute …');
    await installDebootstrap();
    tree = await makeDebianTree(folder.path);
  } catch (error) {
    process.stderr.write(
      `The Debian tree could not be created. Check that the Debian archive is reachable.\n${String(error)}\n`,
    );
    return 2;
  }
  await buildAgentWhenStale();
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  const server = await startServer({ dataDir: join(folder.path, 'data'), advisoryUrl: osv.url });
  try {
    const operator = await logIn(server.url);
    const agent = await createAgentOn(folder.path, {
      serverUrl: server.url,
      machineId: 'debian-tree',
      places: ['--apt-config', tree.aptConfig],
    });
    must(await agent.enrol(await operator.registrationToken()));
    return await installAll(operator, tree, async () => must(await agent.runOnce()));
  } finally {
    await server.stop();
    await osv.stop();
  }
}

async function installAll(
  operator: Operator,
  tree: DebianTree,
  round: () => Promise<AgentRun>,
): Promise<number> {
  const startedMs = performance.now();
  await round();
  const found = await pendingSecurity(operator);
  say(`${found.length} security updates are pending`);
  if (found.length === 0) {
    say('nothing to install: the point release already contains all security updates');
    return 0;
  }
  for (let count = 0; count < UPDATES_MAX; count++) {
    const [next] = await pendingSecurity(operator);
    if (next === undefined) break;
    await operator.approved(next.id);
    await round();
    const { state, state_reason: reason, plan } = await operator.update(next.id);
    const files = plan?.actions.length ?? 0;
    say(`${next.name} ${next.current_version} -> ${next.available_version} (${files} files): ${state}`);
    if (state !== 'installed') {
      process.stderr.write(`${next.name} is ${state}: ${reason}\n`);
      return 1;
    }
  }
  const left = await pendingSecurity(operator);
  const audit = await runTool('dpkg', [`--root=${tree.root}`, '--audit']);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  say(`${found.length} updates in ${seconds} s; ${left.length} left; dpkg --audit says "${audit.trim()}"`);
  return left.length === 0 && audit.trim() === '' ? 0 : 1;
}

async function pendingSecurity(operator: Operator) {
  return operator.updates({ state: 'pending', security: 'true' });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
