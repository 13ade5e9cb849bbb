import { readFileSync } from 'node:fs';
import { Schedule } from '@tidegate/protocol/windows-api';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Occurrence, occurrences } from '../windows/schedule-rules.ts';

const WindowCase = Type.Object({
  title: Type.String(),
  schedule: Schedule,
  from: Type.String(),
  to: Type.String(),
  occurrences: Type.Array(Type.String()),
});
export type WindowCase = Static<typeof WindowCase>;

/** vectors/windows.json: occurrences that a second implementation found. */
export function windowCases(): WindowCase[] {
  const file = readFileSync(new URL('../../../../vectors/windows.json', import.meta.url), 'utf8');
  return Value.Parse(Type.Object({ about: Type.String(), cases: Type.Array(WindowCase) }), JSON.parse(file))
    .cases;
}

/** What this implementation finds for a case, in the form of the file. */
export function found({ schedule, from, to }: WindowCase): string[] {
  const range = { fromMs: Date.parse(from), toMs: Date.parse(to), limit: 10_000 };
  return occurrences(schedule, range).map(interval);
}

export function interval({ startMs, endMs }: Occurrence): string {
  return `${second(startMs)}/${second(endMs)}`;
}

function second(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
