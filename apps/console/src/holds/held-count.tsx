import { Link } from '@tanstack/react-router';
import type { HeldBack } from '@tidegate/protocol/holds-api';
import { heldText, securityHeldText } from './held-rules.ts';

/** `3 held until 1 March 2027`, with security updates among them, in a cell of a list. */
export function HeldCount({ held }: { held: HeldBack }) {
  const security = securityHeldText(held);
  return (
    <span className="block max-w-56">
      <Link to="/holds">{heldText(held)}</Link>
      {security !== '' && <span className="block font-medium text-warn">{security}</span>}
    </span>
  );
}
