import type { ReactNode } from 'react';

/**
 * One thing that an operator can do now. The same list feeds menus, the palette, the bulk bar and the shortcuts, so
 * that they cannot differ.
 */
export interface Action {
  readonly id: string;
  readonly label: string;
  /** The heading in the palette, and in the list of shortcuts. */
  readonly group: string;
  readonly icon?: ReactNode;
  /** One key (`a`), or keys one after the other (`g u`). */
  readonly shortcut?: string;
  /** Whether it can be done now; a role that may not do it has no such action at all. */
  readonly isAllowed: boolean;
  readonly run: () => void;
}
