import { join } from 'node:path';
import { COMMAND_STATUSES } from '@tidegate/protocol/states';
import { describe, expect, test } from 'vitest';
import {
  decideRenewal,
  type RenewalFacts,
  type RenewalVerdict,
} from '../apps/server/src/agent-credentials/renewal-rules.ts';
import { judgeResult, type ResultVerdict } from '../apps/server/src/commands/command-rules.ts';
import { readHeldTables } from './protocol-doc/tables.ts';

const TABLES = readHeldTables(join(import.meta.dirname, '..'));
const ANSWERS: Readonly<Record<ResultVerdict['kind'], string>> = {
  unsent: '404 not_found',
  finished: '409 command_finished',
  repeated: '200, nothing changes',
  move: '200, recorded',
};
const REPORTED = ['running', 'success', 'failed', 'refused', 'interrupted'] as const;

describe('tables of rules in docs/protocol/states.md, in which the first matching row decides', () => {
  test('renewal: every combination of facts has the outcome that the code gives', () => {
    const rows = rowsOf('renewal');
    const facts = everyRenewal();
    expect(facts.length).toBe(2 * 4 * 3 * 2 * 8 * 2 * 2);
    const decided = facts.map((each) => decide(rows, cellsOf(each)));
    expect(decided.map(({ outcome }) => outcome)).toEqual(
      facts.map((each) => outcomeOf(decideRenewal(each))),
    );
    expect(rows.filter((row) => !decided.some((each) => each.row === row))).toEqual([]);
  });

  test('renewal: success binds an unbound agent, and nothing else binds one', () => {
    for (const facts of everyRenewal()) {
      const verdict = decideRenewal(facts);
      if ('bind' in verdict) expect(verdict.bind).toBe(facts.machine === 'unbound');
    }
  });

  test('results: every status and every report has the answer that the code gives', () => {
    const rows = rowsOf('results');
    const cases = COMMAND_STATUSES.flatMap((status) => REPORTED.map((reported) => ({ status, reported })));
    const decided = cases.map(({ status, reported }) => decide(rows, [status, reported]));
    const expected = cases.map(({ status, reported }) => ANSWERS[judgeResult(status, reported).kind]);
    expect(decided.map(({ outcome }) => outcome)).toEqual(expected);
    expect(rows.filter((row) => !decided.some((each) => each.row === row))).toEqual([]);
  });
});

type Row = readonly string[];

function rowsOf(name: string): readonly Row[] {
  return TABLES.find((table) => table.name === name)?.rows ?? [];
}

/** The last cell of the first row in which every cell is empty or names the value. */
function decide(rows: readonly Row[], values: readonly string[]): { row: Row | undefined; outcome: string } {
  const row = rows.find((cells) =>
    values.every((value, at) => cells[at] === '' || cells[at]?.split(', ').includes(value)),
  );
  return { row, outcome: row?.at(-1) ?? 'no row' };
}

function everyRenewal(): RenewalFacts[] {
  const tokens = [
    ...(['current', 'previous', 'previous_used', 'displaced'] as const),
    ...(['old', 'future', 'expired', 'unknown'] as const),
  ];
  const flags = [true, false];
  return (['active', 'revoked'] as const).flatMap((family) =>
    (['matches', 'unbound', 'differs', 'missing'] as const).flatMap((machine) =>
      (['active', 'revoked', 'deleted'] as const).flatMap((agent) =>
        flags.flatMap((isPastMaxAge) =>
          tokens.flatMap((token) =>
            flags.flatMap((sameRequest) =>
              flags.map((resyncOpen) => ({
                ...{ family, machine, agent, isPastMaxAge, token, sameRequest, resyncOpen },
              })),
            ),
          ),
        ),
      ),
    ),
  );
}

function cellsOf(facts: RenewalFacts): string[] {
  const { family, machine, agent, isPastMaxAge, token, sameRequest, resyncOpen } = facts;
  return [family, machine, agent, yesNo(isPastMaxAge), token, yesNo(sameRequest), yesNo(resyncOpen)];
}

function yesNo(flag: boolean): string {
  return flag ? 'yes' : 'no';
}

function outcomeOf(verdict: RenewalVerdict): string {
  switch (verdict.do) {
    case 'rotate':
    case 'resync':
    case 'mismatch':
      return verdict.do;
    case 'grace':
      return verdict.child === 'same' ? 'grace: the same token again' : 'grace: a new token';
    case 'refuse':
    case 'revoke':
      return `${verdict.do}: ${verdict.why}`;
  }
}
