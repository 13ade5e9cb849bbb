import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { aptHostMissing } from '@tidegate/testkit/apt-host';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { tmpDir } from '@tidegate/testkit/tmp';
import { buildAgentWhenStale } from '../e2e/harness/agent-binary.ts';
import { logIn } from '../e2e/harness/operator.ts';
import { ecosystemsOfThisHost } from '../e2e/harness/os-release.ts';
import { OPERATOR, startServer } from '../e2e/harness/server-process.ts';
import { showFleet } from './demo-fleet.ts';
import { showOneUpdate } from './demo-update.ts';
import { say, title } from './demo-voice.ts';

const USAGE = `Usage: npm run demo [-- --keep] [-- --hosts N]
Shows Tidegate on temporary data: one real update from outdated host to installed package, and a
simulated fleet of N hosts (default 300).
  --keep   keep the server running at the end, until Ctrl-C
`;
const HOSTS_MAX = 5_000;

const { values } = parseArgs({
  options: {
    keep: { type: 'boolean' },
    hosts: { type: 'string', default: '300' },
    help: { type: 'boolean', short: 'h' },
  },
});
const hosts = Number(values.hosts);
if (values.help) {
  process.stdout.write(USAGE);
} else if (!Number.isInteger(hosts) || hosts < 1 || hosts > HOSTS_MAX) {
  process.stderr.write(
    `--hosts "${values.hosts}" is not allowed: give a whole number from 1 to ${HOSTS_MAX}.\n${USAGE}`,
  );
  process.exitCode = 2;
} else {
  await demo({ hosts, keep: values.keep ?? false });
}

async function demo({ hosts, keep }: { hosts: number; keep: boolean }): Promise<void> {
  using folder = tmpDir('tidegate-demo-');
  chmodSync(folder.path, 0o755); // the user that downloads needs access to its host
  title('The parts');
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  say('osv', `listens at ${osv.url}, in place of the public vulnerability database`);
  const dataDir = join(folder.path, 'data');
  const server = await startServer({ dataDir, advisoryUrl: osv.url });
  try {
    say('server', `listens at ${server.url}, with its embedded database in ${dataDir}`);
    const operator = await logIn(server.url);
    say('operator', `${OPERATOR.username} logs in`);
    const lacking = aptHostMissing();
    if (lacking === null) {
      say('agent', 'is compiled into one file, which takes some seconds the first time …');
      say('agent', (await buildAgentWhenStale()) ? 'is compiled' : 'is already compiled and up to date');
      await showOneUpdate({ folder: folder.path, server, operator, osv });
    } else {
      title('One update: skipped');
      say('host', `a real host cannot be created here: ${lacking}.`);
      say(
        'host',
        'On Debian or Ubuntu, run: apt-get install apt-utils. The rest of the demo works without it.',
      );
    }
    await showFleet({ hosts, server, operator, osv });
    if (keep) await waitForCtrlC(server.url);
  } finally {
    await server.stop();
    await osv.stop();
  }
  title('The demo is over; all of its data has been removed');
}

async function waitForCtrlC(url: string): Promise<void> {
  title('The server keeps running');
  say('server', `${url}/api/docs describes the API; Ctrl-C stops the server`);
  say('operator', `logs in as ${OPERATOR.username} with "${OPERATOR.password}"`);
  const { promise, resolve } = Promise.withResolvers<void>();
  const alive = setInterval(() => {}, 60_000); // keeps this process alive, which nothing else does
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  await promise;
  clearInterval(alive);
}
