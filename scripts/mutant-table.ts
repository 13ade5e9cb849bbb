/** One line of the real code with a fault put in, and the test that must then fail. */
export interface Mutant {
  rule: string;
  file: string;
  /** Must occur in the file exactly once. */
  from: string;
  to: string;
  /** The file of the test, and a part of its title. */
  test: readonly [file: string, title: string];
}

const SLICE = 'apps/server/src/agent-credentials';
const DB = 'apps/server/src/platform/db';
const RULES = `${SLICE}/renewal-rules.ts`;
const ROTATE = `${SLICE}/rotate-family.ts`;
const RENEW = `${SLICE}/renew-tokens.ts`;
const TABLE_TEST = `${SLICE}/renewal-rules.test.ts`;
const HTTP_TEST = `${SLICE}/renew-tokens.test.ts`;
const MODEL_TEST = `${SLICE}/renewal-model.test.ts`;
const SOCKET_TEST = `${SLICE}/renewal-http.test.ts`;
const CALLS_TEST = `${SLICE}/renewal-syscalls.test.ts`;
const FAULTS_TEST = `${SLICE}/renewal-faults.test.ts`;
const GROUP_TEST = `${DB}/group-commit.test.ts`;
const JOURNALED = 'apps/server/src/restore/journaled-database.ts';
const ATTEMPTS_TEST = 'apps/server/src/restore/failed-attempts.test.ts';
const CRASH_TEST = 'apps/server/src/restore/crash-before-commit.test.ts';
const GATE = 'apps/server/src/approvals/gate.ts';
const COUNTING = 'apps/server/src/approvals/counting-rules.ts';
const VENDOR_TEST = 'apps/server/src/approvals/vendor-word.test.ts';
const WORD = 'apps/server/src/advisories/vendor-word.ts';
const WORD_TEST = 'apps/server/src/advisories/vendor-word.test.ts';
const GATE_TEST = 'apps/server/src/approvals/gate.test.ts';

