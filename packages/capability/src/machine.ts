/** A set of UTF-16 code units, as ranges with both ends in them. */
export interface CharSet {
  readonly isExcept: boolean;
  readonly ranges: readonly (readonly [number, number])[];
}

/** What a pattern says, whichever language it was written in. */
export type Node =
  | { readonly kind: 'set'; readonly set: CharSet }
  | { readonly kind: 'sequence'; readonly nodes: readonly Node[] }
  | { readonly kind: 'choice'; readonly nodes: readonly Node[] }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number | null }
  | { readonly kind: 'start' }
  | { readonly kind: 'end' };

/** States of one pattern; each is visited at most once for each character. */
export const MAX_STATES = 4_096;

type State =
  | { readonly kind: 'set'; readonly set: CharSet; readonly next: number }
  | { readonly kind: 'split'; readonly next: readonly number[] }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'accept' };

/** A machine that walks all ways through a pattern at once (Thompson), so that no input makes it slow. */
export interface Machine {
  readonly states: readonly State[];
  readonly first: number;
}

export const ANY: Node = { kind: 'set', set: { isExcept: true, ranges: [] } };

export function literal(text: string): Node {
  return { kind: 'sequence', nodes: text.split('').map((unit) => oneUnit(unit.charCodeAt(0))) };
}

export function repeat(node: Node, min: number, max: number | null): Node {
  return { kind: 'repeat', node, min, max };
}

/** The machine of a pattern, or null for one that would need more than `MAX_STATES`. */
export function build(node: Node): Machine | null {
  const states: State[] = [{ kind: 'accept' }];
  const first = add(node, 0, states);
  return first === null ? null : { states, first };
}

/** Whether the whole text matches; time is linear in its length, with the number of states as factor. */
export function accepts(machine: Machine, text: string): boolean {
  const visited = new Int32Array(machine.states.length).fill(-1);
  let current = reach(machine, [machine.first], { at: 0, length: text.length, visited });
  for (let i = 0; i < text.length && current.length > 0; i++) {
    const c = text.charCodeAt(i);
    const next: number[] = [];
    for (const index of current) {
      const state = machine.states[index];
      if (state?.kind === 'set' && holds(state.set, c)) next.push(state.next);
    }
    current = reach(machine, next, { at: i + 1, length: text.length, visited });
  }
  return current.some((index) => machine.states[index]?.kind === 'accept');
}

interface Position {
  readonly at: number;
  readonly length: number;
  /** For each state the position at which it was reached last. */
  readonly visited: Int32Array;
}

/** The states that take a character or accept, reached without taking one. */
function reach(machine: Machine, from: readonly number[], { at, length, visited }: Position): number[] {
  const open = [...from];
  const reached: number[] = [];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (visited[index] === at) continue;
    visited[index] = at;
    const state = machine.states[index];
    if (state === undefined) continue;
    if (state.kind === 'split') open.push(...state.next);
    else if (state.kind === 'start' || state.kind === 'end') {
      if (at === (state.kind === 'start' ? 0 : length)) open.push(state.next);
    } else reached.push(index);
  }
  return reached;
}

/** Adds the states of a node before the state `next`; answers its first one, or null when there are too many. */
function add(node: Node, next: number, states: State[]): number | null {
  switch (node.kind) {
    case 'set':
      return push({ kind: 'set', set: node.set, next }, states);
    case 'start':
    case 'end':
      return push({ kind: node.kind, next }, states);
    case 'sequence':
      return node.nodes.reduceRight<number | null>(
        (after, part) => (after === null ? null : add(part, after, states)),
        next,
      );
    case 'choice':
      return addChoice(node.nodes, next, states);
    case 'repeat':
      return addRepeat(node, next, states);
  }
}

function addChoice(nodes: readonly Node[], next: number, states: State[]): number | null {
  const ways: number[] = [];
  for (const node of nodes) {
    const way = add(node, next, states);
    if (way === null) return null;
    ways.push(way);
  }
  return push({ kind: 'split', next: ways }, states);
}

function addRepeat(
  { node, min, max }: { node: Node; min: number; max: number | null },
  next: number,
  states: State[],
): number | null {
  let first: number | null = max === null ? addLoop(node, next, states) : next;
  for (let i = max ?? min; i > 0 && first !== null; i--) {
    const once: number | null = add(node, first, states);
    if (once === null) return null;
    // What takes no character is the same however often it stands; counting on would be work without states.
    if (once === first) break;
    first = i > min ? push({ kind: 'split', next: [once, next] }, states) : once;
  }
  return first;
}

function addLoop(node: Node, next: number, states: State[]): number | null {
  const ways = [next];
  const split = push({ kind: 'split', next: ways }, states);
  const body = split === null ? null : add(node, split, states);
  if (body !== null) ways.push(body);
  return body === null ? null : split;
}

function push(state: State, states: State[]): number | null {
  return states.length >= MAX_STATES ? null : states.push(state) - 1;
}

function oneUnit(c: number): Node {
  return { kind: 'set', set: { isExcept: false, ranges: [[c, c]] } };
}

function holds({ ranges, isExcept }: CharSet, c: number): boolean {
  for (const [low, high] of ranges) if (low <= c && c <= high) return !isExcept;
  return isExcept;
}
