import { expect, test } from 'vitest';
import type { ClosureFacts, Finding, Fix } from './closure-facts.ts';
import { partCounts, splitFindings } from './closure-parts.ts';

type Words = `${'new' | 'kept' | 'fixed'} ${string}`;

/** A closure in words: which vulnerability is new, kept or fixed, in which package. */
function closureOf(words: readonly Words[], known: Partial<ClosureFacts> = {}): ClosureFacts {
  const parsed = words.map((text) => {
    const [part = '', id = '', name = 'x'] = text.split(' ');
    return { part, id, name };
  });
  const findings = parsed
    .filter(({ part }) => part !== 'fixed')
    .map(
      ({ part, id, name }): Finding => ({
        ...{ package: name, version: '2', id, aliases: [], severity: null, summary: '', fixedIn: null },
        ...{ inClosure: 'top', change: part === 'new' ? 'introduced' : 'still_present', malicious: false },
      }),
    );
  const fixed = parsed
    .filter(({ part }) => part === 'fixed')
    .map(({ id, name }): Fix => ({ id, package: name }));
  return {
    ...{ verdict: findings.length > 0 ? 'vulnerable' : 'clear', unchecked: null, findings, fixed },
    ...{ isFixedComplete: true, missing: { after: 0, before: 0 } },
    ...{ checkedAtMs: null, source: null, snapshot: null },
    ...known,
  };
}

const UNCHECKED = { unchecked: 'unreachable', isFixedComplete: false } as const;
const BEFORE_UNKNOWN = { isFixedComplete: false } as const;

test.each<[readonly Words[], Partial<ClosureFacts>, [number | null, number | null, number | null]]>([
  [[], {}, [0, 0, 0]],
  [['new A'], {}, [1, 0, 0]],
  [['kept A'], {}, [0, 1, 0]],
  [['fixed A'], {}, [0, 0, 1]],
  [['new A', 'kept B', 'fixed C'], {}, [1, 1, 1]],
  [['new A', 'new B', 'kept C', 'fixed D', 'fixed E', 'fixed F'], {}, [2, 1, 3]],
  // One vulnerability of a source package that several of its packages have counts once.
  [['new A x', 'new A y', 'kept B x', 'kept B y', 'fixed C x', 'fixed C y'], {}, [1, 1, 1]],
  // Introduced in one package and kept in another: it is in both parts.
  [['new A x', 'kept A y'], {}, [1, 1, 0]],
  // What was not checked is never 0.
  [[], UNCHECKED, [null, null, null]],
  [['new A'], UNCHECKED, [1, null, null]],
  [['kept A'], UNCHECKED, [null, 1, null]],
  [['fixed A'], UNCHECKED, [null, null, 1]],
  [[], BEFORE_UNKNOWN, [0, 0, null]],
  [['new A'], BEFORE_UNKNOWN, [1, 0, null]],
  [['fixed A'], BEFORE_UNKNOWN, [0, 0, 1]],
])('%j, %j has counts %j', (words, known, counts) => {
  const { introduces, stays, fixes } = partCounts(closureOf(words, known));
  expect([introduces, stays, fixes]).toEqual(counts);
});

test('each finding is in exactly one part, in its order', () => {
  const { findings } = closureOf(['new A', 'kept B', 'new C', 'kept D']);
  const { introduced, stayed } = splitFindings(findings);
  expect([introduced, stayed].map((part) => part.map(({ id }) => id))).toEqual([
    ['A', 'C'],
    ['B', 'D'],
  ]);
});
