import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSession } from '../api/session.ts';
import { Time } from '../ui/time.tsx';

/** What the server asks of who has no second factor; once the time is over it leads to the account, where one is added. */
export function FactorDemand() {
  const { session } = useSession();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const dueAt = session?.second_factor_due_at ?? null;
  const hasFactor = session !== null && (session.factors.totp || session.factors.passkeys > 0);
  const isDue = dueAt !== null && !hasFactor && Date.parse(dueAt) <= Date.now();
  useEffect(() => {
    if (isDue && pathname !== '/account') void navigate({ to: '/account' });
  }, [isDue, pathname, navigate]);
  if (dueAt === null || hasFactor) return null;
  return (
    <p role="status" className="border-b border-line bg-warn-soft px-5 py-2 text-warn max-md:px-3">
      {isDue ? (
        'This server asks for a second factor: add an authenticator app or a passkey here, then everything else is open again.'
      ) : (
        <>
          This server asks for a second factor, from <Time at={dueAt} /> on for everything else.{' '}
          <Link to="/account" className="underline">
            Add one to your account
          </Link>
          .
        </>
      )}
    </p>
  );
}
