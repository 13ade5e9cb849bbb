import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Wait } from '@tidegate/protocol/progress-api';
import { Check, Circle, CircleDot, CircleHelp, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Time } from '../ui/time.tsx';
import { STATUS_LOOKS } from './command-words.tsx';
import { STEPS_AHEAD, type Step, stepsOf } from './step-rules.ts';
import { Waits } from './waits.tsx';

const ICONS: Readonly<Record<Step['state'], ReactNode>> = {
  done: <Check className="size-4 text-good" aria-hidden="true" />,
  next: <CircleDot className="size-4 text-accent" aria-hidden="true" />,
  later: <Circle className="size-4 text-muted" aria-hidden="true" />,
  unknown: <CircleHelp className="size-4 text-muted" aria-hidden="true" />,
  stopped: <X className="size-4 text-bad" aria-hidden="true" />,
};

/** Where a command is, or an installation without one yet: its steps with their times, and what it waits for. */
export function Stepper({ command, waits }: { command: CommandItem | null; waits: readonly Wait[] }) {
  return (
    <div className="space-y-3">
      <Waits waits={waits} />
      <ol aria-label="Steps" className="space-y-1.5">
        {(command ? stepsOf(command, waits) : STEPS_AHEAD).map(({ label, state, at }) => (
          <li key={label} className="flex flex-wrap items-center gap-x-2">
            {ICONS[state]}
            <span className="min-w-36">{label}</span>
            <Time at={at} empty={state === 'next' || state === 'later' ? 'not reached' : 'time unknown'} />
          </li>
        ))}
      </ol>
      {command && !STATUS_LOOKS[command.status].isOver && (
        <p className="text-muted">
          Not before <Time at={command.not_before} />; expires <Time at={command.expires_at} />.
        </p>
      )}
    </div>
  );
}
