import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { PolicyDetail, PolicyPreview } from '@tidegate/protocol/policies-api';
import { Ban, Pencil, RefreshCw } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { get } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { MissedWindow } from './missed-window.tsx';
import { PolicyBacktestView } from './policy-backtest.tsx';
import { HostsPanel } from './policy-hosts.tsx';
import { ApprovedUpdates, LeftUpdates, ReasonCounts } from './policy-preview.tsx';
import { POLICIES, previewText, runText, scopeText, termFacts } from './policy-rules.ts';
import { PolicyState } from './policy-state.tsx';
import { PolicyVersions } from './policy-versions.tsx';
import { PublishPolicy } from './publish-policy.tsx';
import { RevokePolicy } from './revoke-policy.tsx';
import { unprovenText } from './ring-words.ts';
import { RingsView } from './rings-preview.tsx';
import { WindowTimesTable } from './window-times.tsx';

/** One policy: its terms, what it would do now, what it did, and its versions. */
export function PolicyPage() {
  const { id = '' } = useParams({ strict: false });
  const path = `${POLICIES}/${encodeURIComponent(id)}`;
  const { data: policy, error, refetch } = useQuery(oneQuery<PolicyDetail>('updates', path));
  if (policy) return <OnePolicy key={policy.id} policy={policy} />;
  return (
    <Page title="Policy">
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
    </Page>
  );
}

