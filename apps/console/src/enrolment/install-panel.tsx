import type { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { TriangleAlert } from 'lucide-react';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Fold } from '../ui/fold.tsx';
import { Panel } from '../ui/page.tsx';
import { CommandSteps } from './command-steps.tsx';
import { enrolSteps, isReachableSafely } from './enrolment-rules.ts';
import { JoinedHosts } from './joined-hosts.tsx';

/** Shows a new token, once, in the commands for a host, and the hosts that joined with it. */
export function InstallPanel({ token, onClose }: { token: CreatedRegistrationToken; onClose: () => void }) {
  const { origin } = location;
  return (
    <Panel
      title={`Run this on the ${token.seats === 1 ? 'host' : `hosts (up to ${token.seats})`} as root`}
      aside={
        <Button tone="quiet" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="space-y-4">
        <CommandSteps steps={enrolSteps({ origin, token: token.token })} />
        <p className="flex items-start gap-2 text-warn">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          The token is shown only once. Anyone who has it can enrol hosts until it is used up, expired or
          withdrawn.
        </p>
        {!isReachableSafely(origin) && (
          <p className="flex items-start gap-2 text-warn">
            <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
            This console was opened over http, so others on the network could read the host's tokens. Open it
            over https and create the token there.
          </p>
        )}
        <JoinedHosts token={token} />
        <Fold summary="If the agent is not on the host yet, or does not start by itself">
          <ul className="list-disc space-y-2 pl-5">
            <li>
              The agent is one file. On the server's machine, run{' '}
              <CopyText text="npm run build:agent" label="Copy the command" /> to build{' '}
              <code>apps/agent/dist/tidegate-agent</code>, then copy it to{' '}
              <code>/usr/bin/tidegate-agent</code> on the host.
            </li>
            <li>
              The units in <code>packaging/agent/systemd</code> run it as its own user, and its executor as
              root without network. To try it without them:{' '}
              <CopyText text="tidegate-agent run" label="Copy the command" />
            </li>
            <li>
              <CopyText text="tidegate-agent doctor" label="Copy the command" /> reports what prevents it from
              working.
            </li>
          </ul>
        </Fold>
      </div>
    </Panel>
  );
}
