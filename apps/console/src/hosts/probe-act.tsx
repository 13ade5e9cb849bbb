import type { CommandQueued } from '@tidegate/protocol/agents-api';
import { Activity } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';

/** Has the host run its probes now. */
export function ProbeAct({ id }: { id: string }): ReactNode {
  const { may } = useSession();
  const [isAsking, setIsAsking] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  if (!may('approver')) return null;
  const ask = async () => {
    setIsAsking(true);
    setError(null);
    try {
      await post<CommandQueued>(`/api/v1/agents/${encodeURIComponent(id)}/probes/run`);
      toast('The host runs its probes after its next check-in.');
    } catch (caught) {
      setError(caught instanceof Error ? caught : new Error(String(caught)));
    } finally {
      setIsAsking(false);
      void queryClient.invalidateQueries({ queryKey: ['commands'] });
    }
  };
  return (
    <div className="mt-3 space-y-2">
      {error && <ErrorPanel error={error} retry={null} />}
      <Button
        icon={<Activity aria-hidden="true" className="size-4" />}
        disabled={isAsking}
        onClick={() => void ask()}
      >
        Run the probes
      </Button>
    </div>
  );
}
