import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Wait } from '@tidegate/protocol/progress-api';

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

type Command = Pick<
  CommandItem,
  'action' | 'created_at' | 'received_at' | 'started_at' | 'installing_at' | 'finished_at'
>;

interface Stand {
  readonly as_of: string;
  readonly command: Command | null;
  readonly waits: readonly Pick<Wait, 'text' | 'since' | 'until'>[];
}

/** What an update, a command or a host waits for, how long its steps took. */
export function progressWords({ as_of: asOf, command, waits }: Stand): string[] {
  const [first, ...later] = waits.map(({ text, since, until }) =>
    [text, lasting('for', since, asOf), lasting('ends in', asOf, until)]
      .filter((part) => part !== null)
      .join(', '),
  );
  return [
    first === undefined ? 'Waits for nothing.' : `Waits for ${first}.`,
    ...later.map((text) => `Then for ${text}.`),
    ...(command === null ? [] : stepWords(command)),
  ];
}

/** Each step that is over: the first times are of the server, the last of the host. */
function stepWords({
  action,
  created_at: created,
  received_at: received,
  started_at: started,
  installing_at: installing,
  finished_at: finished,
}: Command): string[] {
  const isInstall = action === 'install_update';
  const steps = [
    lasting('Reached the host after', created, received),
    isInstall ? lasting('Downloaded in', started, installing) : null,
    isInstall && installing === null
      ? lasting('Downloaded and installed in', started, finished)
      : lasting(isInstall ? 'Installed in' : 'Done in', isInstall ? installing : started, finished),
  ];
  return steps.flatMap((step) => (step === null ? [] : [`${step}.`]));
}

/** Null where a time is not known, or clocks disagree on their order. */
function lasting(word: string, from: string | null, to: string | null): string | null {
  if (from === null || to === null) return null;
  const ms = Date.parse(to) - Date.parse(from);
  return ms >= 0 ? `${word} ${span(ms)}` : null;
}

/** In the largest unit that fits once. */
function span(ms: number): string {
  const [size, unit] = UNITS.find(([one]) => ms >= one) ?? [1_000, 'second'];
  const count = Math.floor(ms / size);
  return count === 0 ? 'less than a second' : `${count} ${unit}${count === 1 ? '' : 's'}`;
}
