import { CopyText } from '../ui/copy-text.tsx';
import { Fold } from '../ui/fold.tsx';
import { CommandSteps } from './command-steps.tsx';
import { enrolSteps } from './enrolment-rules.ts';

/** The commands for a host that has the agent already, where this server offers none. */
export function WithoutPackages({
  origin,
  token,
  faults,
}: {
  origin: string;
  token: string;
  faults: readonly string[];
}) {
  return (
    <div className="space-y-4">
      <div className="space-y-1">
        <p>
          This server offers no agent to download, so install it on the host first, from the packages of the
          release.
        </p>
        {faults.map((fault) => (
          <p key={fault} className="text-muted break-words">
            {fault}
          </p>
        ))}
      </div>
      <CommandSteps steps={enrolSteps({ origin, token })} />
      <Fold summary="If you run Tidegate from its repository">
        <p>
          <CopyText text="npm run build:agent" label="Copy the command" /> builds{' '}
          <code>apps/agent/dist/tidegate-agent</code>: copy it to <code>/usr/bin/tidegate-agent</code> on the
          host, and the units in <code>packaging/agent/systemd</code> to <code>/etc/systemd/system</code>. To
          try it without them: <CopyText text="tidegate-agent run" label="Copy the command" />
        </p>
      </Fold>
    </div>
  );
}
