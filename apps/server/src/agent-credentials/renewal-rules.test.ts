import { describe, expect, test } from 'vitest';
import { classOf, decideRenewal, type RenewalFacts, type TokenFacts } from './renewal-rules.ts';

const LIFETIME_MS = 1_000;
const token: TokenFacts = {
  match: 'current',
  genuine: true,
  seq: 7,
  currentSeq: 7,
  graceUsed: false,
  issuedAtMs: 5_000,
  lifetimeMs: LIFETIME_MS,
  nowMs: 5_500,
};

describe('the class of a presented token (R2)', () => {
  test.each<[string, Partial<TokenFacts>, string]>([
    ['the current one', {}, 'current'],
    ['the current one, its tag made under another secret', { genuine: false }, 'current'],
    ['the current one in its last millisecond', { nowMs: 5_999 }, 'current'],
    ['the current one after its life', { nowMs: 6_000 }, 'expired'],
    ['the current one while the clock is before its issue', { nowMs: 1 }, 'current'],
    ['the previous one', { match: 'previous', seq: 6 }, 'previous'],
    ['the previous one after its grace', { match: 'previous', seq: 6, graceUsed: true }, 'previous_used'],
    ['the previous one after its life', { match: 'previous', seq: 6, nowMs: 6_000 }, 'expired'],
    [
      'the previous one after grace and life',
      { match: 'previous', seq: 6, graceUsed: true, nowMs: 6_000 },
      'expired',
    ],
    ['a displaced child', { match: 'displaced', issuedAtMs: null }, 'displaced'],
    ['one of an earlier seq', { match: 'none', seq: 5, issuedAtMs: null }, 'old'],
    ['an unknown one of the previous seq', { match: 'none', seq: 6, issuedAtMs: null }, 'old'],
    ['an unknown one of the present seq', { match: 'none', seq: 7, issuedAtMs: null }, 'future'],
    ['one of a later seq', { match: 'none', seq: 8, issuedAtMs: null }, 'future'],
    [
      'a made-up one of an earlier seq',
      { match: 'none', seq: 5, genuine: false, issuedAtMs: null },
      'unknown',
    ],
    ['a made-up one of a later seq', { match: 'none', seq: 8, genuine: false, issuedAtMs: null }, 'unknown'],
  ])('%s', (_, facts, expected) => {
    expect(classOf({ ...token, ...facts })).toBe(expected);
  });
});

const renewal: RenewalFacts = {
  family: 'active',
  machine: 'matches',
  agent: 'active',
  isPastMaxAge: false,
  token: 'current',
  sameRequest: false,
  resyncOpen: false,
};

const FAMILY_EXPIRED = { do: 'refuse', why: 'family_expired' };

