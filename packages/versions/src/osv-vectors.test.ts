import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isAffected } from './versions.ts';

type Vector = { why: string; record: unknown; ecosystem: string; name: string } & Record<Verdict, string[]>;
type Verdict = 'affected' | 'unaffected' | 'undecidable';

const { cases }: { cases: Vector[] } = JSON.parse(
  readFileSync(new URL('../../../vectors/osv-matching.json', import.meta.url), 'utf8'),
);

test.each(cases)('$why ($ecosystem, $name)', ({ record, ecosystem, name, ...verdicts }) => {
  const wanted = (['affected', 'unaffected', 'undecidable'] as const).flatMap((verdict) =>
    verdicts[verdict].map((version) => ({ version, verdict })),
  );
  expect(wanted.length).toBeGreaterThan(0);
  const got = wanted.map(({ version }) => ({
    version,
    verdict: isAffected(record, { ecosystem, name, version }),
  }));
  expect(got).toEqual(wanted);
});
