import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { PolicyDetail, PolicyPreview } from '@tidegate/protocol/policies-api';
import { Ban } from 'lucide-react';
import { useState } from 'react';
import { remove } from '../api/client.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { POLICIES } from './policies-page.tsx';
import { PolicyOutlook } from './policy-outlook.tsx';
import { LastRun, PolicyState } from './policy-state.tsx';
import { endText, scopeText, termLines } from './policy-words.ts';
import { WindowsPanel } from './windows-panel.tsx';

/** One policy: its hosts, what it would approve now, what it leaves and why, its runs and its versions. */
export function PolicyPage() {
  const { id = '' } = useParams({ strict: false });
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { data: policy, error, refetch } = useQuery(oneQuery<PolicyDetail>('updates', `${POLICIES}/${id}`));
  const outlook = useQuery(oneQuery<PolicyPreview>('updates', `${POLICIES}/${id}/preview`));
  if (!policy)
    return (
      <Page title="Policy">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton />}
      </Page>
    );
  const ended = endText(policy);
  const canRevoke = may('approver') && policy.state === 'in_force';
  return (
    <Page
      title={policy.name}
      lead={<PolicyState policy={policy} />}
      actions={
        canRevoke && (
          <Button onClick={() => setAsking(true)} icon={<Ban aria-hidden="true" className="size-4" />}>
            Revoke the policy
          </Button>
        )
      }
    >
      {ended !== null && (
        <p role="status" className="mb-4 rounded-lg border border-line bg-surface px-4 py-2">
          {ended}
        </p>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)_26rem] items-start gap-4 max-lg:grid-cols-1">
        <PolicyOutlook policy={policy} query={outlook} />
        <div className="space-y-4">
          <Panel title="Policy">
            <div className="space-y-3">
              <p className="whitespace-pre-line break-words">{policy.text}</p>
              <Facts facts={factsOf(policy)} />
            </div>
          </Panel>
          <Panel title="It approves">
            <ul className="list-disc space-y-1 pl-5">
              {termLines(policy.terms).map((line) => (
                <li key={line} className="break-words">
                  {line}
                </li>
              ))}
            </ul>
          </Panel>
          <WindowsPanel policy={policy} preview={outlook.data ?? null} />
          <Versions policy={policy} />
        </div>
      </div>
      {isAsking && <RevokePolicy policy={policy} onClose={() => setAsking(false)} />}
    </Page>
  );
}

function factsOf(policy: PolicyDetail): (readonly [string, React.ReactNode])[] {
  const { scope, author, created_at, ends_at, last_run: run, version, sha256 } = policy;
  return [
    ['Hosts', scopeText(scope)],
    ['Author', author],
    ['Published', <Time key="published" at={created_at} />],
    ['Ends', <Time key="ends" at={ends_at} />],
    ['Last run', <LastRun key="run" run={run} />],
    ['Version', version],
    ['Digest', <CopyText key="digest" text={sha256} />],
  ];
}

function Versions({ policy: { versions } }: { policy: PolicyDetail }) {
  return (
    <Panel title="Versions">
      <ol className="space-y-2">
        {versions.map((one) => (
          <li key={one.sha256} className="break-words">
            Version {one.version} by {one.author}, <Time at={one.created_at} />
            {one.end_reason !== null && (
              <span className="text-muted">
                {' '}
                ({one.end_reason.replaceAll('_', ' ')} <Time at={one.ended_at} />)
              </span>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function RevokePolicy({ policy, onClose }: { policy: PolicyDetail; onClose: () => void }) {
  const revoke = async () => {
    await remove(`${POLICIES}/${policy.id}`);
    toast(`The policy ${policy.name} is revoked.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`Revoke the policy ${policy.name}`}
      confirm="Revoke the policy"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>It approves nothing any more. What it approved keeps its approval.</p>
    </ConfirmDialog>
  );
}
