import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Column } from '../ui/data-table.tsx';
import { counted } from '../updates/update-words.ts';

/** The packages of a command as a sentence: `curl 8.1 to 8.2 and 3 more`; `empty` where it names none. */
export function CommandPackages({
  of: { total, first },
  empty,
}: {
  of: CommandItem['packages'];
  empty: string;
}) {
  const [one] = first;
  if (total === 0) return <span className="text-muted">{empty}</span>;
  // Their updates are deleted.
  if (!one) return counted(total, 'update');
  const others = first.slice(1).map(({ name, from, to }) => `${name} ${from} to ${to}`);
  const more = total - 1;
  return (
    <span title={others.join(', ') || undefined}>
      <bdi className="font-medium">{one.name}</bdi> <bdi>{one.from}</bdi> to <bdi>{one.to}</bdi>
      {more > 0 && ` and ${more.toLocaleString('en')} more`}
    </span>
  );
}

/** The column of lists of commands. */
export const PACKAGES_COLUMN: Column<CommandItem> = {
  id: 'packages',
  header: 'Packages',
  cell: ({ packages }) => (
    <span className="inline-block max-w-72 truncate align-bottom">
      <CommandPackages of={packages} empty="none" />
    </span>
  ),
};
