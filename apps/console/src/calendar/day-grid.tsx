import type { Calendar } from '@tidegate/protocol/calendar-api';
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react';
import { plusDays } from '../ui/day-rules.ts';
import { dayAfterKey, longDate, rangeOf, type View } from './calendar-rules.ts';
import { MonthCell } from './month-cell.tsx';
import { WeekCell } from './week-cell.tsx';

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

interface Props {
  readonly view: Exclude<View, 'agenda'>;
  readonly selected: string;
  readonly today: string;
  readonly calendar: Calendar;
  readonly zone: string;
  readonly onSelect: (date: string) => void;
  readonly onStep: (step: 1 | -1) => void;
}

/** Days in weeks, as a grid of one tab stop: arrow keys go from day to day, Page Up and Down to other months or weeks. */
export function DayGrid({ view, selected, today, calendar, zone, onSelect, onStep }: Props) {
  const grid = useRef<HTMLDivElement>(null);
  const isMoving = useRef(false);
  useEffect(() => {
    if (!isMoving.current) return;
    isMoving.current = false;
    grid.current?.querySelector<HTMLElement>(`[data-date="${selected}"]`)?.focus();
  }, [selected]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = dayAfterKey(selected, event.key);
    const step = event.key === 'PageDown' ? 1 : event.key === 'PageUp' ? -1 : null;
    if (next === null && step === null) return;
    event.preventDefault();
    isMoving.current = true;
    if (next !== null) onSelect(next);
    else if (step !== null) onStep(step);
  };

  const { from, days } = rangeOf(view, selected);
  const known = new Map(calendar.days.map((day) => [day.date, day]));
  const ran = Map.groupBy(calendar.ran, ({ date }) => date);
  const weeks = Array.from({ length: days / 7 }, (_, i) => plusDays(from, i * 7));
  const Cell = view === 'month' ? MonthCell : WeekCell;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table is no grid of days that are moved through by keys
    <div ref={grid} role="grid" aria-label="Days" onKeyDown={onKeyDown} className="min-w-176">
      {/* biome-ignore lint/a11y/useSemanticElements: of the grid */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: its cells are focused */}
      <div role="row" className="grid grid-cols-7 border-b border-line text-muted">
        {WEEKDAYS.map((name) => (
          // biome-ignore lint/a11y/useSemanticElements: of the grid
          // biome-ignore lint/a11y/useFocusableInteractive: it names its column
          <div key={name} role="columnheader" className="px-2 py-1">
            {name}
          </div>
        ))}
      </div>
      {weeks.map((monday) => (
        // biome-ignore lint/a11y/useSemanticElements: of the grid
        // biome-ignore lint/a11y/useFocusableInteractive: its cells are focused
        <div key={monday} role="row" className="grid grid-cols-7">
          {WEEKDAYS.map((_, i) => plusDays(monday, i)).map((date) => {
            const day = known.get(date);
            return (
              <Day
                key={date}
                {...{ date, isSelected: date === selected, isToday: date === today, onSelect }}
                isOutside={view === 'month' && date.slice(0, 7) !== selected.slice(0, 7)}
              >
                {day && <Cell {...{ day, zone, entries: calendar.entries, ran: ran.get(date) ?? [] }} />}
              </Day>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function Day(props: {
  date: string;
  isSelected: boolean;
  isToday: boolean;
  /** Of another month. */
  isOutside: boolean;
  onSelect: (date: string) => void;
  children: ReactNode;
}) {
  const { date, isSelected, isToday, isOutside, onSelect, children } = props;
  const number = Number(date.slice(8));
  return (
    // biome-ignore lint/a11y/useSemanticElements: of the grid
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <div
      role="gridcell"
      tabIndex={isSelected ? 0 : -1}
      aria-selected={isSelected}
      aria-current={isToday ? 'date' : undefined}
      data-date={date}
      onClick={() => onSelect(date)}
      className={`flex min-h-28 min-w-0 cursor-pointer flex-col space-y-1 border-r border-b border-line p-1 last:border-r-0 ${isSelected ? 'outline-2 -outline-offset-2 outline-accent' : ''} ${isOutside ? 'bg-sunken' : ''}`}
    >
      <p className="flex items-center gap-1 px-1">
        <span className="sr-only">{longDate(date)}</span>
        <span
          aria-hidden="true"
          className={isToday ? 'rounded-full bg-accent-fill px-1.5 font-semibold text-on-accent' : ''}
        >
          {number}
        </span>
        {isToday && <span className="text-[0.83rem] font-medium">today</span>}
      </p>
      {children}
    </div>
  );
}
