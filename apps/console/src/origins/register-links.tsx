import { Link } from '@tanstack/react-router';
import type { ThirdPartyPackage } from '@tidegate/protocol/approvals-api';
import { searchOf } from './origin-rules.ts';

/** Links to the form for each origin that is not registered and whose key the host names. */
export function RegisterLinks({
  packages,
  ecosystem,
}: {
  packages: readonly ThirdPartyPackage[];
  ecosystem: string;
}) {
  const unregistered = packages.filter(({ standing }) => standing === 'not_registered');
  const origins = new Map(unregistered.map((one) => [`${one.suites.join(', ')}\n${one.key}`, one]));
  if (origins.size === 0) return null;
  return (
    <ul className="mt-1 space-y-1">
      {[...origins].map(([id, one]) => (
        <li key={id}>
          <Link to="/origins" search={searchOf(one, ecosystem) ?? {}}>
            Register {one.suites.join(', ')}
          </Link>
        </li>
      ))}
    </ul>
  );
}
