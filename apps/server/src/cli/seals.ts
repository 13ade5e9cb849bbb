import { flag } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { showTable } from '@tidegate/terminal/show-table';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { findBrokenSeals, removeBrokenRows, sealBrokenRows } from '../platform/db/seal-rows.ts';
import type { Platform } from '../platform/platform.ts';
import type { CliWorld } from './command.ts';
import { declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';

const OPTIONS = {
  yes: flag('required for remove and accept'),
  json: flag('the result as JSON'),
};

export const sealsCommand = declareCommand({
  name: 'seals',
  summary: 'rows that grant rights without a valid seal: list, remove, accept',
  calls: [
    { act: 'list', takes: ['json'] },
    { act: 'remove', needs: ['yes'], takes: ['json'] },
    { act: 'accept', needs: ['yes'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `Operators, their factors and sessions, API tokens and other rows that grant rights carry a seal: a MAC under the token
secret (SERVICE_JWT_SECRET, or jwt-secret in the data folder). The server refuses a row without a valid one.

  list     the refused rows, also without a word; exit status 1 if there are any
  remove   deletes those rows: somebody else wrote or changed them
  accept   seals those rows AS THEY ARE: for a database whose token secret was lost, or that was restored on a machine
           with another one. Anything that somebody else wrote into the database then counts: review the list, the
           operators and the tokens first

Both are critical events with the actor "cli".`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const [act = 'list', ...more] = positionals;
    const { yes = false, json = false } = values;
    if (more.length > 0 || !isAct(act)) throw new UsageError('seals takes one of: list, remove, accept');
    return withInstallation(world, (installation) => ACTS[act]({ ...installation, world, json, yes }));
  },
});

interface Context extends Installation {
  world: CliWorld;
  json: boolean;
  yes: boolean;
}

const ACTS = { list, remove, accept } as const;

function isAct(text: string): text is keyof typeof ACTS {
  return text in ACTS;
}

async function list({ platform, world, json }: Context): Promise<ExitCode> {
  const broken = await findBrokenSeals(platform.database.read);
  if (json) world.out(JSON.stringify({ broken }, null, 2));
  else if (broken.length === 0) world.out('Every row that grants a right has a valid seal.');
  else
    world.out(
      showTable([['TABLE', 'ROW', 'SEAL'], ...broken.map((one) => [one.table, one.row, one.reason])]),
    );
  return broken.length === 0 ? EXIT.ok : EXIT.failed;
}

async function remove(context: Context): Promise<ExitCode> {
  demandYes(context, 'deletes every row that `tidegate seals` lists');
  const { platform } = context;
  const rows = await platform.database.transact(async (tx) => {
    const tables = await removeBrokenRows(tx);
    return record(tx, platform, { tables, content: { act: 'removed', reason: 'removed by hand' } });
  });
  return report(context, rows, 'removed');
}

async function accept(context: Context): Promise<ExitCode> {
  demandYes(context, 'lets every row that `tidegate seals` lists count as it is');
  const { platform } = context;
  const rows = await platform.database.transact(async (tx) => {
    const tables = await sealBrokenRows(tx);
    return record(tx, platform, { tables, content: { reason: 'accepted by hand' } });
  });
  return report(context, rows, 'sealed as they are');
}

/** Records as an event how many rows of each table were changed; no event without rows. Returns the sum. */
async function record(
  tx: Tx,
  platform: Platform,
  { tables, content }: { tables: Readonly<Record<string, number>>; content: Record<string, string> },
): Promise<number> {
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0);
  if (rows === 0) return 0;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'ROWS_SEALED',
    severity: 'critical',
    component: 'security',
    actor: 'cli',
    content: { ...content, rows, tables },
  });
  return rows;
}

function demandYes({ yes }: Context, what: string): void {
  if (!yes) throw new CommandFault(`this ${what}: add --yes to confirm`);
}

function report({ world, json }: Context, rows: number, what: string): ExitCode {
  world.out(json ? JSON.stringify({ rows }) : `${rows} rows ${what}.`);
  return EXIT.ok;
}
