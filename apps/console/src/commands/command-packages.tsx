import type { CommandItem } from '@tidegate/protocol/commands-api';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { Column } from '../ui/data-table.tsx';
import { None } from '../ui/none.tsx';

/** The packages of a command as a sentence: `curl 8.1 to 8.2 and 3 more`; `empty` where it names none. */
export function CommandPackages({
  of: { total, first },
  empty,
  isBrief = false,
}: {
  of: CommandItem['packages'];
  empty: string;
  /** Without the versions before, which `title` has. */
  isBrief?: boolean;
}) {
  const [one] = first;
  if (total === 0) return <None word={empty} />;
  // Their updates are deleted.
  if (!one) return counted(total, 'update');
  const named = (isBrief ? first : first.slice(1)).map(
    ({ name, from, to }) => `${isolated(name)} ${isolated(from)} to ${isolated(to)}`,
  );
  const more = total - 1;
  return (
    <span title={named.join(', ') || undefined}>
      <bdi className="font-medium">{one.name}</bdi>{' '}
      {!isBrief && (
        <>
          <bdi>{one.from}</bdi> to{' '}
        </>
      )}
      <bdi>{one.to}</bdi>
      {more > 0 && ` and ${more.toLocaleString('en')} more`}
    </span>
  );
}

/** The column of lists of commands. */
export const PACKAGES_COLUMN: Column<CommandItem> = {
  id: 'packages',
  header: 'Packages',
  wide: true,
  cell: ({ packages }) => <CommandPackages of={packages} empty="none" isBrief />,
};
