import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useSession } from '../api/session.ts';
import { Time } from '../ui/time.tsx';

/** Asks an operator without a second factor to add one; after the deadline, redirects to the account page. */
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
        'This server requires a second factor. Add an authenticator app or a passkey here to use the other pages again.'
      ) : (
        <>
          This server requires a second factor. Your deadline to add one: <Time at={dueAt} />.{' '}
          <Link to="/account" className="underline">
            Go to your account
          </Link>
          .
        </>
      )}
    </p>
  );
}
