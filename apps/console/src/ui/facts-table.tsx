import type { ReactNode } from 'react';
import { TableFrame } from './table-frame.tsx';

export interface FactColumn<T> {
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** `name`: what the row is; `pinned`: what stays in sight where the table scrolls sideways. */
  readonly part?: 'name' | 'pinned';
  readonly className?: string;
}

/** A table that is read and not walked: its cells wrap and may hold fields; on a phone its rows are cards as in every table. */
export function FactsTable<T>({
  label,
  columns,
  rows,
  rowId,
}: {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly FactColumn<T>[];
  rows: readonly T[];
  rowId: (row: T) => string;
}) {
  return (
    <TableFrame>
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">{label}</caption>
        <thead className="text-[0.86rem] text-muted">
          <tr className="border-b border-line">
            {columns.map(({ header, part = 'fact' }) => (
              <th
                key={header}
                scope="col"
                data-part={part}
                className="px-(--gap) py-1.5 align-bottom font-medium whitespace-nowrap"
              >
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowId(row)} className="border-b border-line align-top last:border-0">
              {columns.map(({ header, cell, part = 'fact', className = '' }) => (
                <td
                  key={header}
                  data-part={part}
                  data-label={header}
                  className={`px-(--gap) py-1.5 ${className}`}
                >
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
