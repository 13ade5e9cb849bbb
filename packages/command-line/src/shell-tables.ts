import type { Completion, Place } from './declare.ts';

/** What follows each option with a value, as cases of a shell. */
export function valueCases(places: readonly Place[]): string[] {
  return places.flatMap(({ path, options }) =>
    options.flatMap(([name, option]) => {
      if (option.type === 'boolean') return [];
      const short = option.short === undefined ? '' : `|'${path} -${option.short}'`;
      return [`    '${path} --${name}'${short}) value='${kindOf(option.completes)}' ;;`];
    }),
  );
}

/** A kind that the script knows, or the words of a fixed set. */
export function kindOf(completes: Completion): string {
  if (completes === null) return '@none';
  return typeof completes === 'string' ? `@${completes}` : completes.join(' ');
}

/** Longest description beside an option, in characters. */
const BRIEF_MAX = 80;

/** The first clause of a description, for a list that a shell shows. */
export function briefly(about: string): string {
  const [clause = ''] = about.split(/[.;:] |[.;:]$/);
  return clause.length <= BRIEF_MAX ? clause : `${clause.slice(0, BRIEF_MAX - 1)}…`;
}
