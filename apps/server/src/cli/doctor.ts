import { file, flag, many, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { coresForThreads, THREADS_MAX } from '../events/verify-threads.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { examineServer } from './doctor-checks.ts';
import { verifyExportedEvents, verifyInstalledEvents } from './doctor-events.ts';
import type { Finding } from './doctor-rules.ts';
import { askRunningServer } from './doctor-running.ts';

const MARK = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' } as const;

const OPTIONS = {
  running: flag(
    'only ask the running server for its health, for the health checks of containers; it fails if there is no answer within five seconds',
  ),
  'verify-events': flag('check the hash chain of the log, and name the first bad row'),
  file: file('verify an export (`tidegate events export`) instead; needs no server', 'EXPORT'),
  keys: file('for --file: public keys, as GET /api/v1/public-keys returns them', 'KEYS'),
  head: many(
    file(
      'signed heads that hosts have seen: HEX:POSITION, or a file of such lines or of what `tidegate-agent status --json` prints',
      'FILE|HEX:POSITION',
    ),
  ),
  archive: many(
    file(
      'archives of removed events (`tidegate events remove`), oldest first: verified with the log',
      'FILE',
    ),
  ),
  threads: text('N', `threads that verify events, 1 to ${THREADS_MAX}; the number of cores unless given`),
  json: flag('the result as JSON'),
};

export const doctorCommand = declareCommand({
  name: 'doctor',
  summary: 'check the installation, and verify the log of events',
  calls: [
    { takes: ['json'] },
    { needs: ['running'] },
    { needs: ['verify-events'], takes: ['head', 'archive', 'threads', 'json'] },
    { needs: ['verify-events', 'file', 'keys'], takes: ['head', 'json'] },
  ],
  options: OPTIONS,
  about: `Checks configuration, data folder, permissions, disk, database, keys, certificate, proxy, the packages of the agent, epoch
file, log, operators and clock. It changes nothing, and says what to do about each problem. Exit status 1 if any check fails.

--verify-events also works while the server runs. It compares the chain with the signed checkpoints in the database and in
the file beside it. --threads 1 leaves the other cores to the server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { file, keys, head: heads = [], archive: archives = [], json = false } = values;
    if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
    if (values.running) {
      if (args.length > 1) throw new UsageError('--running goes with no other option');
      return askRunningServer(world);
    }
    if (!values['verify-events']) {
      const given = [file, keys, heads[0], archives[0], values.threads].some((value) => value !== undefined);
      if (given)
        throw new UsageError('--file, --keys, --head, --archive and --threads go with --verify-events');
      return examine(world, json);
    }
    const threads = threadsOf(values.threads);
    if (file === undefined && keys === undefined)
      return verifyInstalledEvents(world, { heads, archives, json, threads });
    if (file === undefined || keys === undefined) throw new UsageError('--file and --keys go together');
    if (values.threads !== undefined) throw new UsageError('an export is verified by one thread');
    if (archives.length > 0)
      throw new UsageError('--archive goes with the log of this server, not with --file');
    return verifyExportedEvents(world, { file, keys, heads, json });
  },
});

function threadsOf(given: string | undefined): number {
  if (given === undefined) return coresForThreads();
  const threads = /^[0-9]{1,2}$/.test(given) ? Number(given) : 0;
  if (threads >= 1 && threads <= THREADS_MAX) return threads;
  throw new UsageError(`--threads needs a number from 1 to ${THREADS_MAX}`);
}

async function examine(world: CliWorld, json: boolean): Promise<ExitCode> {
  const findings = await examineServer(world);
  const isSound = findings.every(({ level }) => level !== 'fail');
  world.out(json ? JSON.stringify({ ok: isSound, findings }, null, 2) : findings.map(lineOf).join('\n'));
  return isSound ? EXIT.ok : EXIT.failed;
}

function lineOf(finding: Finding): string {
  const line = `${MARK[finding.level]} ${finding.check}: ${finding.detail}`;
  return finding.level === 'ok' ? line : `${line}\n     ${finding.todo}`;
}
