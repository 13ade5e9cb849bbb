import { useMemo } from 'react';
import { useOfferedActions } from '../actions/registry.ts';
import { CommandPalette } from '../ui/command-palette.tsx';

/** The palette of all actions that are available now. */
export function Palette({ onClose }: { onClose: () => void }) {
  const offered = useOfferedActions();
  const actions = useMemo(() => offered.filter(({ isAllowed }) => isAllowed), [offered]);
  return <CommandPalette actions={actions} onClose={onClose} />;
}
