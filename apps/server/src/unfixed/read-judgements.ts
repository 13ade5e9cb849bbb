import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { isFresh } from '../advisories/freshness.ts';
import { readChecks } from '../advisories/store.ts';
import { type Subject, subjectKey } from '../advisories/subjects.ts';
import type { Config } from '../config.ts';
import type { Platform } from '../platform/platform.ts';
import { takeTurn } from '../platform/turns.ts';
import { checksAfter } from './facts-store.ts';
import { type Judgement, type Judgements, judgementOf } from './unfixed-rules.ts';

const Ids = Type.Array(Type.String());
const NOTHING: Judgement = { ids: [], isWhole: true };

interface Deps {
  readonly platform: Pick<Platform, 'database' | 'now'>;
  readonly config: Pick<Config, 'advisoryMaxAgeHours'>;
}

/**
 * Everything that is judged. What is not known has no entry, and what is clear shares one. `answered` has the keys of what
 * the sources were asked about lately and cannot tell: asking again soon would bring nothing new.
 */
export async function readJudgements(
  deps: Deps,
): Promise<{ judgements: Judgements; answered: ReadonlySet<string> }> {
  const at = timesOf(deps);
  const judgements = new Map<string, Judgement>();
  /** Each id is one text in memory: a kernel has thousands, in each of its versions. */
  const texts = new Map<string, string>();
  const shared = (id: string) => texts.get(id) ?? texts.set(id, id).get(id) ?? id;
  const answered = new Set<string>();
  let after: Subject = { ecosystem: '', name: '', version: '' };
  for (;;) {
    const rows = await checksAfter(deps.platform.database.read, after);
    const last = rows.at(-1);
    if (!last) return { judgements, answered };
    after = last;
    for (const row of rows) {
      const ids = Value.Parse(Ids, JSON.parse(row.advisory_ids)).map(shared);
      const check = { ...row, ids, checkedAtMs: Number(row.checked_at) };
      const judgement = judgementOf(check, at);
      if (ids.length > 0) judgements.set(subjectKey(row), judgement);
      else if (judgement.isWhole) judgements.set(subjectKey(row), NOTHING);
      if (!judgement.isWhole && isFresh(check, at)) answered.add(subjectKey(row));
    }
    await takeTurn();
  }
}

/** The same for these subjects alone. */
export async function judgementsOf(deps: Deps, subjects: readonly Subject[]): Promise<Judgements> {
  const at = timesOf(deps);
  const checks = await readChecks(deps.platform.database.read, subjects);
  return new Map([...checks].map(([key, check]) => [key, judgementOf(check, at)]));
}

function timesOf({ platform, config }: Deps) {
  return { nowMs: platform.now(), maxAgeMs: config.advisoryMaxAgeHours * 3_600_000 };
}
