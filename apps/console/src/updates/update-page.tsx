import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { exploitedListText } from '@tidegate/protocol/exploited-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { VulnerabilityCoverage } from '@tidegate/protocol/vulnerabilities-api';
import { RefreshCw } from 'lucide-react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { UpdateProgress } from '../commands/progress-panel.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { SeverityBadge, VerdictBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { DecisionPanel } from './decision-panel.tsx';
import { DecisionsPanel } from './decisions-panel.tsx';
import { FirstSeen, ProvenanceList, ReleaseTimes, Vulnerabilities } from './evidence.tsx';
import { GateChecklist } from './gate-checklist.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { OtherVersions } from './other-versions.tsx';
import { PlanPanel } from './plan-panel.tsx';
import { RollBack } from './roll-back.tsx';
import { Siblings } from './siblings.tsx';
import { Exploitation, SecurityBadge, Versions } from './update-columns.tsx';
import { type UpdateView, updateQuery } from './update-view.ts';
import { bytesText } from './update-words.ts';
import { usePreview } from './use-update-actions.tsx';

/** One update: what the gate says and why, what would change, and what may be decided. */
export function UpdatePage() {
  const { id = '' } = useParams({ strict: false });
  const { data: update, error, refetch } = useQuery(updateQuery(id));
  if (!update)
    return (
      <Page title="Update">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
      </Page>
    );
  return (
    <Page
      title={`${isolated(update.name)} on ${isolated(update.hostname)}`}
      lead={
        <span className="flex flex-wrap items-center gap-2">
          <Versions update={update} wraps />
          {update.security && <SecurityBadge />}
        </span>
      }
    >
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      <div className="grid grid-cols-[minmax(0,1fr)_26rem] items-start gap-4 max-lg:grid-cols-1">
        <div className="space-y-4">
          <GateChecklist update={update} aside={<PreviewButton id={id} />} />
          {update.gate && <Evidence update={update} gate={update.gate} />}
          <PlanPanel plan={update.plan} wayBack={update.way_back} hostname={update.hostname} />
        </div>
        <div className="space-y-4">
          <DecisionPanel key={update.id} update={update} />
          <UpdateProgress id={update.id} />
          <RollBack key={`back ${update.id}`} update={update} />
          <Siblings update={update} />
          <OtherVersions update={update} />
          <AboutPanel update={update} />
          <HistoryPanel id={update.id} history={update.history} />
          <DecisionsPanel updateId={update.id} />
        </div>
      </div>
    </Page>
  );
}

function Evidence({ update, gate }: { update: UpdateView; gate: NonNullable<UpdateView['gate']> }) {
  if (update.plan === null) return null;
  return (
    <>
      <Vulnerabilities gate={gate} of={update} />
      <ReleaseTimes gate={gate} />
      <ProvenanceList gate={gate} />
      <FirstSeen gate={gate} />
    </>
  );
}

function PreviewButton({ id }: { id: string }) {
  const { may } = useSession();
  const preview = usePreview(id);
  if (!may('approver')) return null;
  return (
    <Button
      busy={preview.isPending}
      onClick={() => preview.mutate()}
      icon={<RefreshCw aria-hidden="true" className="size-4" />}
    >
      Check again
    </Button>
  );
}

function AboutPanel({ update }: { update: UpdateView }) {
  const { agent_id: agentId, ecosystem, name } = update;
  return (
    <Panel title="Details">
      <Facts
        facts={[
          [
            'Host',
            <Link key="host" to="/hosts/$id" params={{ id: agentId }}>
              {update.hostname}
            </Link>,
          ],
          [
            'Package',
            <Link key="package" to="/updates" search={{ ecosystem, name }}>
              <bdi>{name}</bdi> on all hosts
            </Link>,
          ],
          ['Package manager', MANAGERS[ecosystem]],
          [
            ecosystem === 'npm' || ecosystem === 'pypi' ? 'Folder' : 'Architecture',
            update.arch ?? <Unknown key="arch" />,
          ],
          ['Origin', update.origin ?? <Unknown key="origin" />],
          ['Size', update.size_bytes === null ? <Unknown key="size" /> : bytesText(update.size_bytes)],
          ['Verdict', <VerdictBadge key="verdict" verdict={update.verdict} />],
          ['Severity', <SeverityBadge key="severity" severity={update.severity} />],
          ['Exploited', <Exploited key="exploited" update={update} />],
          ['Found', <Time key="found" at={update.discovered_at} />],
          [
            'Commands',
            <Link key="commands" to="/commands" search={{ update_id: update.id }}>
              commands of this update
            </Link>,
          ],
          ['Id', <CopyText key="id" text={update.id} />],
        ]}
      />
    </Panel>
  );
}

function Exploited({ update }: { update: UpdateView }) {
  const isKnown = update.known_exploited !== null;
  const { data } = useQuery({
    ...oneQuery<VulnerabilityCoverage>('advisories', '/api/v1/vulnerabilities/coverage'),
    enabled: !isKnown,
  });
  const why = isKnown || !data ? null : exploitedListText(data.exploited_list);
  return (
    <>
      <Exploitation {...update} /> {why !== null && <span className="text-muted">{why}</span>}
    </>
  );
}

function Unknown() {
  return <span className="text-muted">not known</span>;
}
