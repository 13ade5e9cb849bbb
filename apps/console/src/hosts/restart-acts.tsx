import type { CommandQueued } from '@tidegate/protocol/agents-api';
import { counted } from '@tidegate/protocol/count-words';
import { restartableUnits } from '@tidegate/protocol/reboots';
import type { RestartReport } from '@tidegate/protocol/restarts';
import { Power, RotateCw } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { listed } from '../updates/update-words.ts';

/** What an admin can do about old code that runs: restart the services that allow it, or reboot the host. */
export function RestartActs({ id, report }: { id: string; report: RestartReport | null }): ReactNode {
  const { may } = useSession();
  const [asked, setAsked] = useState<'reboot' | readonly string[] | null>(null);
  if (!may('admin')) return null;
  const units = report ? restartableUnits(report.services.stale) : [];
  return (
    <div className="mt-3 flex flex-wrap gap-2">
      {units.length > 0 && (
        <Button
          onClick={() => setAsked(units)}
          icon={<RotateCw aria-hidden="true" className="size-4" />}
        >{`Restart ${counted(units.length, 'service')}…`}</Button>
      )}
      <Button onClick={() => setAsked('reboot')} icon={<Power aria-hidden="true" className="size-4" />}>
        Reboot the host…
      </Button>
      {asked === 'reboot' && (
        <ConfirmDialog
          title="Reboot the host"
          confirm="Sign the reboot"
          onConfirm={() => order(`/api/v1/agents/${id}/reboot`, undefined, 'The host reboots')}
          onClose={() => setAsked(null)}
        >
          <p>
            Logged-in users are warned five minutes before. The host refuses while somebody would be
            disturbed: users who cannot be warned, package managers, and what blocks a shutdown. A blackout
            withholds it.
          </p>
          <p className="text-muted">
            It can be cancelled on the page of the command until the warning is over. The next boot proves it.
          </p>
        </ConfirmDialog>
      )}
      {asked !== null && asked !== 'reboot' && (
        <ConfirmDialog
          title={`Restart ${counted(asked.length, 'service')}`}
          confirm="Sign the restart"
          onConfirm={() =>
            order(`/api/v1/agents/${id}/restart-services`, { units: asked }, 'The host restarts them')
          }
          onClose={() => setAsked(null)}
        >
          <p className="break-words">
            <bdi>{listed(asked)}</bdi>.
          </p>
          <p className="text-muted">The host restarts only those that still run replaced files by then.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

async function order(path: string, body: object | undefined, told: string): Promise<void> {
  try {
    await post<CommandQueued>(path, body);
  } finally {
    void queryClient.invalidateQueries({ queryKey: ['commands'] });
  }
  toast(`${told} after its next check-in.`);
}
