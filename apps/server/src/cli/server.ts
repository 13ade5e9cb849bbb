import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { readConfig } from '../config.ts';
import { beginYoung } from '../platform/heap.ts';
import { createLog } from '../platform/log.ts';
import { unknownSettings, warnOfUnknown } from '../unknown-settings.ts';
import { type CliWorld, declareCommand } from './command.ts';

/** How long a stopping server waits for requests under way, in milliseconds. */
const STOP_TIMEOUT_MS = 15_000;
const ORPHAN_CHECK_MS = 250;

const LOOK_AROUND = `No host has joined yet. To look around with a demo fleet, which has a data folder of its own, run in another terminal:
  npm run demo
`;
const OPTIONS = {};

export const serverCommand = declareCommand({
  name: 'server',
  summary: 'run the server (default)',
  calls: [{}],
  options: OPTIONS,
  about: `Runs until it gets SIGTERM or SIGINT. SIGHUP looks for a newer certificate at once. Settings come from SERVICE_* variables: docs/configuration.md lists them.`,
  async run(args, world) {
    const { positionals } = readArgs(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
    return runServer(world);
  },
});

/** Resolves only if the server does not start; a running one ends the process when it stops. */
async function runServer({ env, now, random, err }: CliWorld): Promise<ExitCode> {
  beginYoung();
  const refuse = (fault: string): ExitCode => {
    err(`The server does not start: ${fault}`);
    return EXIT.failed;
  };
  const read = readConfig(env);
  if (!read.ok) return refuse(read.fault);
  const { config } = read;
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat,
    now,
    write: (line) => process.stdout.write(`${line}\n`),
  });
  warnOfUnknown(log, unknownSettings(env));
  // Every other command starts in half the time without what only a server needs.
  const { startServer } = await import('../start.ts');
  const started = await startServer(config, { log, now, random });
  if (!started.ok) return refuse(started.fault);
  // `npm start` runs in a copy of the repository, which has the demo.
  if (env.npm_lifecycle_event === 'start' && !(await started.hasHosts())) err(LOOK_AROUND);

  let isStopping = false;
  async function stop(signal: string, { status = 0 }: { status?: number } = {}): Promise<void> {
    if (isStopping) return;
    isStopping = true;
    log.info('stopping', { signal });
    if (started.ok && status === 0) await started.drain();
    const timer = setTimeout(() => {
      log.error('stopped before all requests had ended');
      process.exit(1);
    }, STOP_TIMEOUT_MS);
    timer.unref();
    if (started.ok) await started.stop();
    log.info('stopped');
    process.exit(status);
  }
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  const { lookForCertificate, lost } = started;
  void lost?.then((why) => {
    log.error('the server ends', { cause: why });
    return stop('workers', { status: 1 });
  });
  // Without a certificate SIGHUP ends the process, as when its terminal is closed.
  if (lookForCertificate) process.on('SIGHUP', () => void lookForCertificate());
  if (env.npm_lifecycle_event !== undefined) whenOrphaned(() => void stop('npm has ended'));
  // After an uncaught rejection the state is unknown: log it, and let the supervisor restart the process.
  process.on('unhandledRejection', (error) => {
    log.error('unhandled rejection', {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    process.exit(1);
  });
  // The process ends by process.exit, above.
  return new Promise(() => {});
}

/** npm sends SIGTERM only to its shell, and the server would stay behind: a new parent shows that npm has ended. */
function whenOrphaned(act: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, ORPHAN_CHECK_MS);
  timer.unref();
}
