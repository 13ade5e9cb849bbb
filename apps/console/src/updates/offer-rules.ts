import type { UpdateItem } from '@tidegate/protocol/updates-api';

const CLOSED: readonly UpdateItem['state'][] = ['installed', 'superseded'];

/** The other open versions of the package in the same place, from the smallest change to the greatest. */
export function othersOf(
  update: Pick<UpdateItem, 'id' | 'arch'>,
  listed: readonly UpdateItem[],
): readonly UpdateItem[] {
  const order = (one: UpdateItem) => ['patch', 'minor', 'major'].indexOf(one.change ?? 'major');
  return listed
    .filter(({ id, arch, state }) => id !== update.id && arch === update.arch && !CLOSED.includes(state))
    .toSorted(
      (a, b) =>
        order(a) - order(b) ||
        a.available_version.localeCompare(b.available_version, 'en', { numeric: true }),
    );
}
