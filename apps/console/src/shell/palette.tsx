import { useMemo } from 'react';
import { useOfferedActions } from '../actions/registry.ts';
import { CommandPalette } from '../ui/command-palette.tsx';

/** Everything that can be done now, by typing a part of its name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const offered = useOfferedActions();
  const actions = useMemo(() => offered.filter(({ isAllowed }) => isAllowed), [offered]);
  return <CommandPalette actions={actions} onClose={onClose} />;
}
