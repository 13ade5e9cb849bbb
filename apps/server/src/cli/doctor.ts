import { type CliCommand, type CliWorld, EXIT, type ExitCode, readArgs, UsageError } from './command.ts';
import { examineServer } from './doctor-checks.ts';
import { verifyExportedEvents, verifyInstalledEvents } from './doctor-events.ts';
import type { Finding } from './doctor-rules.ts';

const MARK = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' } as const;

export const doctorCommand: CliCommand = {
  summary: 'check the installation, and verify the log of events',
  usage: `Usage: tidegate doctor [--json]
       tidegate doctor --verify-events [--head FILE|HEX:POSITION]... [--json]
       tidegate doctor --verify-events --file EXPORT --keys KEYS [--head …]... [--json]

Checks configuration, certificate, data folder, permissions, disk, database, keys, epoch file, log, operators and clock. It changes
nothing, and says what to do about each problem. Exit status 1 if any check fails.

--verify-events checks the hash chain of the log, also while the server runs, and names the first bad row. It compares
the chain with the signed checkpoints in the database and in the file beside it.
  --head      signed heads that hosts have seen: HEX:POSITION, or a file of such lines or of what
              \`tidegate-agent status --json\` prints; may be given more than once
  --file      verify an export (\`tidegate events export\`) instead; needs no server
  --keys      for --file: public keys, as GET /api/v1/public-keys returns them`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, {
      'verify-events': { type: 'boolean' },
      file: { type: 'string' },
      keys: { type: 'string' },
      head: { type: 'string', multiple: true },
      json: { type: 'boolean' },
    });
    const { file, keys, head: heads = [], json = false } = values;
    if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
    if (!values['verify-events']) {
      const given = [file, keys, heads[0]].some((value) => value !== undefined);
      if (given) throw new UsageError('--file, --keys and --head go with --verify-events');
      return examine(world, json);
    }
    if (file === undefined && keys === undefined) return verifyInstalledEvents(world, { heads, json });
    if (file === undefined || keys === undefined) throw new UsageError('--file and --keys go together');
    return verifyExportedEvents(world, { file, keys, heads, json });
  },
};

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
