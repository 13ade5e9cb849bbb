import { Columns3 } from 'lucide-react';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { Popover } from '../ui/popover.tsx';
import type { HiddenColumns } from './hidden-columns.ts';
import { setPreferences, usePreferences } from './preferences.ts';

/** Chooses the columns and the density of a list; this browser stores both per operator. */
export function ColumnChooser<T>({
  columns,
  choice,
}: {
  /** The columns that may be hidden. */
  columns: readonly Pick<Column<T>, 'id' | 'header' | 'roomy'>[];
  choice: HiddenColumns;
}) {
  const { density } = usePreferences();
  return (
    <Popover
      label="Columns"
      trigger={
        <Button className="min-h-9" icon={<Columns3 aria-hidden="true" className="size-4" />}>
          Columns
        </Button>
      }
    >
      <fieldset>
        <legend className="mb-1 font-medium">Columns</legend>
        {columns.map(({ id, header, roomy }) => (
          <label key={id} className="flex min-h-7 items-center gap-2">
            <input
              type="checkbox"
              className="size-4"
              checked={!choice.hidden.has(id)}
              onChange={() => choice.toggle(id)}
            />
            {header}
            {roomy && <span className="text-muted">in wide windows</span>}
          </label>
        ))}
      </fieldset>
      <fieldset className="mt-2 border-t border-line pt-2">
        <legend className="sr-only">Rows</legend>
        {(['comfortable', 'compact'] as const).map((one) => (
          <label key={one} className="flex min-h-7 items-center gap-2">
            <input
              type="radio"
              name="density"
              className="size-4"
              checked={density === one}
              onChange={() => setPreferences({ density: one })}
            />
            {one} rows
          </label>
        ))}
      </fieldset>
    </Popover>
  );
}
