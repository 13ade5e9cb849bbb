import { useQuery } from '@tanstack/react-query';
import type { AgentPackages } from '@tidegate/protocol/agent-packages-api';
import type { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { isReachableSafely } from './enrolment-rules.ts';
import { InstallLine } from './install-line.tsx';
import { JoinedHosts } from './joined-hosts.tsx';
import { WithoutPackages } from './without-packages.tsx';

/** Shows a new token, once, in the line for a host, and the hosts that joined with it. */
export function InstallPanel({ token, onClose }: { token: CreatedRegistrationToken; onClose: () => void }) {
  const { origin } = location;
  const { data: packages, error } = useQuery(
    oneQuery<AgentPackages>('enrolment', '/api/v1/admin/agent-packages'),
  );
  const isOffered = packages !== undefined && packages.files.length > 0;
  const place = { origin, token: token.token };
  return (
    <Panel
      title={`Paste this into a root shell on the ${token.seats === 1 ? 'host' : `hosts (up to ${token.seats})`}`}
      aside={
        <Button tone="quiet" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="space-y-4">
        {isOffered && <InstallLine {...place} packages={packages} />}
        {isOffered && packages.faults.map((fault) => <Warning key={fault}>{fault}</Warning>)}
        {packages && !isOffered && <WithoutPackages {...place} faults={packages.faults} />}
        {error && <WithoutPackages {...place} faults={[error.message]} />}
        <Warning>
          The token is shown only once. Anyone who has it can enrol hosts until it is used up, expired or
          withdrawn. Your shell may keep it in its history.
        </Warning>
        {packages?.is_ca_missing && (
          <Warning>
            Hosts will refuse this server's certificate: no public CA issued it, and the server does not have
            the certificate of its CA. Name it in <code>SERVICE_TLS_CA_CERT</code>, restart the server, and
            create the token again.
          </Warning>
        )}
        {!isReachableSafely(origin) && (
          <Warning>
            This console was opened over http, so others on the network could read the host's tokens. Open it
            over https and create the token there.
          </Warning>
        )}
        <JoinedHosts token={token} />
      </div>
    </Panel>
  );
}

function Warning({ children }: { children: ReactNode }) {
  return (
    <p className="flex items-start gap-2 text-warn">
      <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0 break-words">{children}</span>
    </p>
  );
}