export const MUTANTS: readonly Mutant[] = [
  {
    rule: 'row 1: the limit is that of the family',
    file: `${SLICE}/routes.ts`,
    from: "limitClass: 'agent_renewal', key, reply",
    to: "limitClass: 'agent_renewal', key: addressKey(request), reply",
    test: [HTTP_TEST, 'I17: a 429 has no side effect'],
  },
  {
    rule: 'row 2: a token that this server never made is no reuse',
    file: `${SLICE}/refresh-tokens.ts`,
    from: 'return timingSafeEqual(Buffer.from(tagOf(tagKey, body)), Buffer.from(token.tag));',
    to: 'return body !== tagKey.toString();',
    test: [HTTP_TEST, 'row 2: a token that this server never made'],
  },
  {
    rule: 'row 3: a revoked family stays revoked',
    file: RULES,
    from: "if (facts.family === 'revoked') return",
    to: "if (facts.family === 'revoked' && facts.token === 'current') return",
    test: [TABLE_TEST, '3: reuse in a revoked family is no second event'],
  },
  {
    rule: 'row 4: the machine comes before reuse',
    file: RULES,
    from: "if (facts.machine === 'differs' || facts.machine === 'missing')",
    to: "if (facts.token !== 'old' && (facts.machine === 'differs' || facts.machine === 'missing'))",
    test: [TABLE_TEST, '4: an old token from elsewhere revokes nothing'],
  },
  {
    rule: 'row 4: another machine changes nothing',
    file: RULES,
    from: "if (facts.machine === 'differs' || facts.machine === 'missing')",
    to: "if (facts.machine === 'missing')",
    test: [HTTP_TEST, 'I16: a wrong or missing machine is 403'],
  },
  {
    rule: 'row 4: a missing machine is a mismatch (reading 7)',
    file: RULES,
    from: "if (facts.machine === 'differs' || facts.machine === 'missing')",
    to: "if (facts.machine === 'differs')",
    test: [TABLE_TEST, '4: no header while bound'],
  },
  {
    rule: 'row 5: a revoked agent',
    file: RULES,
    from: "if (facts.agent !== 'active')",
    to: "if (facts.agent === 'deleted')",
    test: [TABLE_TEST, '5: a revoked agent'],
  },
  {
    rule: 'row 6: ninety days, to the millisecond',
    file: RULES,
    from: 'facts.nowMs >= facts.issuedAtMs + facts.lifetimeMs',
    to: 'facts.nowMs > facts.issuedAtMs + facts.lifetimeMs',
    test: [HTTP_TEST, 'I20, I21: 90 days count from each issue'],
  },
  {
    rule: 'row 6: expired is not reuse',
    file: RULES,
    from: "return { do: 'refuse', why: 'expired' };",
    to: "return { do: 'revoke', why: 'superseded' };",
    test: [HTTP_TEST, 'I20, I21: 90 days count from each issue'],
  },
  {
    rule: 'row 6: a family past its age',
    file: RULES,
    from: 'if (facts.isPastMaxAge) return',
    to: "if (facts.isPastMaxAge && facts.token === 'old') return",
    test: [`${SLICE}/family-age.test.ts`, 'is 401 with an info line, not reuse'],
  },
  {
    rule: 'row 7: ninety days slide from each issue',
    file: ROTATE,
    from: 'cur_issued_at: nowMs,',
    to: 'cur_issued_at: family.cur_issued_at,',
    test: [HTTP_TEST, 'I20, I21: 90 days count from each issue'],
  },
  {
    rule: 'row 7: a rotation gives a new grace',
    file: ROTATE,
    from: 'prev_grace_used: 0,',
    to: 'prev_grace_used: family.prev_grace_used,',
    test: [HTTP_TEST, 'each generation has its own grace'],
  },
  {
    rule: 'row 7: the token that was presented becomes the previous one',
    file: ROTATE,
    from: 'prev_hash: presentedHash,',
    to: 'prev_hash: family.prev_hash ?? presentedHash,',
    test: [HTTP_TEST, 'I10: a reply lost after the second renewal'],
  },
  {
    rule: 'row 8: a renewal binds, in its own transaction',
    file: RENEW,
    from: 'if (verdict.bind && !',
    to: 'if (verdict.bind && request.seq && !',
    test: [HTTP_TEST, 'row 8: after a rebind a renewal binds'],
  },
  {
    rule: 'row 8: the machine of another agent is not bound',
    file: RENEW,
    from: "by: 'renewal' })) === 'bound'",
    to: "by: 'renewal' })) !== 'conflict'",
    test: [HTTP_TEST, 'a machine of another agent cannot be bound'],
  },
  {
    rule: 'row 9: grace exactly once',
    file: ROTATE,
    from: 'prev_grace_used: 1,',
    to: 'prev_grace_used: 0,',
    test: [HTTP_TEST, 'I2, I3, I4, I5: the previous token is accepted exactly once more'],
  },
  {
    rule: 'row 9: the same request gets the same child',
    file: RULES,
    from: "facts.sameRequest ? 'same' : 'new'",
    to: "'new'",
    test: [HTTP_TEST, 'I7: two at once with the same id'],
  },
  {
    rule: 'row 9: another request gets another child',
    file: RULES,
    from: "facts.sameRequest ? 'same' : 'new'",
    to: "'same'",
    test: [HTTP_TEST, 'I6: two at once with different ids'],
  },
  {
    rule: 'row 9: the id of the request must be that of the last rotation',
    file: `${SLICE}/renewal-facts.ts`,
    from: 'requestId !== null && sameHash(hashRequestId(requestId), family.request_id_hash)',
    to: 'requestId !== null',
    test: [HTTP_TEST, 'I6: two at once with different ids'],
  },
  {
    rule: 'row 9: another request displaces the first child',
    file: ROTATE,
    from: 'JSON.stringify([family.cur_hash])',
    to: "'[]'",
    test: [HTTP_TEST, 'I12: a displaced child revokes'],
  },
  {
    rule: 'row 9: the child is kept sealed',
    file: ROTATE,
    from: ': sealChild(child, {',
    to: ': ((text: string, _: object) => text)(child, {',
    test: [MODEL_TEST, 'any history answers and stores the same as the model'],
  },
  {
    rule: 'row 9: the sealed child is deleted with the grace',
    file: ROTATE,
    from: 'sealed_child: null,',
    to: 'sealed_child: family.sealed_child,',
    test: [MODEL_TEST, 'any history answers and stores the same as the model'],
  },
  {
    rule: 'row 10: a third use revokes',
    file: RULES,
    from: "return { do: 'revoke', why: 'grace_exhausted' };",
    to: "return { do: 'refuse', why: 'expired' };",
    test: [HTTP_TEST, 'I8: three at once: two 200, one 401, one critical event'],
  },
  {
    rule: 'row 11: a displaced child revokes',
    file: RULES,
    from: "return { do: 'revoke', why: 'displaced' };",
    to: "return { do: 'rotate', bind };",
    test: [HTTP_TEST, 'I12: a displaced child revokes'],
  },
  {
    rule: 'row 12: an old token revokes',
    file: RULES,
    from: "return { do: 'revoke', why: 'superseded' };",
    to: "return { do: 'refuse', why: 'expired' };",
    test: [HTTP_TEST, 'I9, I13, I22: a token before the previous one revokes'],
  },
  {
    rule: 'row 13: a token ahead of the database revokes',
    file: RULES,
    from: "return facts.resyncOpen ? { do: 'resync', bind }",
    to: "return !facts.resyncOpen ? { do: 'resync', bind }",
    test: [HTTP_TEST, 'I19, row 13: a token ahead of the database revokes by default'],
  },
  {
    rule: 'row 14: a full disk is 503, not 401 and not 500',
    file: `${DB}/sqlite.ts`,
    from: 'const FAULTS = new Set([5, 6, 7, 8, 10, 11, 13, 14]);',
    to: 'const FAULTS = new Set([5, 6, 7, 8, 10, 11, 14]);',
    test: [FAULTS_TEST, 'SQLITE_FULL'],
  },
  {
    rule: 'row 14: a busy database is 503',
    file: `${DB}/sqlite.ts`,
    from: 'const FAULTS = new Set([5, 6,',
    to: 'const FAULTS = new Set([6,',
    test: [FAULTS_TEST, 'SQLITE_BUSY'],
  },
  {
    rule: 'row 14: a lost race is retried',
    file: `${DB}/postgres.ts`,
    from: "new Set(['40001', '40P01'])",
    to: "new Set(['40P01'])",
    test: [FAULTS_TEST, 'once is retried; permanently it is 503'],
  },
  {
    rule: 'row 14: a connection that is cut is 503',
    file: `${DB}/postgres.ts`,
    from: "new Set(['08', '53', '57', '58', '40', 'XX'])",
    to: "new Set(['08', '53', '58', '40', 'XX'])",
    test: [FAULTS_TEST, 'a statement that runs out of time'],
  },
  {
    rule: 'forward only: revocation is committed before its 401',
    file: RENEW,
    from: 'return revoke(tx, deps, family, {',
    to: 'throw await revoke(tx, deps, family, {',
    test: [HTTP_TEST, 'I8: three at once: two 200, one 401, one critical event'],
  },
  {
    rule: 'forward only: the agent is revoked with its family',
    file: RENEW,
    from: 'await directory.markAgentRevoked(tx,',
    to: 'if (request.nowMs < 0) await directory.markAgentRevoked(tx,',
    test: [MODEL_TEST, 'any history answers and stores the same as the model'],
  },
  {
    rule: 'one critical event for each revocation',
    file: RENEW,
    from: "type: 'REFRESH_TOKEN_REUSE',\n    severity: 'critical',",
    to: "type: 'REFRESH_TOKEN_REUSE',\n    severity: 'warning',",
    test: [HTTP_TEST, 'the reuse event is critical and names the family'],
  },
  {
    rule: 'one transaction: the row of the family is locked',
    file: `${SLICE}/store.ts`,
    from: "where('id', '=', familyId);\n  // SQLite has one writer at a time and no row locks.\n  const row = await (engine === 'postgres' ? query.forUpdate() : query)",
    to: "where('id', '=', familyId);\n  const row = await (engine === 'postgres' ? query : query)",
    test: [SOCKET_TEST, 'RT14, I7: 200 of one token with one id'],
  },
  {
    rule: 'one transaction: on disk before its answer',
    file: `${DB}/sqlite.ts`,
    from: "writer.exec('PRAGMA synchronous = FULL');",
    to: "writer.exec('PRAGMA synchronous = OFF');",
    test: [CALLS_TEST, 'I19: the answer is written only after'],
  },
  {
    rule: 'one commit for several: none is answered before it',
    file: `${DB}/group-commit.ts`,
    from: 'await promise;\n',
    to: 'void promise;\n',
    test: [GROUP_TEST, 'several share one commit; none is answered before it'],
  },
  {
    rule: 'one commit for several: one that fails does not undo the others',
    file: `${DB}/group-commit.ts`,
    from: "connection.exec('ROLLBACK TO member');",
    to: "connection.exec('ROLLBACK');",
    test: [GROUP_TEST, 'a failed one does not fail the others'],
  },
  {
    rule: 'one write context: each attempt begins with an empty one',
    file: `${DB}/run-work.ts`,
    from: 'context: emptyContext() }',
    to: 'context: Object.assign(beforeCommit, { context: emptyContext(), ...beforeCommit }).context }',
    test: [ATTEMPTS_TEST, 'by the next transaction on the same connection'],
  },
  {
    rule: 'one write context: a retry withdraws the lines of the attempt before it',
    file: JOURNALED,
    from: 'journal.withdraw(written);\n',
    to: 'void written;\n',
    test: [ATTEMPTS_TEST, 'after a serialization failure at its end'],
  },
  {
    rule: 'one write context: a lost group withdraws the lines of its members',
    file: JOURNALED,
    from: 'await settle(database, journal, written);\n',
    to: 'void settle;\n',
    test: [ATTEMPTS_TEST, 'whose transaction a member ended'],
  },
  {
    rule: 'one write context: the journal comes before the commit',
    file: JOURNALED,
    from: 'written = appended(journal, tx.context.revocations);\n',
    to: 'setImmediate(() => appended(journal, tx.context.revocations));\n',
    test: [CRASH_TEST, 'a server killed between journal and commit'],
  },
  {
    rule: 'invariant 9: hashes are stored, never tokens',
    file: `${SLICE}/refresh-tokens.ts`,
    from: "return createHash('sha256').update(text).digest('hex');",
    to: 'return text;',
    test: [HTTP_TEST, 'invariant 9: no issued secret is in the database or the log'],
  },
  {
    rule: 'invariant 11: access tokens of a revoked family are refused',
    file: 'apps/server/src/agents/guard-rules.ts',
    from: "if (facts.agent !== 'active' || !facts.familyActive) return 'gone';",
    to: "if (facts.agent === 'deleted') return 'gone';",
    test: [HTTP_TEST, 'I2, I3, I4, I5: the previous token is accepted exactly once more'],
  },
  {
    rule: 'gate, A3: a blank reason is none',
    file: GATE,
    from: 'if (request.override && !isReason(reason)) return',
    to: 'if (request.override && reason === null) return',
    test: [GATE_TEST, 'A3 with a blank reason'],
  },
  {
    rule: 'gate: an artifact that diverges stops',
    file: GATE,
    from: 'if (divergences.length > 0)',
    to: 'if (divergences.length > 1)',
    test: [GATE_TEST, 'blocks everyone, before the age (A7)'],
  },
  {
    rule: 'gate: an artifact that its registry does not have stops',
    file: GATE,
    from: 'if (registry.contradicted.length > 0)',
    to: 'if (registry.contradicted.length > 1)',
    test: [GATE_TEST, 'blocks in every mode and for every request'],
  },
  {
    rule: 'gate, A7: age comes before the vulnerability gate',
    file: GATE,
    from: 'artifactStop(judged) ?? ageStop(judged.age, policy)',
    to: 'artifactStop(judged)',
    test: [GATE_TEST, 'A7 comes before the vulnerability gate'],
  },
  {
    rule: 'gate, A7: no override passes age',
    file: GATE,
    from: 'if (final) return',
    to: 'if (final && !request.override) return',
    test: [GATE_TEST, 'A7 is not passed by an override (reading 1)'],
  },
  {
    rule: 'gate, A7: informational only in warn',
    file: GATE,
    from: "if (policy.ageMode !== 'block' ||",
    to: "if (policy.ageMode === 'off' ||",
    test: [GATE_TEST, 'A7 warn'],
  },
  {
    rule: 'gate, reading 5: a pending verdict is waited for',
    file: GATE,
    from: "if (facts.advisories !== 'pending') return false;",
    to: 'return false;',
    test: [GATE_TEST, 'reading 5: not judged yet'],
  },
  {
    rule: 'gate, A1: a vulnerability anywhere in the closure',
    file: GATE,
    from: "if (closure.verdict !== 'vulnerable') return null;",
    to: "if (closure.findings[0]?.inClosure !== 'top') return null;",
    test: [GATE_TEST, 'A1: wherever in the closure'],
  },
  {
    rule: 'gate, A8: no policy excuses a sweep',
    file: GATE,
    from: "policy.vulnerabilities === 'introduced' && request.by === 'operator'",
    to: "policy.vulnerabilities === 'introduced'",
    test: [GATE_TEST, 'A8 whatever the policy of reading 4 is'],
  },
  {
    rule: 'gate, reading 4: malicious is never excused',
    file: GATE,
    from: "change === 'introduced' || malicious",
    to: "change === 'introduced'",
    test: [GATE_TEST, 'reading 4: malicious'],
  },
  {
    rule: 'vendor: unimportant counts as no stop only where the policy says so',
    file: COUNTING,
    from: "if (policy.unimportant === 'block') return excused;",
    to: '',
    test: [VENDOR_TEST, 'with SERVICE_SUPPLY_CHAIN_UNIMPORTANT=block it stops like any other'],
  },
  {
    rule: 'vendor: a malicious package stops',
    file: COUNTING,
    from: 'if (malicious || kev === true) return false;',
    to: 'if (kev === true) return false;',
    test: [VENDOR_TEST, 'a malicious package stops whatever the distribution says'],
  },
  {
    rule: 'vendor: an exploited vulnerability stops',
    file: COUNTING,
    from: 'if (malicious || kev === true) return false;',
    to: 'if (malicious) return false;',
    test: [VENDOR_TEST, 'a vulnerability known to be exploited stops whatever the distribution says'],
  },
  {
    rule: 'vendor: unimportant alone counts as no stop',
    file: COUNTING,
    from: "return vendor?.by === 'debian' && vendor.status === 'unimportant';",
    to: "return vendor?.by === 'debian';",
    test: [VENDOR_TEST, 'is shown and stops: unimportant alone counts as no stop'],
  },
  {
    rule: 'vendor: a word about another package is none',
    file: WORD,
    from: 'target?.name === subject.name &&',
    to: 'target != null &&',
    test: [WORD_TEST, 'about another package'],
  },
  {
    rule: 'vendor: a word about another release is none',
    file: WORD,
    from: "ecosystemCovers({ record: target.ecosystem, host: subject.ecosystem }) !== 'no',",
    to: "ecosystemCovers({ record: target.ecosystem, host: subject.ecosystem }) !== 'no' || true,",
    test: [WORD_TEST, 'about another release'],
  },
  {
    rule: 'vendor: all members that apply must say it',
    file: WORD,
    from: 'return said.size === 1 && status ?',
    to: 'return status ?',
    test: [WORD_TEST, 'that another member contradicts'],
  },
  {
    rule: 'gate, A2: apt and dnf',
    file: GATE,
    from: "ecosystem === 'apt' || ecosystem === 'dnf'",
    to: "ecosystem === 'apt'",
    test: [GATE_TEST, 'A2 dnf'],
  },
  {
    rule: 'gate, reading 5: uncovered is a warning only where the policy says so',
    file: GATE,
    from: "if (unchecked === 'uncovered' && policy.uncovered === 'warn') return null;",
    to: "if (unchecked === 'uncovered') return null;",
    test: [GATE_TEST, 'A2 uncovered'],
  },
  {
    rule: 'gate: unchecked: block stops npm and PyPI too',
    file: GATE,
    from: "request.by === 'operator' && policy.unchecked !== 'block'",
    to: "request.by === 'operator'",
    test: [GATE_TEST, 'unchecked: block stops npm'],
  },
  {
    rule: 'gate: unchecked: block is stronger than uncovered: warn',
    file: GATE,
    from: 'if (unchecked === null) return null;',
    to: "if (unchecked === null || (unchecked === 'uncovered' && policy.uncovered === 'warn' && request.by === 'operator')) return null;",
    test: [GATE_TEST, 'unchecked: block is stronger than uncovered: warn'],
  },
  {
    rule: 'gate: an approval of unchecked packages is a warning in the log',
    file: 'apps/server/src/approvals/mint-approval.ts',
    from: "draft.closure.unchecked === null ? 'info' : 'warning'",
    to: "draft.closure.verdict !== 'unchecked' ? 'info' : 'warning'",
    test: ['apps/server/src/approvals/approve.test.ts', 'is a warning in the log'],
  },
  {
    rule: 'gate: the token says why packages were not checked',
    file: 'apps/server/src/approvals/mint-approval.ts',
    from: '...(closure.unchecked !== null && { unchecked: closure.unchecked }),',
    to: "...(closure.unchecked !== null && closure.verdict === 'unchecked' && { unchecked: closure.unchecked }),",
    test: ['apps/server/src/approvals/approve.test.ts', 'is a warning in the log'],
  },
  {
    rule: 'import: a replacement is confirmed by both counts',
    file: 'apps/server/src/advisories/mirror/loading/load-archive.ts',
    from: 'confirmed.inUse === inUse && confirmed.file === file',
    to: 'confirmed.file === file',
    test: ['apps/server/src/cli/advisories.test.ts', 'is corrected downwards by --replace'],
  },
  {
    rule: 'import: no finding of replaced data stays',
    file: 'apps/server/src/advisories/mirror/loading/load-archive.ts',
    from: 'asOfMs: replacement ? platform.now() : snapshot.asOfMs',
    to: 'asOfMs: snapshot.asOfMs',
    test: ['apps/server/src/cli/advisories.test.ts', 'is corrected downwards by --replace'],
  },
  {
    rule: 'health: a release without any advisory is missing data',
    file: 'apps/server/src/advisories/mirror/coverage.ts',
    from: 'else if (!(await hasAdvisoriesOf(db, snapshot, ecosystem)))',
    to: 'else if (!snapshot)',
    test: [
      'apps/server/src/advisories/mirror/mirror.test.ts',
      'an ecosystem that hosts have and the mirror lacks',
    ],
  },
  {
    rule: 'health: an API that answers does not hide missing data',
    file: 'apps/server/src/advisories/worker.ts',
    from: "return mirror ? 'missing' : 'ok';",
    to: "return 'ok';",
    test: [
      'apps/server/src/advisories/mirror/mirror.test.ts',
      'an ecosystem that hosts have and the mirror lacks',
    ],
  },
  {
    rule: 'gate, A8: the sweep approves no unchecked closure in any ecosystem',
    file: GATE,
    from: "if (request.by === 'operator' && policy.unchecked",
    to: 'if (request.by !== null && policy.unchecked',
    test: [GATE_TEST, 'A8 unchecked npm'],
  },
  {
    rule: 'gate, A8: a sweep has no override',
    file: GATE,
    from: "if (request.by === 'operator' && reason !== null) {",
    to: 'if (reason !== null) {',
    test: [GATE_TEST, 'A8: a sweep has no override'],
  },
  {
    rule: 'gate, A3: an override holds the stop that it passes',
    file: GATE,
    from: 'override: { stop, reason }',
    to: 'override: null',
    test: [GATE_TEST, 'an override is needed exactly where the same request without it is blocked'],
  },
];
