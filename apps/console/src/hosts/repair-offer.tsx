import type { CommandQueued } from '@tidegate/protocol/agents-api';
import { counted } from '@tidegate/protocol/count-words';
import { REPAIR_SCRIPTS, type Repair, type RepairPackage } from '@tidegate/protocol/repairs';
import { Wrench } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';

/** Digits of a digest that are shown; all of it can be copied. */
const DIGEST_CHARS = 12;

/** Orders the repair that a host offers, after showing which scripts of which packages it runs. */
export function RepairOffer({
  agentId,
  repair,
  sha256,
}: {
  agentId: string;
  repair: Repair;
  sha256: string;
}): ReactNode {
  const { may } = useSession();
  // What is asked for is what was shown when the dialog was opened, even if the host reports something else meanwhile.
  const [asked, setAsked] = useState<{ repair: Repair; sha256: string } | null>(null);
  if (!may('approver')) return null;
  const { packages } = repair;
  return (
    <>
      <Button
        icon={<Wrench aria-hidden="true" className="size-4" />}
        onClick={() => setAsked({ repair, sha256 })}
      >
        {packages.length === 0
          ? 'Complete the package database…'
          : `Finish ${counted(packages.length, 'package')}…`}
      </Button>
      {asked && <RepairDialog agentId={agentId} {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function RepairDialog({
  agentId,
  repair: { packages },
  sha256,
  onClose,
}: {
  agentId: string;
  repair: Repair;
  sha256: string;
  onClose: () => void;
}) {
  const order = async () => {
    const body = { repair_sha256: sha256 };
    try {
      await withStepUp(() => post<CommandQueued>(`/api/v1/agents/${agentId}/repair`, body));
    } finally {
      void queryClient.invalidateQueries({ queryKey: ['hosts'] });
      void queryClient.invalidateQueries({ queryKey: ['commands'] });
    }
    toast('The host repairs its packages at its next check-in.');
  };
  return (
    <ConfirmDialog
      title={packages.length === 0 ? 'Complete the package database' : 'Finish these packages'}
      confirm="Sign the repair"
      onConfirm={order}
      onClose={onClose}
    >
      {packages.length === 0 ? (
        <p>dpkg was interrupted while it wrote its database. It completes that, and runs no script.</p>
      ) : (
        <>
          <p>
            The scripts below run as root on the host, and no others. The host compares every package, version
            and script once more, and runs nothing if one differs.
          </p>
          <ul aria-label="Packages to finish" className="max-h-64 space-y-2 overflow-y-auto">
            {packages.map((each) => (
              <PackageLine key={`${each.name}:${each.arch}`} {...each} />
            ))}
          </ul>
        </>
      )}
      <p className="text-muted">Configuration files that were changed on the host are kept.</p>
    </ConfirmDialog>
  );
}

function PackageLine({ name, arch, version, state, scripts }: RepairPackage) {
  const named = REPAIR_SCRIPTS.flatMap((script) => {
    const digest = scripts[script];
    return digest === undefined ? [] : [{ script, digest }];
  });
  return (
    <li className="break-words">
      <span className="mono">
        <bdi>{name}</bdi> <bdi>{version}</bdi>
      </span>{' '}
      ({arch}): {state}
      {named.length === 0 && <span className="text-muted">, no script</span>}
      {named.map(({ script, digest }) => (
        <span key={script} className="block text-muted">
          {script}{' '}
          <CopyText
            text={digest}
            short={`${digest.slice(0, DIGEST_CHARS)}…`}
            label={`Copy the SHA-256 of ${script}`}
          />
        </span>
      ))}
    </li>
  );
}
