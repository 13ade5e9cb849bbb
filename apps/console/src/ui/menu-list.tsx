import * as Radix from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';
import type { Action } from '../actions/actions.ts';
import { ActionLine } from './action-line.tsx';

/** An open menu of actions. Not modal: a modal menu would add a style element to the page, which the policy forbids. */
export function MenuList({ trigger, actions }: { trigger: ReactNode; actions: readonly Action[] }) {
  return (
    <Radix.Root modal={false} defaultOpen>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align="end"
          sideOffset={4}
          className="z-40 min-w-48 rounded-lg border border-line bg-raised p-1 shadow-float"
        >
          {actions.map((action) => (
            <Radix.Item
              key={action.id}
              disabled={!action.isAllowed}
              onSelect={action.run}
              className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 py-1 outline-none data-disabled:cursor-not-allowed data-disabled:text-muted data-highlighted:bg-accent-soft"
            >
              <ActionLine action={action} />
            </Radix.Item>
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
