import { describe, expect, test } from 'vitest';
import { type Flag, halvesOf, type Member, splitFlagged } from './flagged-set-rules.ts';

const member = (id: string, ...packages: string[]): Member => ({ id, packages: new Set(packages) });
const unknown = (id: string): Member => ({ id, packages: null });

function stoppedBy(
  by: Flag['stop']['by'],
  { findings = [], named = [] }: { findings?: Flag['judged']['closure']['findings']; named?: string[] } = {},
): Flag {
  const names = named.map((name) => ({ package: name }));
  const judged = {
    closure: { findings },
    ...{ divergences: names, registry: { contradicted: names }, age: { violations: names } },
    held: names,
  };
  return { policy: 'any', judged, excused: new Set(), stop: { by } };
}

const introduced = (name: string) => ({ package: name, change: 'introduced', malicious: false }) as const;
const stayed = (name: string) => ({ ...introduced(name), change: 'still_present' }) as const;

describe('a flagged set', () => {
  test.each<[string, Flag['stop']['by']]>([
    ['an artifact that diverges', 'divergence'],
    ['an artifact unknown to its registry', 'registry'],
    ['a package on hold', 'hold'],
    ['a version that is too young', 'age'],
  ])('loses the updates that bring %s', (_, stop) => {
    const split = splitFlagged([member('1', 'a'), member('2', 'b', 'x'), unknown('3')], {
      verdict: stoppedBy(stop, { named: ['x'] }),
      round: 0,
    });
    expect(split).toEqual({ stopped: ['2'], rest: [['1', '3']] });
  });

  test('of vulnerabilities only those count that stop under the policy', () => {
    const findings = [stayed('old'), introduced('new')];
    const members = [member('1', 'old'), member('2', 'new')];
    const verdict = stoppedBy('vulnerability', { findings });
    expect(splitFlagged(members, { verdict, round: 0 }).stopped).toEqual(['1', '2']);
    const lenient = { ...verdict, policy: 'introduced' as const };
    expect(splitFlagged(members, { verdict: lenient, round: 0 })).toEqual({ stopped: ['2'], rest: [['1']] });
  });

  test('a finding that a statement excuses stops nobody', () => {
    const [x, y] = [introduced('x'), introduced('y')];
    const verdict = { ...stoppedBy('vulnerability', { findings: [x, y] }), excused: new Set<object>([x]) };
    const split = splitFlagged([member('1', 'x'), member('2', 'y')], { verdict, round: 0 });
    expect(split).toEqual({ stopped: ['2'], rest: [['1']] });
  });

  test('that could not be checked is stopped as a whole', () => {
    const verdict = stoppedBy('unchecked');
    expect(splitFlagged([member('1', 'a'), unknown('2')], { verdict, round: 0 })).toEqual({
      stopped: ['1', '2'],
      rest: [],
    });
  });

  test('is halved where no update brings the package by its own plan, and after five rounds', () => {
    const members = ['1', '2', '3'].map((id) => member(id, id));
    const halves = { stopped: [], rest: [['1', '2'], ['3']] };
    const verdict = stoppedBy('vulnerability', { findings: [introduced('x')] });
    expect(splitFlagged(members, { verdict, round: 0 })).toEqual(halves);
    const known = stoppedBy('vulnerability', { findings: [introduced('1')] });
    expect(splitFlagged(members, { verdict: known, round: 4 }).stopped).toEqual(['1']);
    expect(splitFlagged(members, { verdict: known, round: 5 })).toEqual(halves);
  });

  test('ends: halves are smaller, and of one update there are none', () => {
    expect(halvesOf(['1'])).toEqual([]);
    expect(halvesOf(['1', '2'])).toEqual([['1'], ['2']]);
  });
});
