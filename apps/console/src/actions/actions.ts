import type { ReactNode } from 'react';

/**
 * An action that an operator can run. The same list feeds menus, the palette, the bulk bar and the shortcuts, so that
 * they cannot differ.
 */
export interface Action {
  readonly id: string;
  readonly label: string;
  /** The heading in the palette and in the list of shortcuts. */
  readonly group: string;
  readonly icon?: ReactNode;
  /** One key (`a`), or keys one after the other (`g u`). */
  readonly shortcut?: string;
  /** Whether it is available now; actions that the role may not run are not in the list at all. */
  readonly isAllowed: boolean;
  readonly run: () => void;
}
