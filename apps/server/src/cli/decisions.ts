import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { file, flag } from '@tidegate/command-line/declare';
import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { showTable } from '@tidegate/terminal/show-table';
import { signDecision } from '../approvals/decision-statement.ts';
import { type DecisionRow, findDecision, listDecisions } from '../approvals/decision-store.ts';
import { decisionDetail, decisionItem, readRecord, TamperedDecision } from '../approvals/read-decision.ts';
import { replayDecision } from '../approvals/replay-decision.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { runVerify } from './decisions-verify.ts';
import { keysOfInstallation } from './doctor-keys.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';

/** Decisions shown or replayed per update. Each update keeps at most this many, not counting those that minted. */
const DECISIONS_MAX = 1_000;

const OPTIONS = {
  json: flag('the result as JSON'),
  out: file('a new file instead of the standard output'),
  keys: file('public keys, as GET /api/v1/public-keys returns them'),
};

export const decisionsCommand = declareCommand({
  name: 'decisions',
  summary: 'show the evidence of gate decisions, replay them, export and verify them',
  calls: [
    { act: 'show', operands: ['ID'], takes: ['json'] },
    { act: 'replay', operands: ['ID'], takes: ['json'] },
    { act: 'export', operands: ['ID'], takes: ['out'] },
    { act: 'verify', operands: ['FILE'], needs: ['keys'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `  show     the decisions about an update, or one decision with its full evidence
  replay   decide again from the recorded evidence and compare with this program's gate; exit status 1 if they differ
  export   one decision as an in-toto statement, signed now by the key in use
  verify   an exported statement, with the public keys alone; needs no server

ID is the id of a decision or, for show and replay, of an update.
All except verify work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { json = false, out = null, keys = null } = values;
    const [act, subject, ...more] = positionals;
    const isKnown = ['show', 'replay', 'export', 'verify'].includes(act ?? '');
    if (!isKnown) throw new UsageError('decisions needs one of: show, replay, export, verify');
    if (subject === undefined || more.length > 0)
      throw new UsageError(`${act} needs exactly one word: see below`);
    if (out !== null && act !== 'export') throw new UsageError('--out works only with export');
    if ((keys !== null) !== (act === 'verify'))
      throw new UsageError('verify needs --keys FILE, and only verify takes it');
    if (json && act === 'export') throw new UsageError('export is always JSON: leave out --json');
    if (keys !== null) return runVerify(world, { file: subject, keys, json });
    return withInstallation(world, async (installation) => {
      try {
        if (act === 'export') return await runExport(installation, world, { id: subject, out });
        const rows = await decisionsOf(installation, subject);
        return act === 'replay' ? replay(world, rows, json) : show(world, { rows, id: subject, json });
      } catch (error) {
        if (error instanceof TamperedDecision) throw new CommandFault(error.message);
        throw error;
      }
    });
  },
});

/** The decision with this id, or those about the update with it. */
async function decisionsOf({ platform }: Installation, id: string): Promise<DecisionRow[]> {
  const db = platform.database.read;
  const one = await findDecision(db, id);
  if (one) return [one];
  const all = await listDecisions(db, { updateId: id, limit: DECISIONS_MAX, before: null });
  if (all.length === 0) throw new CommandFault(`there is no decision ${id}, and none about an update ${id}`);
  return all;
}

function show(
  { out }: CliWorld,
  { rows, id, json }: { rows: DecisionRow[]; id: string; json: boolean },
): ExitCode {
  const [one] = rows;
  if (one?.id === id) {
    // The evidence is a tree, which people read best as JSON, too.
    out(JSON.stringify(decisionDetail(one), null, 2));
    return EXIT.ok;
  }
  const items = rows.map(decisionItem);
  out(
    json
      ? JSON.stringify(items, null, 2)
      : showTable([
          ['ID', 'DECIDED', 'OUTCOME', 'BY', 'AGAIN'],
          ...items.map(({ id, decided_at, outcome, actor, repeats }) => [
            ...[id, decided_at, outcome, actor, String(repeats)],
          ]),
        ]),
  );
  return EXIT.ok;
}

function replay({ out }: CliWorld, rows: DecisionRow[], json: boolean): ExitCode {
  const replays = rows.map((row) => {
    const record = readRecord(row);
    return { id: row.id, gate_version: record.gate_version, recorded: record.verdict, ...now(record) };
  });
  const isSame = replays.every(({ same }) => same);
  out(
    json
      ? JSON.stringify({ ok: isSame, decisions: replays }, null, 2)
      : replays
          .map(
            ({ id, same, recorded, now }) =>
              `${id} ${same ? 'same' : `DIFFERS: ${JSON.stringify({ recorded, now })}`}`,
          )
          .join('\n'),
  );
  return isSame ? EXIT.ok : EXIT.failed;
}

function now(record: RecordedDecision) {
  const { verdict, isSame } = replayDecision(record);
  return { now: verdict, same: isSame };
}

async function runExport(
  installation: Installation,
  world: CliWorld,
  { id, out }: { id: string; out: string | null },
): Promise<ExitCode> {
  const { platform } = installation;
  const { signer } = await keysOfInstallation(installation);
  if (signer === null)
    throw new CommandFault('the private half of the key in use is missing, so nothing can be signed');
  const outcome = await signDecision(platform.database.read, signer, { id, nowMs: platform.now() });
  switch (outcome.kind) {
    case 'signed':
      break;
    case 'not_found':
      throw new CommandFault(`there is no decision ${id}`);
    case 'no_plan':
      throw new CommandFault('no plan was known at that decision, so it has no artifacts to export');
    case 'too_large':
      throw new CommandFault('the plan of this decision is too large for one statement');
  }
  const text = JSON.stringify(outcome.envelope);
  if (out === null) world.out(text);
  else {
    writeNew(out, `${text}\n`);
    world.out(`Statement exported: ${out}`);
  }
  return EXIT.ok;
}

function writeNew(path: string, text: string): void {
  try {
    const file = openSync(path, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new CommandFault(`${path} cannot be created (${code})`);
  }
}
