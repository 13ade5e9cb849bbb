import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useMemo } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { VIEWS, type View } from './calendar-rules.ts';

const VIEW_KEYS: Readonly<Record<View, string>> = { month: 'm', week: 'w', agenda: 'a' };

interface Props {
  /** What is shown: a month, or two dates. */
  readonly title: string;
  readonly view: View;
  readonly bar: {
    readonly today: () => void;
    readonly step: (step: 1 | -1) => void;
    readonly show: (view: View) => void;
  };
}

/** Moves through the calendar and chooses its view; the same acts are in the palette and on keys. */
export function CalendarBar({ title, view, bar }: Props) {
  const actions = useMemo((): readonly Action[] => {
    const act = (id: string, shortcut: string, label: string, run: () => void): Action => ({
      ...{ id: `calendar.${id}`, group: 'Calendar', label, shortcut, run, isAllowed: true },
    });
    return [
      act('today', 't', 'Go to today', bar.today),
      act('next', 'n', 'Go forward', () => bar.step(1)),
      act('previous', 'p', 'Go back', () => bar.step(-1)),
      ...VIEWS.map((one) => act(one, VIEW_KEYS[one], `Show the ${one}`, () => bar.show(one))),
    ];
  }, [bar]);
  useActions(actions);
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      <div className="flex items-center gap-1">
        <IconButton label="Go back" onClick={() => bar.step(-1)}>
          <ChevronLeft aria-hidden="true" className="size-4" />
        </IconButton>
        <Button shortcut="T" onClick={bar.today}>
          Today
        </Button>
        <IconButton label="Go forward" onClick={() => bar.step(1)}>
          <ChevronRight aria-hidden="true" className="size-4" />
        </IconButton>
      </div>
      <p role="status" className="font-semibold">
        {title}
      </p>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields */}
      <div role="group" aria-label="View" className="ml-auto flex gap-1">
        {VIEWS.map((one) => (
          <Button
            key={one}
            tone={one === view ? 'primary' : 'plain'}
            aria-pressed={one === view}
            onClick={() => bar.show(one)}
          >
            {one.replace(/^./, (letter) => letter.toUpperCase())}
          </Button>
        ))}
      </div>
    </div>
  );
}
