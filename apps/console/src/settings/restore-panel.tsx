import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ResyncState } from '@tidegate/protocol/resync-api';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { post, remove } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { withStepUp } from '../login/step-up.tsx';
import { NotYours } from '../shell/whole-fleet.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Field, TextArea } from '../ui/field.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const PATH = '/api/v1/admin/resync';
const HOURS_MAX = 72;
const REASON_MAX_CHARS = 1_000;

/** Whether a restore of the database was detected, and whether a resync is open. */
export function RestorePanel() {
  const { may, groups } = useSession();
  const [open, setOpen] = useState<'open' | 'close' | null>(null);
  const { data, error, isPending } = useQuery({
    ...oneQuery<ResyncState>('events', PATH),
    enabled: groups === null,
  });
  if (groups !== null)
    return (
      <Panel title="Restore">
        <NotYours groups={groups} />
      </Panel>
    );
  return (
    <Panel title="Restore">
      {error && <ErrorPanel error={error} />}
      {isPending && !error && <Skeleton rows={2} />}
      {data && (
        <div className="space-y-3">
          <Facts
            facts={[
              ['Epoch', data.epoch],
              ['Restored', <Restored key="restored" restored={data.restored} />],
              ['Resync', <Resync key="resync" resync={data.resync} />],
            ]}
          />
          {may('admin') && data.resync && <Button onClick={() => setOpen('close')}>Close the resync</Button>}
          {may('admin') && data.restored && !data.resync && (
            <Button onClick={() => setOpen('open')}>Open a resync</Button>
          )}
        </div>
      )}
      {open === 'open' && <OpenResync hosts={data?.active_families ?? 0} onClose={() => setOpen(null)} />}
      {open === 'close' && (
        <ConfirmDialog
          title="Close the resync"
          confirm="Close it"
          onClose={() => setOpen(null)}
          onConfirm={async () => {
            await withStepUp(() => remove(PATH));
            await queryClient.invalidateQueries({ queryKey: ['events'] });
          }}
        >
          <p>Hosts that renewed since the backup and have not resynced yet must enrol again.</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function Restored({ restored }: Pick<ResyncState, 'restored'>) {
  if (!restored)
    return (
      <Badge tone="good" icon={<CircleCheck />}>
        none detected
      </Badge>
    );
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Badge tone="warn" icon={<TriangleAlert />}>
        detected
      </Badge>
      <Time at={restored.at} />
      <Link to="/events" search={{ type: 'RESTORE_DETECTED' }}>
        What was lost
      </Link>
    </span>
  );
}

function Resync({ resync }: Pick<ResyncState, 'resync'>) {
  if (!resync) return <span className="text-muted">closed</span>;
  return (
    <span>
      open, closes <Time at={resync.closes_at} />; {resync.resynced} hosts resynced. Opened by{' '}
      {resync.opened_by}: {resync.reason}
    </span>
  );
}

function OpenResync({ hosts, onClose }: { hosts: number; onClose: () => void }) {
  const [hours, setHours] = useState('24');
  const [reason, setReason] = useState('');
  return (
    <ConfirmDialog
      title="Open a resync"
      confirm="Open it"
      typed="resync"
      onClose={onClose}
      onConfirm={async () => {
        await withStepUp(() => post<ResyncState>(PATH, { hours: Number(hours), reason }));
        await queryClient.invalidateQueries({ queryKey: ['events'] });
      }}
    >
      <p>
        While the resync is open, a host whose token is newer than this database is accepted once instead of
        being revoked. So is a stolen token. At most {hosts} hosts may need it.
      </p>
      <Field
        label="Hours"
        type="number"
        required
        min={1}
        max={HOURS_MAX}
        hint={`1 to ${HOURS_MAX}`}
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
      <TextArea
        label="Reason"
        required
        maxLength={REASON_MAX_CHARS}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </ConfirmDialog>
  );
}
