import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SERVER = fileURLToPath(new URL('..', import.meta.url));

/** Files of the server, without its tests, that contain this text. */
function filesThatSay(text: string): string[] {
  return readdirSync(SERVER, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing/'))
    .filter((path) => readFileSync(join(SERVER, path), 'utf8').includes(text))
    .toSorted();
}

const MINTING = ['approvals/approve-update.ts', 'approvals/bulk-approve.ts', 'approvals/sweep.ts'];
/** Bulk approval judges by groups, as its preview does. */
const DECIDING = ['approvals/approve-update.ts', 'approvals/judge-groups.ts', 'approvals/sweep.ts'];

describe('one gate for all paths (A4, A6, A8)', () => {
  test('only single approval, bulk and sweep mint', () => {
    const minting = [...filesThatSay('mintApproval('), ...filesThatSay('mintApprovals(')];
    expect([...new Set(minting)].toSorted()).toEqual([...MINTING, 'approvals/mint-approval.ts'].toSorted());
  });

  test('each of them asks the same gate with the same facts, and records the decision', () => {
    for (const text of ['judge(', 'factsOf(']) {
      expect(filesThatSay(text)).toEqual(expect.arrayContaining(DECIDING));
    }
    const [single, bulk, sweep] = MINTING;
    const one = ['approvals/record-block.ts', 'approvals/record-decision.ts'];
    expect(filesThatSay('recordDecision(')).toEqual([single, sweep, ...one].toSorted());
    const many = ['approvals/mint-approval.ts', 'approvals/record-decision.ts'];
    expect(filesThatSay('recordDecisions(')).toEqual(many);
    expect(filesThatSay('recordBulkBlock(')).toEqual([bulk, 'approvals/record-block.ts']);
    const asking = ['approvals/gate.ts', 'approvals/preview-update.ts', 'approvals/replay-decision.ts'];
    const gate = filesThatSay('judge(').filter((path) => path.startsWith('approvals/'));
    expect(gate).toEqual([...DECIDING, ...asking].toSorted());
  });

  test('a token is signed and stored in one place', () => {
    expect(filesThatSay('sign(APPROVAL_TYPE')).toEqual(['approvals/mint-approval.ts']);
    const storing = ['approvals/mint-approval.ts', 'approval-tokens/store.ts'].toSorted();
    expect(filesThatSay('insertApprovals(')).toEqual(storing);
    expect(filesThatSay("insertInto('approvals')")).toEqual(['approval-tokens/store.ts']);
  });

  test('only single approval accepts an override (A6, A8)', () => {
    expect(filesThatSay('override_supply_chain')).toEqual(['approvals/routes.ts']);
    for (const path of ['approvals/asker.ts', 'approvals/sweep.ts']) {
      expect(readFileSync(join(SERVER, path), 'utf8')).toContain('override: false, overrideReason: null');
    }
    // A policy asks with terms, and never with an override.
    expect(readFileSync(join(SERVER, 'approvals/standing.ts'), 'utf8')).toContain(
      'override: false, overrideReason: null',
    );
  });
});
