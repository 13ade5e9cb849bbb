import { type Subject, subjectKey } from '../advisories/subjects.ts';

/** A package version that nobody has judged, and how many hosts have it. */
export interface Wanted {
  readonly subject: Subject;
  readonly hosts: number;
}

/** Chooses what a pass looks up, from one pass to the next. */
export interface LookUpTurns {
  /**
   * Those whose turn was longest ago, or never, come first; among them those of most hosts. What stays unknown keeps no
   * other from its turn.
   */
  next(wanted: readonly Wanted[], most: number): Subject[];
}

export function createLookUpTurns(): LookUpTurns {
  let turns: ReadonlyMap<string, number> = new Map();
  let turn = 0;
  return {
    next(wanted, most) {
      turn += 1;
      const keyed = wanted.map((one) => {
        const key = subjectKey(one.subject);
        return { ...one, key, last: turns.get(key) ?? 0 };
      });
      keyed.sort((a, b) => a.last - b.last || b.hosts - a.hosts);
      const chosen = keyed.slice(0, most);
      // What is known meanwhile, or on no host any more, is forgotten.
      const waiting = keyed.slice(most).filter(({ last }) => last > 0);
      turns = new Map([
        ...waiting.map(({ key, last }) => [key, last] as const),
        ...chosen.map(({ key }) => [key, turn] as const),
      ]);
      return chosen.map(({ subject }) => subject);
    },
  };
}
