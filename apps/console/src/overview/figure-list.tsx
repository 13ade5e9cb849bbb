import { Link } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { placeOf, type Row, type Tone } from './overview-rules.ts';

const TONES: Readonly<Record<Tone, string>> = {
  bad: 'text-bad',
  warn: 'text-warn',
  unknown: 'text-unknown',
  plain: 'text-text',
};

/** Labelled counts, each with a link to the list that it counts. Zeros are muted. */
export function FigureList({ rows, children }: { rows: readonly Row[]; children?: ReactNode }) {
  return (
    <ul>
      {rows.map((row) => (
        <li key={row.id} className="flex min-h-8 items-center gap-3">
          <FigureRow row={row} />
        </li>
      ))}
      {children}
    </ul>
  );
}

function FigureRow({ row: { word, figure, tone } }: { row: Row }) {
  const { count } = figure;
  const place = placeOf(figure.opens);
  const isZero = count === 0;
  const text = (
    <>
      <span
        className={`inline-block min-w-6 text-right font-semibold tabular-nums ${isZero ? 'text-muted' : `text-[1.15rem] ${TONES[tone]}`}`}
      >
        {count.toLocaleString('en')}
      </span>{' '}
      <span className={isZero ? 'text-muted' : 'text-text'}>{word}</span>
    </>
  );
  if (isZero || place === null) return <span className="inline-flex items-baseline gap-3">{text}</span>;
  return (
    <Link
      to={place.to}
      search={place.search}
      className="inline-flex min-h-7 items-baseline gap-3 rounded underline-offset-2"
    >
      {text}
      <ChevronRight aria-hidden="true" className="size-3.5 self-center text-muted" />
    </Link>
  );
}

/** A row with a state in words instead of a count. */
export function StateRow({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <li className="flex min-h-8 items-center gap-3">
      <span aria-hidden="true" className="flex w-6 shrink-0 justify-end [&>svg]:size-4.5">
        {icon}
      </span>
      <span>{children}</span>
    </li>
  );
}
