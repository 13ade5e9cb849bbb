import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { Ellipsis, RefreshCw } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { HostProgress } from '../commands/progress-panel.tsx';
import { SetAsidePanel } from '../divergences/set-aside-panel.tsx';
import { Button } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { ClonePanel } from './clone-panel.tsx';
import { ConditionPanel } from './condition-panel.tsx';
import { FaultsPanel } from './faults-panel.tsx';
import { HeartbeatPanel } from './heartbeat-panel.tsx';
import { type HostAct, HostActDialog } from './host-acts.tsx';
import { HostBadges } from './host-badges.tsx';
import { CredentialsPanel, SystemPanel } from './host-facts.tsx';
import { hostFiles } from './host-files.ts';
import { HostCommands, HostTimeline, HostUpdates } from './host-lists.tsx';
import { ProbesPanel } from './probes-panel.tsx';
import { RestartPanel } from './restart-panel.tsx';
import { WithheldPanel } from './withheld-panel.tsx';

/** One host: its state, the acts on it, and its history. */
export function HostPage() {
  const { id } = useParams({ strict: false });
  const query = useQuery(oneQuery<AgentItem>('hosts', `/api/v1/agents/${encodeURIComponent(id ?? '')}`));
  const { data: host, error, refetch } = query;
  if (host) return <Host key={host.id} host={host} />;
  return (
    <Page title="Host">
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
    </Page>
  );
}

function Host({ host }: { host: AgentItem }) {
  const { may, groups } = useSession();
  const [act, setAct] = useState<HostAct | null>(null);
  const verbs = useMemo((): readonly Action[] => {
    const isReachable = host.status !== 'revoked';
    const verb = (id: HostAct, label: string, shortcut?: string): Action => ({
      ...{ id: `host ${id}`, group: 'This host', label, isAllowed: isReachable },
      ...(shortcut ? { shortcut } : {}),
      run: () => setAct(id),
    });
    return [
      ...(may('approver') ? [verb('scan', 'Scan now', 's')] : []),
      ...(may('admin')
        ? [
            { ...verb('group', 'Set group'), isAllowed: true },
            { ...verb('tags', 'Change tags'), isAllowed: true },
            verb('polling', 'Set the check-in interval'),
            verb('rebind', 'Rebind to another machine'),
            verb('revoke', 'Revoke the credentials'),
          ]
        : []),
      { ...verb('evidence', 'Evidence for an auditor'), isAllowed: true },
      ...hostFiles({ id: host.id, hostname: host.hostname }),
    ];
  }, [host.id, host.hostname, host.status, may]);
  useActions(verbs);
  const scan = verbs.find(({ id }) => id === 'host scan');
  const others = verbs.filter((one) => one !== scan);

  return (
    <Page
      title={host.hostname}
      lead={<HostBadges host={host} />}
      actions={
        <>
          {scan && (
            <Button
              icon={<RefreshCw aria-hidden="true" className="size-4" />}
              shortcut={scan.shortcut}
              disabled={!scan.isAllowed}
              onClick={scan.run}
            >
              {scan.label}
            </Button>
          )}
          <Menu
            actions={others}
            trigger={<Button icon={<Ellipsis aria-hidden="true" className="size-4" />}>More</Button>}
          />
        </>
      }
    >
      <div className="space-y-4">
        <FaultsPanel host={host} onAct={setAct} />
        {host.clone_suspected && (
          <ClonePanel clone={host.clone_suspected} mayAct={may('admin')} onAct={setAct} />
        )}
        {groups === null && <SetAsidePanel canTrust={may('approver')} agentId={host.id} />}
        <HostUpdates agentId={host.id} />
        <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
          <SystemPanel host={host} />
          <CredentialsPanel host={host} />
        </div>
        <HostProgress id={host.id} />
        <WithheldPanel id={host.id} />
        <ConditionPanel id={host.id} />
        <ProbesPanel id={host.id} />
        <RestartPanel id={host.id} />
        <HeartbeatPanel id={host.id} />
        <HostCommands agentId={host.id} />
        <HostTimeline agentId={host.id} />
      </div>
      {act && <HostActDialog act={act} host={host} onClose={() => setAct(null)} />}
    </Page>
  );
}
