import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { actionOf } from '../testing/approvals-app.ts';
import { proofKey, proofsOf, unprovenIn } from './proof-rules.ts';

const HOST = { osId: 'debian', osArch: 'amd64' };
const bringing = (sha256: string, fields: Partial<PlanAction> = {}): PlanAction => {
  const artifact = { filename: 'a.deb', url: 'https://mirror.example/a.deb', size_bytes: 10, sha256 };
  return actionOf({ name: 'openssl', version: '3.0.12-1', fields: { artifact, ...fields } });
};
const plan = (...actions: PlanAction[]) => ({ ecosystem: 'apt', host: HOST, actions }) as const;
const provenBy = (...actions: PlanAction[]) => new Set(proofsOf(plan(...actions)).map(proofKey));
const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];

describe('what a plan brings', () => {
  test('is proven by an installation of the same version with the same hash', () => {
    expect(unprovenIn(plan(bringing(A)), provenBy(bringing(A)))).toEqual([]);
    expect(unprovenIn(plan(bringing(B)), provenBy(bringing(A)))).toEqual([
      { package: 'openssl', version: '3.0.12-1' },
    ]);
  });

  test('is not proven by what it replaces: an inner ring has had that as well', () => {
    const back = { sha256: A, size_bytes: 10 };
    const inner = provenBy(bringing(B, { back }));
    expect(unprovenIn(plan(bringing('c'.repeat(64), { back })), inner)).toHaveLength(1);
    expect(unprovenIn(plan(bringing(A, { to_version: '1.0.0-1' })), inner)).toHaveLength(1);
  });

  test('is not proven for another distribution or architecture', () => {
    const proven = provenBy(bringing(A));
    for (const host of [
      { ...HOST, osId: 'ubuntu' },
      { ...HOST, osArch: 'arm64' },
    ])
      expect(unprovenIn({ ...plan(bringing(A)), host }, proven)).toHaveLength(1);
  });

  test('is not proven without a hash, and what only goes away needs no proof', () => {
    const { artifact: _, ...bare } = bringing(A);
    expect(unprovenIn(plan(bare), provenBy(bare))).toHaveLength(1);
    expect(unprovenIn(plan({ action: 'remove', name: 'openssl', from_version: '1' }), new Set())).toEqual([]);
  });

  test('is proven only with every kind of hash that the plan names', () => {
    const artifact = { filename: 'a.deb', url: 'https://mirror.example/a.deb', size_bytes: 10, sha256: A };
    const both = bringing(A, { artifact: { ...artifact, sha512: 'd'.repeat(128) } });
    expect(unprovenIn(plan(both), provenBy(bringing(A)))).toHaveLength(1);
    expect(unprovenIn(plan(both), provenBy(both))).toEqual([]);
  });
});