describe('the decision table of renewal (E1, section 3): the first row that matches wins', () => {
  test.each<[string, Partial<RenewalFacts>, object]>([
    ['2: an unknown token', { token: 'unknown' }, { do: 'refuse', why: 'unknown_token' }],
    ['2: an unknown token, from anywhere', { token: 'unknown', machine: 'differs' }, { do: 'refuse' }],
    ['2: an unknown token of a revoked family', { token: 'unknown', family: 'revoked' }, { do: 'refuse' }],
    ['3: a revoked family stays so', { family: 'revoked' }, { do: 'refuse', why: 'family_revoked' }],
    [
      '3: reuse in a revoked family is no second event',
      { family: 'revoked', token: 'old' },
      { do: 'refuse' },
    ],
    ['3: a revoked family, another machine', { family: 'revoked', machine: 'differs' }, { do: 'refuse' }],
    ['4: another machine', { machine: 'differs' }, { do: 'mismatch' }],
    ['4: no header while bound', { machine: 'missing' }, { do: 'mismatch' }],
    [
      '4: an old token from elsewhere revokes nothing',
      { machine: 'differs', token: 'old' },
      { do: 'mismatch' },
    ],
    ['4: nor does a displaced one', { machine: 'differs', token: 'displaced' }, { do: 'mismatch' }],
    ['4: nor a spent grace', { machine: 'differs', token: 'previous_used' }, { do: 'mismatch' }],
    ['4: an expired token from elsewhere', { machine: 'differs', token: 'expired' }, { do: 'mismatch' }],
    ['4: a revoked agent elsewhere', { machine: 'differs', agent: 'revoked' }, { do: 'mismatch' }],
    ['5: a revoked agent', { agent: 'revoked' }, { do: 'refuse', why: 'agent_gone' }],
    ['5: a deleted agent', { agent: 'deleted', token: 'old' }, { do: 'refuse', why: 'agent_gone' }],
    ['6: expired is not reuse', { token: 'expired' }, { do: 'refuse', why: 'expired' }],
    ['6: a family past its age, whatever is presented', { isPastMaxAge: true }, FAMILY_EXPIRED],
    [
      '6: beyond its age a previous token has no grace',
      { isPastMaxAge: true, token: 'previous' },
      FAMILY_EXPIRED,
    ],
    [
      '6: beyond its age no reuse revokes: a spent grace',
      { isPastMaxAge: true, token: 'previous_used' },
      FAMILY_EXPIRED,
    ],
    ['6: nor a displaced token', { isPastMaxAge: true, token: 'displaced' }, FAMILY_EXPIRED],
    ['6: nor an old one', { isPastMaxAge: true, token: 'old' }, FAMILY_EXPIRED],
    ['6: nor one ahead of the database', { isPastMaxAge: true, token: 'future' }, FAMILY_EXPIRED],
    [
      '6: nor does a resync bring it back',
      { isPastMaxAge: true, token: 'future', resyncOpen: true },
      FAMILY_EXPIRED,
    ],
    ['4: another machine comes before age', { isPastMaxAge: true, machine: 'differs' }, { do: 'mismatch' }],
    [
      '3: a revoked family stays so, beyond its age too',
      { isPastMaxAge: true, family: 'revoked' },
      { do: 'refuse', why: 'family_revoked' },
    ],
    ['7: the current token', {}, { do: 'rotate', bind: false }],
    ['7: the same request id makes no difference', { sameRequest: true }, { do: 'rotate', bind: false }],
    ['8: unbound, current', { machine: 'unbound' }, { do: 'rotate', bind: true }],
    [
      '8: unbound, previous',
      { machine: 'unbound', token: 'previous' },
      { do: 'grace', child: 'new', bind: true },
    ],
    ['9: grace', { token: 'previous' }, { do: 'grace', child: 'new', bind: false }],
    [
      '9: grace of the same request',
      { token: 'previous', sameRequest: true },
      { do: 'grace', child: 'same', bind: false },
    ],
    ['10: exactly once more', { token: 'previous_used' }, { do: 'revoke', why: 'grace_exhausted' }],
    [
      '10: for the same request too',
      { token: 'previous_used', sameRequest: true },
      { do: 'revoke', why: 'grace_exhausted' },
    ],
    ['11: a displaced child', { token: 'displaced' }, { do: 'revoke', why: 'displaced' }],
    ['12: an old token', { token: 'old' }, { do: 'revoke', why: 'superseded' }],
    ['12: an old token of an unbound agent', { token: 'old', machine: 'unbound' }, { do: 'revoke' }],
    ['13: ahead of the database', { token: 'future' }, { do: 'revoke', why: 'ahead_of_database' }],
    [
      '13: ahead of a restored database',
      { token: 'future', resyncOpen: true },
      { do: 'resync', bind: false },
    ],
    ['13: the resync forgives no reuse', { token: 'old', resyncOpen: true }, { do: 'revoke' }],
    [
      '13: nor another machine',
      { token: 'future', machine: 'differs', resyncOpen: true },
      { do: 'mismatch' },
    ],
  ])('row %s', (_, facts, expected) => {
    expect(decideRenewal({ ...renewal, ...facts })).toMatchObject(expected);
  });

  test('over all facts: tokens only for an active family, agent and the right machine (invariants 3 and 6)', () => {
    let decided = 0;
    for (const facts of allFacts()) {
      const verdict = decideRenewal(facts);
      decided++;
      const accepted = verdict.do === 'rotate' || verdict.do === 'grace' || verdict.do === 'resync';
      const right = facts.machine === 'matches' || facts.machine === 'unbound';
      if (accepted || verdict.do === 'revoke') {
        expect([facts.family, facts.agent, right]).toEqual(['active', 'active', true]);
        expect(facts.isPastMaxAge).toBe(false);
      }
      if (accepted) expect(verdict.bind).toBe(facts.machine === 'unbound');
    }
    expect(decided).toBe(2 * 4 * 3 * 2 * 8 * 2 * 2);
  });
});

function* allFacts(): Generator<RenewalFacts> {
  for (const family of ['active', 'revoked'] as const)
    for (const machine of ['matches', 'unbound', 'differs', 'missing'] as const)
      for (const agent of ['active', 'revoked', 'deleted'] as const)
        for (const isPastMaxAge of [false, true])
          for (const token of CLASSES)
            for (const sameRequest of [false, true])
              for (const resyncOpen of [false, true])
                yield { family, machine, agent, isPastMaxAge, token, sameRequest, resyncOpen };
}

const CLASSES = [
  'current',
  'previous',
  'previous_used',
  'displaced',
  'old',
  'future',
  'expired',
  'unknown',
] as const;
