import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LastBackup, Overview } from '@tidegate/protocol/overview-api';
import type { ResyncState } from '@tidegate/protocol/resync-api';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { post, remove } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { NotYours } from '../shell/whole-fleet.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Field, TextArea } from '../ui/field.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { bytesText } from '../updates/update-words.ts';

const PATH = '/api/v1/admin/resync';
const HOURS_MAX = 72;
const REASON_MAX_CHARS = 1_000;

/** When the last backup was made, whether a restore of the database was detected, and whether a resync is open. */
export function RestorePanel() {
  const { may, groups } = useSession();
  const [open, setOpen] = useState<'open' | 'close' | null>(null);
  const { data, error, isPending, refetch } = useQuery({
    ...oneQuery<ResyncState>('events', PATH),
    enabled: groups === null,
  });
  const { data: overview } = useQuery({
    ...oneQuery<Overview>('overview', '/api/v1/overview'),
    enabled: groups === null && may('admin'),
  });
  const backup = overview?.needs_me.backup;
  if (groups !== null)
    return (
      <Panel title="Backups and restore">
        <NotYours groups={groups} />
      </Panel>
    );
  return (
    <Panel title="Backups and restore">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={2} />}
      {data && (
        <div className="space-y-3">
          <Facts
            facts={[
              ...(backup ? [['Last backup', <Taken key="backup" backup={backup} />] as const] : []),
              ['Restores on record', data.epoch - 1],
              ['Restored from a backup', <Restored key="restored" restored={data.restored} />],
              ...(data.restored || data.resync
                ? [['Resync of hosts', <Resync key="resync" resync={data.resync} />] as const]
                : []),
            ]}
          />
          {backup?.due && <BackupWays />}
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

function Taken({ backup: { taken_at: at, bytes, due } }: { backup: LastBackup }) {
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      {due && (
        <Badge tone="warn" icon={<TriangleAlert />}>
          {at === null ? 'missing' : 'too old'}
        </Badge>
      )}
      <Time at={at} empty="never" />
      {bytes !== null && <span className="text-muted">{bytesText(bytes)}</span>}
    </span>
  );
}

/** What mends a missing backup, on the server: no page can. */
function BackupWays() {
  return (
    <p>
      On the server, <code>tidegate backup</code> makes one, and <code>tidegate-backup.timer</code> one every
      night. After a backup by other means, <code>tidegate backup --record-external</code> notes it here.
    </p>
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
  if (!resync)
    return (
      <span className="text-muted">
        <Term of="resync">closed</Term>
      </span>
    );
  return (
    <span>
      <Term of="resync">open</Term>, closes <Time at={resync.closes_at} />; {resync.resynced} hosts resynced.
      Opened by <bdi>{resync.opened_by}</bdi>: <bdi>{resync.reason}</bdi>
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
