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
import { liveDemo } from './demo/live.ts';
import { showFleet } from './demo/show-fleet.ts';
import { showOneUpdate } from './demo/show-update.ts';
import { say, title } from './demo/voice.ts';

const USAGE = `Usage: npm run demo [-- --port N]
       npm run demo -- --once [--hosts N]
Shows Tidegate on temporary data: a simulated fleet with 30 days of history, which goes on living until Ctrl C.
  --port N    where the console is (default 8090; 0 takes any free port)
  --once      instead: one real update from outdated host to installed package, and a fleet that reports once, then ends
  --hosts N   hosts of that fleet (default 300)
`;
const HOSTS_MAX = 5_000;
const PORT_MAX = 65_535;
/** The sources: `npm run demo` needs no built server. */
const PROGRAM = [process.execPath, join(import.meta.dirname, '../apps/server/src/main.ts')] as const;

const { values } = parseArgs({
  options: {
    once: { type: 'boolean' },
    port: { type: 'string', default: '8090' },
    hosts: { type: 'string', default: '300' },
    help: { type: 'boolean', short: 'h' },
  },
});
const hosts = wholeNumber('hosts', { from: 1, to: HOSTS_MAX });
const port = wholeNumber('port', { from: 0, to: PORT_MAX });
if (values.help) process.stdout.write(USAGE);
else if (hosts === null || port === null) process.exitCode = 2;
else if (values.once) await demoOnce(hosts);
else await liveDemo({ port });

/** Null where the option is none, and then says so. */
function wholeNumber(name: 'hosts' | 'port', { from, to }: { from: number; to: number }): number | null {
  const number = Number(values[name]);
  if (Number.isInteger(number) && number >= from && number <= to) return number;
  process.stderr.write(
    `--${name} "${values[name]}" is not allowed: give a whole number from ${from} to ${to}.\n${USAGE}`,
  );
  return null;
}

async function demoOnce(hosts: number): Promise<void> {
  using folder = tmpDir('tidegate-demo-');
  chmodSync(folder.path, 0o755); // the user that downloads needs access to its host
  title('The parts');
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  say('osv', `listens at ${osv.url}, in place of the public vulnerability database`);
  const dataDir = join(folder.path, 'data');
  const server = await startServer({ dataDir, advisoryUrl: osv.url, program: PROGRAM });
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
  } finally {
    await server.stop();
    await osv.stop();
  }
  title('The demo is over; all of its data has been removed');
}
