import { parseArgs } from 'node:util';
import { readConfig } from './config.ts';
import { systemClock } from './platform/clock.ts';
import { systemRandom } from './platform/ids.ts';
import { createLog } from './platform/log.ts';
import { startServer } from './start.ts';
import { unknownSettings, warnOfUnknown } from './unknown-settings.ts';

const USAGE = `Usage: tidegate [server] [--help]

  server   run the server (default)

Settings come from SERVICE_* variables: docs/configuration.md lists them.`;

/** Longest time for requests under way when the server is told to stop. */
const STOP_TIMEOUT_MS = 15_000;
const ORPHAN_CHECK_MS = 250;

// Whatever the server writes (database, keys, secrets) is for its own user alone.
process.umask(0o077);

const command = readCommand(process.argv.slice(2));
if (command !== null) await runServer();

function readCommand(args: string[]): 'server' | null {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    if (values.help) {
      process.stdout.write(`${USAGE}\n`);
      return null;
    }
    const [name = 'server', ...rest] = positionals;
    if (name === 'server' && rest.length === 0) return 'server';
    process.stderr.write(`unknown command "${positionals.join(' ')}"; allowed: server\n${USAGE}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
  }
  process.exitCode = 2;
  return null;
}

async function runServer(): Promise<void> {
  const read = readConfig(process.env);
  if (!read.ok) return refuse(read.fault);
  const { config } = read;
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat,
    now: systemClock,
    write: (line) => process.stdout.write(`${line}\n`),
  });
  warnOfUnknown(log, unknownSettings(process.env));
  const started = await startServer(config, { log, now: systemClock, random: systemRandom });
  if (!started.ok) return refuse(started.fault);

  let isStopping = false;
  async function stop(signal: string): Promise<void> {
    if (isStopping) return;
    isStopping = true;
    log.info('stopping', { signal });
    const timer = setTimeout(() => {
      log.error('requests were still under way; stopped all the same');
      process.exit(1);
    }, STOP_TIMEOUT_MS);
    timer.unref();
    if (started.ok) await started.stop();
    log.info('stopped');
    process.exit(0);
  }
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(() => void stop('npm has ended'));
  // What nobody caught has left the program in a state nobody knows: say so and let the supervisor start it again.
  process.on('unhandledRejection', (error) => {
    log.error('unhandled rejection', {
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
    process.exit(1);
  });
}

/** npm hands SIGTERM to its shell alone, and the server would stay behind: a new parent is the sign of it. */
function whenOrphaned(act: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, ORPHAN_CHECK_MS);
  timer.unref();
}

function refuse(fault: string): void {
  process.stderr.write(`The server does not start: ${fault}\n`);
  process.exitCode = 1;
}
