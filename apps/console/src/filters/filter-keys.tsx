import { MoveDown, Search } from 'lucide-react';
import type { RefObject } from 'react';
import type { Action } from '../actions/actions.ts';
import { focusRows } from '../ui/data-table.tsx';

/** The keys between the box of a typed filter and the rows of its list. */
export function filterKeys(group: string, box: RefObject<HTMLInputElement | null>): readonly Action[] {
  return [
    {
      ...{ id: 'search', group, label: 'Filter the list', shortcut: '/', isAllowed: true },
      ...{ icon: <Search />, run: () => box.current?.focus() },
    },
    {
      ...{ id: 'rows', group, label: 'Go to the rows', shortcut: 'j', isAllowed: true },
      ...{ icon: <MoveDown />, run: focusRows },
    },
  ];
}
