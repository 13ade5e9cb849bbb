import { Link } from '@tanstack/react-router';
import type { HeldBack } from '@tidegate/protocol/holds-api';
import { None } from '../ui/none.tsx';
import type { UrlFilter } from '../updates/filter-rules.ts';
import { heldCellText, heldText, securityHeldText } from './held-rules.ts';

/** What holds keep back of these updates and until when, with security updates among them, in a cell of a list. */
export function HeldCount({ held, of }: { held: HeldBack; of: UrlFilter }) {
  if (held.updates === 0) return <None />;
  const security = securityHeldText(held);
  return (
    <>
      <Link
        to="/updates"
        search={{ state: 'pending', held: 'true', ...of }}
        title={`${heldText(held)}. ${security}`.trimEnd()}
      >
        {heldCellText(held)}
      </Link>
      {held.security_updates > 0 && (
        <span className="block text-warn">{held.security_updates.toLocaleString('en')} security</span>
      )}
    </>
  );
}
