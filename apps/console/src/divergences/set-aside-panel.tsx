import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { HostSetAside } from '@tidegate/protocol/artifacts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { ShieldAlert } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';

const PATH = '/api/v1/artifacts/hosts-set-aside';

const ROLE_WORDS: Readonly<Record<HostSetAside['role'], string>> = {
  newcomer: 'contradicted other hosts about more packages than one host may',
  opponent: 'was contradicted by several hosts about many packages',
};

/** Hosts whose package reports are ignored, with a way to trust them again; renders nothing if there are none. */
export function SetAsidePanel({ canTrust, agentId }: { canTrust: boolean; agentId?: string }) {
  const query = agentId === undefined ? {} : { agent_id: agentId };
  const { data } = useQuery(listQuery<HostSetAside>('updates', PATH, query));
  const [chosen, setChosen] = useState<HostSetAside | null>(null);
  if (!data || data.total === 0) return null;
  const more = data.total - data.items.length;
  return (
    <section
      aria-labelledby="set-aside"
      className="mb-4 rounded-xl border border-bad/50 bg-bad-soft px-4 py-3"
    >
      <h2 id="set-aside" className="flex items-center gap-2 font-semibold text-bad">
        <ShieldAlert aria-hidden="true" className="size-4" /> Package reports from these hosts are ignored
      </h2>
      <p className="mt-1">
        They can install only what another host, the registry or an operator confirms. Check each host and its
        mirror: it may be compromised, or it may be the only one that gets the right files.
      </p>
      <ul className="mt-2 space-y-1.5">
        {data.items.map((host) => (
          <li key={host.agent_id} className="flex flex-wrap items-center gap-3">
            <span className="min-w-0 flex-1">
              <Link to="/hosts/$id" params={{ id: host.agent_id }} className="underline">
                {host.hostname}
              </Link>{' '}
              {ROLE_WORDS[host.role]}, <Time at={host.since} />
            </span>
            {canTrust && (
              <Button aria-label={`Trust again: ${isolated(host.hostname)}`} onClick={() => setChosen(host)}>
                Trust again
              </Button>
            )}
          </li>
        ))}
      </ul>
      {more > 0 && <p className="mt-2">And {more.toLocaleString('en')} more.</p>}
      {chosen && <TrustDialog host={chosen} onClose={() => setChosen(null)} />}
    </section>
  );
}

function TrustDialog({ host, onClose }: { host: HostSetAside; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget).get('reason');
    setBusy(true);
    setFailure(undefined);
    try {
      await withStepUp(() => post<null>(`${PATH}/${host.agent_id}/trust`, { reason }));
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      toast(`Package reports from ${isolated(host.hostname)} count again.`);
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Trust ${isolated(host.hostname)} again`} onClose={onClose}>
      <form className="space-y-4" onSubmit={(event) => void submit(event)}>
        <p>Its package reports count again, within the same limits.</p>
        <TextArea
          label="Reason"
          name="reason"
          hint="What you found out. It is recorded in the event log."
          required
          maxLength={4_096}
          error={failure}
        />
        <DialogFooter>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" tone="danger" busy={busy}>
            Trust it again
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
