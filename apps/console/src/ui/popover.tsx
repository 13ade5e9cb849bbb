import * as Radix from '@radix-ui/react-popover';
import { createContext, type ReactNode, useContext } from 'react';

/** The open dialog around a popover: what is outside of it is behind it, and out of reach. */
const Place = createContext<HTMLElement | null>(null);
export const PopoverPlace = Place.Provider;

/** A small panel beside its button. */
export function Popover({
  trigger,
  label,
  children,
}: {
  trigger: ReactNode;
  label: string;
  children: ReactNode;
}) {
  const place = useContext(Place);
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal container={place}>
        <Radix.Content
          aria-label={label}
          align="start"
          sideOffset={4}
          className="z-40 rounded-lg border border-line bg-raised p-3 shadow-float"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
