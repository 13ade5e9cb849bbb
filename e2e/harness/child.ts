import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Leash, startLeash } from '@tidegate/testkit/leash';

/** Keeps a list of processes (`+ pid`, `- pid`) and kills the rest once its input ends, however the parent ends. */
const KILL_THE_REST = [
  'alive=" "',
  'while read -r sign pid; do case $sign in',
  '+) alive="$alive$pid ";;',
  '-) alive=$(printf %s "$alive" | sed "s/ $pid / /g");;',
  'esac; done',
  'for pid in $alive; do kill -9 "$pid" 2>/dev/null; done; true',
].join('\n');

let leash: Leash | undefined;

/** How a process ended. */
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** A process of a story, with its output as lines. */
export type Child = {
  readonly pid: number;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly ended: Promise<Ending>;
  hasEnded(): boolean;
  /** The first line of either stream that matches; rejects when the process ends or `withinMs` pass without one. */
  line(pattern: RegExp, withinMs?: number): Promise<string>;
  signal(signal: NodeJS.Signals): void;
};

export type ChildOptions = {
  env: Record<string, string>;
  cwd?: string;
  input?: string;
  /** Starts a process group that signals reach as a whole, as Ctrl-C in a terminal does. */
  asGroup?: boolean;
};

/** Starts a process that does not outlive this one, even if this one is killed. */
export function startChild(command: string, args: readonly string[], options: ChildOptions): Child {
  const child = spawn(command, [...args], {
    cwd: options.cwd ?? '/',
    env: options.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: options.asGroup ?? false,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} could not be started`);
  leash ??= startLeash({ script: KILL_THE_REST });
  const target = options.asGroup ? -pid : pid;
  leash.tell(`+ ${target}`);
  child.stdin.on('error', () => {}); // a process may end before it has read its input
  child.stdin.end(options.input ?? '');
  const watchers = new Set<(line: string) => void>();
  const stdout = keepLines(child.stdout, watchers);
  const stderr = keepLines(child.stderr, watchers);
  const ended = endingOf(child).then(async (ending) => {
    leash?.tell(`- ${target}`);
    await Promise.all([stdout.closed, stderr.closed]);
    return ending;
  });

  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;

  function line(pattern: RegExp, withinMs = 90_000): Promise<string> {
    const present = [...stdout.lines, ...stderr.lines].find((text) => pattern.test(text));
    if (present !== undefined) return Promise.resolve(present);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const fail = (why: string) =>
      reject(
        new Error(
          `${why} before ${pattern} was printed:\n${[...stdout.lines, ...stderr.lines].slice(-30).join('\n')}`,
        ),
      );
    const timer = setTimeout(() => fail(`${withinMs} ms passed`), withinMs);
    const watch = (text: string) => {
      if (pattern.test(text)) resolve(text);
    };
    watchers.add(watch);
    void ended.then(() => fail(`${command} ended`));
    return promise.finally(() => {
      clearTimeout(timer);
      watchers.delete(watch);
    });
  }

  return {
    pid,
    stdout: stdout.lines,
    stderr: stderr.lines,
    ended,
    hasEnded,
    line,
    signal: (signal) => {
      if (!options.asGroup) child.kill(signal);
      else if (!hasEnded()) process.kill(target, signal);
    },
  };
}

async function endingOf(child: ChildProcess): Promise<Ending> {
  await once(child, 'close');
  return { code: child.exitCode, signal: child.signalCode };
}

function keepLines(
  stream: Readable,
  watchers: ReadonlySet<(line: string) => void>,
): { lines: string[]; closed: Promise<unknown> } {
  const lines: string[] = [];
  const reader = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  reader.on('line', (line) => {
    lines.push(line);
    for (const watch of watchers) watch(line);
  });
  return { lines, closed: once(reader, 'close') };
}
