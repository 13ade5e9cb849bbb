import { lazy, Suspense } from 'react';
import { Fold } from './fold.tsx';
import type { Line } from './line.ts';
import { PlainLines } from './plain-lines.tsx';
import { ScrollArea } from './scroll-area.tsx';

const LineDrawing = lazy(() =>
  import('./line-drawing.tsx').then(({ LineDrawing }) => ({ default: LineDrawing })),
);

/**
 * Daily numbers as lines, and as a table for screen readers. The code that draws scales is loaded beside the page, so
 * that the first load does not wait for it.
 */
export function LineChart({
  label,
  days,
  lines,
  format,
  steps,
}: {
  label: string;
  /** In UTC, oldest first: `2026-11-21`. */
  days: readonly string[];
  lines: readonly Line[];
  format: (value: number) => string;
  /** The preferred steps of the grid; automatic unless given. */
  steps?: readonly number[];
}) {
  return (
    <div className="space-y-2">
      <ul className="flex flex-wrap gap-x-5 gap-y-1">
        {lines.map(({ id, word, tone, dash, values }) => (
          <li key={id} className="inline-flex items-center gap-2">
            <svg aria-hidden="true" viewBox="0 0 28 4" className={`h-1 w-7 ${tone}`}>
              <path
                d="M0 2H28"
                stroke="currentColor"
                strokeWidth="2.5"
                {...(dash ? { strokeDasharray: dash.join(' ') } : {})}
              />
            </svg>
            {word}: <strong>{textOf(values.at(-1) ?? null, format)}</strong>
          </li>
        ))}
      </ul>
      <Suspense fallback={<PlainLines lines={lines} />}>
        <LineDrawing days={days} lines={lines} format={format} steps={steps} />
      </Suspense>
      <Fold summary="Show the numbers">
        <ScrollArea label={`${label}, as a table`} className="max-h-72">
          <table className="w-full text-left [&_td]:py-0.5 [&_td]:pr-4 [&_th]:pr-4">
            <caption className="sr-only">{label}</caption>
            <thead className="text-muted">
              <tr>
                <th scope="col">Day (UTC)</th>
                {lines.map(({ id, word }) => (
                  <th key={id} scope="col" className="text-right">
                    {word}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days
                .map((day, i) => (
                  <tr key={day}>
                    <th scope="row" className="font-normal">
                      {day}
                    </th>
                    {lines.map(({ id, values }) => (
                      <td key={id} className="text-right tabular-nums">
                        {textOf(values[i] ?? null, format)}
                      </td>
                    ))}
                  </tr>
                ))
                .toReversed()}
            </tbody>
          </table>
        </ScrollArea>
      </Fold>
    </div>
  );
}

function textOf(value: number | null, format: (value: number) => string): string {
  return value === null ? 'not known' : format(value);
}
