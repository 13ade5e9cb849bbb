import type { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { TriangleAlert } from 'lucide-react';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Fold } from '../ui/fold.tsx';
import { Panel } from '../ui/page.tsx';
import { CommandSteps } from './command-steps.tsx';
import { enrolSteps, isReachableSafely } from './enrolment-rules.ts';
import { JoinedHosts } from './joined-hosts.tsx';

/** The secret of a new token, this once, in the line that a host needs; below it, who came. */
export function InstallPanel({ token, onClose }: { token: CreatedRegistrationToken; onClose: () => void }) {
  const { origin } = location;
  return (
    <Panel
      title={`Paste this on the ${token.seats === 1 ? 'host' : `hosts (up to ${token.seats})`}, as root`}
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
          The token is shown this once. Whoever has it can enrol a host until it is used up, ended or
          withdrawn.
        </p>
        {!isReachableSafely(origin) && (
          <p className="flex items-start gap-2 text-warn">
            <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
            This console was opened over http: the tokens of the host could be read on the way. Open it over
            https, and make the line there.
          </p>
        )}
        <JoinedHosts token={token} />
        <Fold summary="The agent is not on the host yet, or does not start by itself">
          <ul className="list-disc space-y-2 pl-5">
            <li>
              The agent is one file. On the machine of the server{' '}
              <CopyText text="npm run build:agent" label="Copy the command" /> makes{' '}
              <code>apps/agent/dist/tidegate-agent</code>; copy it to{' '}
              <code>/usr/local/bin/tidegate-agent</code> on the host.
            </li>
            <li>
              The units in <code>examples/systemd</code> run it as its own user, and its executor as root
              without network. To try it without them:{' '}
              <CopyText text="tidegate-agent run" label="Copy the command" />
            </li>
            <li>
              <CopyText text="tidegate-agent doctor" label="Copy the command" /> says what would keep it from
              working.
            </li>
          </ul>
        </Fold>
      </div>
    </Panel>
  );
}
