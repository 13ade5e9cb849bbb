import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleHelp } from 'lucide-react';
import { policyQuery } from './policy-choice.tsx';
import { comparisonOf } from './policy-rules.ts';

/** Asks an admin for the decision that nobody has made, with the numbers of the fleet. */
export function UndecidedPolicy() {
  const { data } = useQuery(policyQuery);
  const comparison = data?.set_by === 'default' ? comparisonOf(data) : null;
  if (comparison === null) return null;
  return (
    <p role="status" className="flex items-start gap-2">
      <CircleHelp aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
      <span>
        Nobody has decided which known vulnerabilities stop an update. {comparison}{' '}
        <Link to="/settings">Decide under Settings</Link>
      </span>
    </p>
  );
}
