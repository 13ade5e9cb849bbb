import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Wait } from '@tidegate/protocol/progress-api';
import { Check, Circle, CircleDot, CircleHelp, CirclePlay, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { serverNow } from '../api/server-time.ts';
import { Time } from '../ui/time.tsx';
import { STEPS_AHEAD, type Step, stepsOf } from './step-rules.ts';
import { Waits } from './waits.tsx';

const ICONS: Readonly<Record<Step['state'], ReactNode>> = {
  done: <Check className="size-4 text-good" aria-hidden="true" />,
  now: <CirclePlay className="size-4 text-accent" aria-hidden="true" />,
  next: <CircleDot className="size-4 text-accent" aria-hidden="true" />,
  later: <Circle className="size-4 text-muted" aria-hidden="true" />,
  unknown: <CircleHelp className="size-4 text-muted" aria-hidden="true" />,
  stopped: <X className="size-4 text-bad" aria-hidden="true" />,
};

/** A host that has said that it has a command keeps it, past its time too. */
const TAKEABLE: readonly CommandItem['status'][] = ['pending', 'sent'];

/** Where a command is, or an installation without one yet: its steps with their times, and what it waits for. */
export function Stepper({ command, waits }: { command: CommandItem | null; waits: readonly Wait[] }) {
  return (
    <div className="space-y-3">
      <Waits waits={waits} />
      <ol aria-label="Steps" className="space-y-1.5">
        {(command ? stepsOf(command, waits) : STEPS_AHEAD).map(({ label, state, at, took }) => (
          <li
            key={label}
            className="flex flex-wrap items-center gap-x-2"
            {...(state === 'now' && { 'aria-current': 'step' })}
          >
            {ICONS[state]}
            <span className="min-w-36">{label}</span>
            <Time at={at} empty={state === 'next' || state === 'later' ? 'not reached' : 'time unknown'} />
            {took !== null && <span className="text-muted">took {took}</span>}
          </li>
        ))}
      </ol>
      {command && TAKEABLE.includes(command.status) && (
        <p className="text-muted">
          {Date.parse(command.not_before) > serverNow() && (
            <>
              Not before <Time at={command.not_before} />.{' '}
            </>
          )}
          If the host does not take it, it expires <Time at={command.expires_at} />.
        </p>
      )}
    </div>
  );
}
