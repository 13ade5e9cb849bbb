import { REPORT_SEVERITIES } from './figure-rules.ts';

/** A line of the bundle that the report names, with its place. */
export interface Named {
  readonly line: object;
  readonly place: string;
}

/** What the report lists beside its numbers: the first lines of each kind, and the longest waits. */
export interface Gathered {
  readonly lists: Readonly<Record<ListName, Named[]>>;
  readonly longest: Named[];
  /** Names of the rings by the digest of the policy. */
  readonly rings: Map<string, readonly string[]>;
  readonly names: Map<string, string>;
  readonly hostnames: Map<string, string>;
  /** By the id of each: the first bulk approvals that approvals of the bundle came from. */
  readonly bulk: Map<string, BulkApproval>;
}

export interface BulkApproval {
  readonly approvedBy: string;
  /** Of the bundle, with the place of the first. */
  approvals: number;
  readonly first: string;
  /** Its event, where the bundle shows it. */
  event: Named | null;
}

type ListName =
  | 'rollouts'
  | 'overrides'
  | 'exceptions'
  | 'statements'
  | 'unfixed'
  | 'divergences'
  | 'origins';

/** Lines of a list that the report shows; it says where the others are. */
export const LISTED_MAX = 60;
/** Updates that wait: the most severe first, then those that wait longest. */
export const LONGEST_MAX = 25;
const SEVERITIES: readonly string[] = REPORT_SEVERITIES;
const HOSTNAMES_MAX = 10_000;

export function createGathering(): {
  gathered: Gathered;
  take(folder: string, line: object, place: string): void;
} {
  const lists: Gathered['lists'] = {
    ...{ rollouts: [], overrides: [], exceptions: [], statements: [], unfixed: [], divergences: [] },
    origins: [],
  };
  const longest: Named[] = [];
  const rings = new Map<string, readonly string[]>();
  const names = new Map<string, string>();
  const hostnames = new Map<string, string>();
  const bulk = new Map<string, BulkApproval>();

  function keep(name: ListName, named: Named): void {
    if (lists[name].length < LISTED_MAX) lists[name].push(named);
  }
  function keepBulk({ line, place }: Named): void {
    const id = memberIn(line, 'bulk_id');
    if (typeof id !== 'string') return;
    const known = bulk.get(id);
    if (known) known.approvals++;
    else if (bulk.size < LISTED_MAX)
      bulk.set(id, { approvedBy: textIn(line, 'approved_by'), approvals: 1, first: place, event: null });
  }
  function keepLongest(named: Named): void {
    const weight = weightOf(named);
    const least = longest.at(-1);
    if (longest.length === LONGEST_MAX && least && weightOf(least) >= weight) return;
    const at = longest.findIndex((each) => weightOf(each) < weight);
    longest.splice(at === -1 ? longest.length : at, 0, named);
    if (longest.length > LONGEST_MAX) longest.pop();
  }

  return {
    gathered: { lists, longest, rings, names, hostnames, bulk },
    take(folder, line, place) {
      const named = { line, place };
      if (folder === 'hosts' && hostnames.size < HOSTNAMES_MAX)
        hostnames.set(textIn(line, 'agent_id'), textIn(line, 'hostname'));
      else if (folder === 'policies') {
        const known = memberIn(line, 'rings');
        names.set(textIn(line, 'sha256'), textIn(line, 'name'));
        if (Array.isArray(known)) rings.set(textIn(line, 'sha256'), known.map(String));
      } else if (folder === 'updates' && textIn(line, 'outcome') === 'waiting') keepLongest(named);
      else if (folder === 'approvals') {
        if (memberIn(line, 'is_override') === true) keep('overrides', named);
        keepBulk(named);
      } else if (folder === 'events') {
        const of = bulk.get(textIn(objectIn(line, 'event'), 'id'));
        if (of) of.event = named;
      } else if (isListed(folder)) keep(folder, named);
    },
  };
}

function weightOf({ line }: Named): number {
  const rank = SEVERITIES.indexOf(textIn(line, 'severity'));
  return (REPORT_SEVERITIES.length - rank) * 1_000_000 + numberIn(line, 'days');
}

const LISTED = ['rollouts', 'exceptions', 'statements', 'unfixed', 'divergences', 'origins'] as const;

function isListed(folder: string): folder is (typeof LISTED)[number] {
  return LISTED.some((name) => name === folder);
}

export function memberIn(line: object, name: string): unknown {
  return Object.hasOwn(line, name) ? Reflect.get(line, name) : undefined;
}

/** A text member; `—` where there is none. */
export function textIn(line: object, name: string): string {
  const value = memberIn(line, name);
  return typeof value === 'string' ? value : '—';
}

export function numberIn(line: object, name: string): number {
  const value = memberIn(line, name);
  return typeof value === 'number' ? value : 0;
}

/** The texts of a list. */
export function textsIn(line: object, name: string): string[] {
  const value = memberIn(line, name);
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

export function objectIn(line: object, name: string): object {
  const value = memberIn(line, name);
  return typeof value === 'object' && value !== null ? value : {};
}

export function objectsIn(line: object, name: string): object[] {
  const value = memberIn(line, name);
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
}
