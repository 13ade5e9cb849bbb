import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { CircleCheck, CircleDashed } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { isReachableSafely } from '../enrolment/enrolment-rules.ts';
import { InstallPanel } from '../enrolment/install-panel.tsx';
import { NewTokenForm } from '../enrolment/new-token-form.tsx';
import { PolicyChoice, policyQuery } from '../gate-policy/policy-choice.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Page } from '../ui/page.tsx';

/** The first steps after the setup: the operator, the address of the server, the first host. */
export function WelcomePage() {
  const { session } = useSession();
  const { data: hosts } = useQuery(listQuery<AgentItem>('hosts', '/api/v1/agents', { limit: 1 }));
  const { data: policy } = useQuery(policyQuery);
  const [token, setToken] = useState<CreatedRegistrationToken | null>(null);
  const { origin } = location;
  const hasHost = (hosts?.total ?? 0) > 0;
  return (
    <Page title="Welcome to Tidegate" lead="Four steps until the first host reports its packages.">
      <ol className="max-w-4xl space-y-4">
        <Step number={1} title="The first operator" isDone>
          <p>
            You are <bdi>{session?.operator.username}</bdi>, an admin. Add a{' '}
            <Link to="/account">second factor</Link> now or later, and add colleagues under{' '}
            <Link to="/operators">Operators</Link>.
          </p>
        </Step>
        <Step number={2} title="The address" isDone={isReachableSafely(origin)}>
          <p>
            Hosts reach this server at <CopyText text={origin} label="Copy the address" />, the address you
            opened. To use another one, open the console there and set <code>SERVICE_BASE_URL</code> to it.
          </p>
          {!isReachableSafely(origin) && (
            <p className="text-warn">
              This address is not https, so others on the network could read what hosts send. Put a proxy with
              a certificate in front of the server, or give the server one (<code>SERVICE_TLS_CERT</code>,{' '}
              <code>SERVICE_TLS_KEY</code>).
            </p>
          )}
        </Step>
        <Step
          number={3}
          title="What stops an update"
          isDone={policy !== undefined && policy.set_by !== 'default'}
        >
          <PolicyChoice />
          <p className="text-muted">
            You can change this later under <Link to="/settings">Settings</Link>, with the numbers of your own
            hosts.
          </p>
        </Step>
        <Step number={4} title="The first host" isDone={hasHost}>
          {token === null ? (
            <NewTokenForm onCreated={setToken} />
          ) : (
            <InstallPanel token={token} onClose={() => setToken(null)} />
          )}
          {hasHost && (
            <p role="status">
              The first host is here: <Link to="/updates">see its updates</Link>.
            </p>
          )}
        </Step>
      </ol>
    </Page>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: ReactNode;
}

function Step({ number, title, isDone, children }: StepProps) {
  return (
    <li className="space-y-3 rounded-xl border border-line bg-surface p-4">
      <h2 className="flex items-center gap-2 font-semibold">
        {isDone ? (
          <CircleCheck aria-hidden="true" className="size-5 text-good" />
        ) : (
          <CircleDashed aria-hidden="true" className="size-5 text-muted" />
        )}
        {number}. {title}
        <span className="sr-only">{isDone ? ', done' : ', to do'}</span>
      </h2>
      {children}
    </li>
  );
}
