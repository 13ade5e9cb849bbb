import { file, flag, text } from '@tidegate/command-line/declare';
import { readTail } from '@tidegate/support/read-tail';
import { describeBundle, PART_MAX_BYTES, type Part, writeBundle } from '@tidegate/support/write-bundle';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { readConfig } from '../config.ts';
import { VERSION } from '../version.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { examineServer } from './doctor-checks.ts';
import { databaseFacts, knownSecrets, platformFacts, settingFacts } from './support-parts.ts';

const LINES = { usual: 2_000, max: 20_000 };

const OPTIONS = {
  out: file('a new file, for its owner only; an existing one is left alone', 'FILE.tar.gz'),
  log: file("the server's log, whose last lines go in, without their secrets; - reads the standard input"),
  lines: text('N', `how many lines of it, at most ${LINES.max} (${LINES.usual})`),
  json: flag('describe the bundle as JSON'),
};

export const supportCommand = declareCommand({
  name: 'support',
  summary: 'write a support bundle without secrets',
  calls: [{ needs: ['out'], takes: ['log', 'lines', 'json'] }],
  options: OPTIONS,
  about: `Collects what somebody who helps you asks for first: versions, machine, settings, what doctor finds, sizes and counts of the
database, warnings and errors of the event log without their texts. Of secret settings only the names of the variables go
in; passwords, tokens and keys are taken out wherever they stand. It changes nothing, and works with or without a
running server or a usable database. The list of files is printed, and is in the bundle as manifest.json. With systemd:
journalctl -u tidegate -n 2000 | tidegate support --out /var/lib/tidegate/support.tar.gz --log -`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
    const { out, log, lines = `${LINES.usual}`, json = false } = values;
    if (out === undefined) throw new UsageError('support needs --out FILE');
    const count = Number(lines);
    if (!/^\d+$/.test(lines) || count < 1 || count > LINES.max) {
      throw new UsageError(`--lines takes a whole number from 1 to ${LINES.max}`);
    }
    return collect(world, { out, log: log ?? null, lines: count, json });
  },
});

async function collect(
  world: CliWorld,
  { out, log, lines, json }: { out: string; log: string | null; lines: number; json: boolean },
): Promise<ExitCode> {
  const { env, now } = world;
  const read = readConfig(env);
  const config = read.ok ? read.config : null;
  const parts: Part[] = [
    { name: 'platform.json', about: 'versions, machine, memory, disk', content: platformFacts(config) },
    {
      name: 'settings.json',
      about: 'settings; of secrets only whether they are set',
      content: settingFacts(config, env),
    },
    { name: 'doctor.json', about: 'what tidegate doctor finds', content: await examineServer(world) },
  ];
  if (config !== null) {
    const content = await databaseFacts(config, now());
    parts.push({ name: 'database.json', about: 'counts, sizes, recent warnings and errors', content });
  }
  if (log !== null) {
    const tail = tailOf(log, lines);
    if (tail === null) {
      world.err(`${log} cannot be read`);
      return EXIT.failed;
    }
    parts.push({
      name: 'log.txt',
      about: `the last ${lines} lines of the log, secrets hidden`,
      content: tail,
    });
  }
  const written = writeBundle(out, {
    ...{ program: 'tidegate', version: VERSION, createdAtMs: now(), parts },
    secrets: knownSecrets(config, env),
  });
  if (!written.ok) {
    world.err(written.detail);
    return EXIT.failed;
  }
  const { manifest, bytes } = written;
  world.out(json ? JSON.stringify({ file: out, bytes, ...manifest }, null, 2) : describeBundle(out, written));
  return EXIT.ok;
}

function tailOf(path: string, lines: number): string | null {
  try {
    return readTail(path, { lines, maxBytes: PART_MAX_BYTES });
  } catch {
    return null; // the reason does not matter: the person named a file that this user cannot read
  }
}
