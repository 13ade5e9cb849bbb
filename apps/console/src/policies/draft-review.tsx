import type { PolicyBacktest } from '@tidegate/protocol/backtest-api';
import type { PolicyPreview, PolicyRequest } from '@tidegate/protocol/policies-api';
import { type ReactNode, useEffect, useRef } from 'react';
import { call } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { draftToJudge } from './draft-rules.ts';
import { PolicyBacktestView } from './policy-backtest.tsx';
import { ApprovedUpdates, LeftUpdates } from './policy-preview.tsx';
import { POLICIES, previewText, scopeText } from './policy-rules.ts';
import { RingsView } from './rings-preview.tsx';
import { WindowTimesTable } from './window-times.tsx';

/** What a policy would do, before it is published. */
export function DraftReview({
  request,
  preview,
  onBack,
}: {
  request: PolicyRequest;
  preview: PolicyPreview;
  onBack: () => void;
}) {
  const summary = useRef<HTMLParagraphElement>(null);
  useEffect(() => summary.current?.focus(), []);
  const { scope, terms, windows, rings } = request;
  const { hosts, hosts_shown: shown } = preview;
  const names = shown.map(({ hostname }) => hostname).join(', ');
  return (
    <div className="space-y-4">
      <p ref={summary} tabIndex={-1} className="scroll-mt-28 font-medium">
        {previewText(preview, windows)}.
      </p>
      <Part title="Hosts">
        <p className="max-h-24 overflow-auto break-words" tabIndex={-1}>
          {hosts === 0 ? 'No host is in its scope.' : `${scopeText(scope)}: ${names}`}
          {hosts > shown.length && ` and ${(hosts - shown.length).toLocaleString('en')} more`}
        </p>
      </Part>
      <Part title="Windows">
        <WindowTimesTable preview={preview} windows={windows} />
      </Part>
      {rings && (
        <Part title="Rings">
          <RingsView rings={rings} preview={preview.rings} />
        </Part>
      )}
      <Part title="What it would approve">
        <ApprovedUpdates preview={preview} linked={false} />
      </Part>
      <Part title="What it leaves to people">
        <LeftUpdates preview={preview} linked={false} />
      </Part>
      <Part title="What it would have done">
        <PolicyBacktestView
          id={[scope, terms, rings]}
          ask={(signal) =>
            call<PolicyBacktest>('POST', `${POLICIES}/backtest`, { body: draftToJudge(request), signal })
          }
          linked={false}
        />
      </Part>
      <Button onClick={onBack}>Back to the form</Button>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="space-y-1">
      <h3 className="font-semibold">{title}</h3>
      {children}
    </section>
  );
}
