import type { Action } from '../actions/actions.ts';
import { Kbd } from './button.tsx';

/** An action as every list shows it: icon, name, keys. */
export function ActionLine({ action: { icon, label, shortcut } }: { action: Action }) {
  return (
    <>
      {icon && (
        <span aria-hidden="true" className="[&>svg]:size-4">
          {icon}
        </span>
      )}
      <span className="flex-1">{label}</span>
      {shortcut && (
        <span className="max-md:hidden">
          <Kbd text={shortcut} />
        </span>
      )}
    </>
  );
}
