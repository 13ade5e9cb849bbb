import { Link } from '@tanstack/react-router';
import type { HeldBack } from '@tidegate/protocol/holds-api';
import { heldCellText, heldText, securityHeldText } from './held-rules.ts';

/** What holds keep back and until when, with security updates among them, in a cell of a list. */
export function HeldCount({ held }: { held: HeldBack }) {
  if (held.updates === 0) return <span className="text-muted">none</span>;
  const security = securityHeldText(held);
  return (
    <>
      <Link to="/holds" title={`${heldText(held)}. ${security}`.trimEnd()}>
        {heldCellText(held)}
      </Link>
      {held.security_updates > 0 && (
        <span className="block text-warn">{held.security_updates.toLocaleString('en')} security</span>
      )}
    </>
  );
}