/** Judged when the page is opened or refreshed, not on every change of the fleet: it is the costliest read. */
function usePreview({ id, sha256 }: PolicyDetail) {
  return useQuery({
    queryKey: ['policy-preview', id, sha256],
    queryFn: ({ signal }) => get<PolicyPreview>(`${POLICIES}/${id}/preview`, { signal }),
    refetchInterval: false,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
}

function OnePolicy({ policy }: { policy: PolicyDetail }) {
  const { may } = useSession();
  const mayPublish = may('approver');
  const isInForce = policy.state === 'in_force';
  // The version that the form began with: its digest is what the change replaces.
  const [changing, setChanging] = useState<PolicyDetail | null>(null);
  const [isRevoking, setRevoking] = useState(false);
  const preview = usePreview(policy);
  return (
    <Page
      title={policy.name}
      lead={<PolicyState policy={policy} />}
      actions={
        mayPublish && (
          <>
            <Button
              onClick={() => setChanging(policy)}
              icon={<Pencil aria-hidden="true" className="size-4" />}
            >
              {isInForce ? 'Change' : 'Change and publish again'}
            </Button>
            {isInForce && (
              <Button onClick={() => setRevoking(true)} icon={<Ban aria-hidden="true" className="size-4" />}>
                Revoke
              </Button>
            )}
          </>
        )
      }
    >
      <div className="space-y-4 [&>[role=alert]]:mx-0">
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <Panel title="Terms">
            <Facts facts={termsOf(policy)} />
          </Panel>
          <div className="space-y-4">
            <Panel title="Last run">
              <LastRun policy={policy} />
            </Panel>
            <HostsPanel scope={policy.scope} preview={preview.data} />
          </div>
        </div>
        {policy.rings && <RingsPanel policy={policy} preview={preview.data} />}
        {preview.error && <ErrorPanel error={preview.error} retry={() => void preview.refetch()} />}
        {preview.isPending && !preview.error && <Skeleton />}
        {preview.data && (
          <>
            <Panel title="Windows">
              {!isInForce && <p className="mb-2">The policy is not in force. These would be its windows:</p>}
              <WindowTimesTable preview={preview.data} windows={policy.windows} />
              {preview.data.missed && <MissedWindow missed={preview.data.missed} />}
            </Panel>
            <Panel
              title={policyTitle(policy, preview.data)}
              aside={
                <span className="inline-flex items-center gap-1 text-muted">
                  as of <Time at={new Date(preview.dataUpdatedAt).toISOString()} />
                  <IconButton label="Judge again" onClick={() => void preview.refetch()}>
                    <RefreshCw
                      aria-hidden="true"
                      className={`size-3.5 ${preview.isFetching ? 'animate-spin' : ''}`}
                    />
                  </IconButton>
                </span>
              }
            >
              <div className="space-y-2">
                <p role="status">{previewText(preview.data, policy.windows)}.</p>
                <ApprovedUpdates preview={preview.data} linked />
              </div>
            </Panel>
            <Panel title="What it leaves to people">
              <LeftUpdates preview={preview.data} linked />
            </Panel>
          </>
        )}
        <Panel title="What it would have done">
          <PolicyBacktestView
            id={[policy.id, policy.sha256]}
            ask={(signal) => get<PolicyBacktest>(`${POLICIES}/${policy.id}/backtest`, { signal })}
            linked
          />
        </Panel>
        <PolicyVersions versions={policy.versions} />
      </div>
      {changing && (
        <PublishPolicy policy={changing} onPublished={() => undefined} onClose={() => setChanging(null)} />
      )}
      {isRevoking && <RevokePolicy policy={policy} onClose={() => setRevoking(false)} />}
    </Page>
  );
}

function RingsPanel({ policy, preview }: { policy: PolicyDetail; preview: PolicyPreview | undefined }) {
  const { id, rings = [], unproven } = policy;
  return (
    <Panel
      title="Rings"
      aside={
        <Link to="/rollouts" search={{ policy: id }}>
          See its rollouts
        </Link>
      }
    >
      <RingsView rings={rings} preview={preview?.rings} />
      <p className="mt-3">What no earlier ring has installed: {unprovenText(unproven)}.</p>
    </Panel>
  );
}

function policyTitle({ state, windows }: PolicyDetail, { open_window: open }: PolicyPreview): string {
  if (state !== 'in_force') return 'What it would approve if it were in force';
  return windows.length > 0 && open === null
    ? 'What it would approve if a window were open'
    : 'What it would approve now';
}

function termsOf(policy: PolicyDetail): (readonly [string, ReactNode])[] {
  return [
    [
      'What it is for',
      <span key="text" className="whitespace-pre-wrap">
        {policy.text}
      </span>,
    ],
    ['Hosts', scopeText(policy.scope)],
    ...termFacts(policy),
    ['Restarts of services', restartsText(policy.restart_services)],
    ['Reboots', rebootText(policy.reboot)],
    ...(policy.follow_ups_stopped
      ? [
          [
            'Now',
            `None of both: ${isolated(policy.author)} is no admin any more. An admin can publish it again.`,
          ] as const,
        ]
      : []),
    ['Author', policy.author],
    [
      'Ends',
      <span key="end">
        {policy.ends_at.slice(0, 10)} (UTC), <Time at={policy.ends_at} />
      </span>,
    ],
  ];
}

function restartsText(restarts: PolicyDetail['restart_services'] = 'never'): string {
  if (restarts === 'never') return 'It asks for none.';
  return 'It asks for those of services that still run replaced files after its updates.';
}

function rebootText(reboot: PolicyDetail['reboot']): string {
  const { when = 'never', warn_minutes: minutes = 0 } = reboot ?? {};
  if (when === 'never') return 'It asks for none.';
  const hosts = when === 'needed' ? 'that need it after its updates' : 'after each of its updates';
  return `It asks for the reboot of hosts ${hosts}; users are warned ${counted(minutes, 'minute')} before.`;
}

function LastRun({ policy: { last_run: run } }: { policy: PolicyDetail }) {
  if (run === null) return <p className="text-muted">It has not run yet.</p>;
  return (
    <div className="space-y-1">
      <p>
        <Time at={run.at} />, on {counted(run.hosts, 'host')}: {runText(run)}.
      </p>
      <ReasonCounts reasons={run.stopped_by} />
    </div>
  );
}
