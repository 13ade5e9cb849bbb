import { type ComponentProps, cloneElement, lazy, type ReactElement, Suspense, useState } from 'react';
import type { Action } from '../actions/actions.ts';

const load = () => import('./menu-list.tsx');
const MenuList = lazy(async () => ({ default: (await load()).MenuList }));

/**
 * A button that opens a menu of actions. The code of menus is loaded when the pointer or the focus comes near, so that
 * the first load does not wait for it.
 */
export function Menu({
  trigger,
  actions,
}: {
  trigger: ReactElement<ComponentProps<'button'>>;
  actions: readonly Action[];
}) {
  const [isOpened, setOpened] = useState(false);
  const closed = cloneElement(trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: load,
    onFocus: load,
    onClick: () => setOpened(true),
    onKeyDown: ({ key }) => {
      if (key === 'ArrowDown') setOpened(true);
    },
  });
  if (!isOpened) return closed;
  return (
    <Suspense fallback={closed}>
      <MenuList trigger={trigger} actions={actions} />
    </Suspense>
  );
}
