import type { PlanAction } from '@tidegate/protocol/plan';
import type { WayBack } from '@tidegate/protocol/rollbacks';
import type { UpdatePlan } from '@tidegate/protocol/updates-api';
import { ArrowDown, ArrowUp, Minus, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Panel } from '../ui/page.tsx';
import { ScrollArea } from '../ui/scroll-area.tsx';
import { Time } from '../ui/time.tsx';
import { bytesText } from './update-words.ts';
import { wayBackText } from './way-back-rules.ts';

const SHOWN_AT_FIRST = 50;
const HASH_SHORT = 12;

const ACTIONS: Readonly<Record<PlanAction['action'], ReactNode>> = {
  install: <Plus />,
  upgrade: <ArrowUp />,
  downgrade: <ArrowDown />,
  remove: <Minus />,
};

/** Everything that the host would change, each file with its hash: exactly what an approval signs. */
export function PlanPanel({
  plan,
  wayBack,
  hostname,
}: {
  plan: UpdatePlan | null;
  wayBack: WayBack | null;
  hostname: string;
}) {
  const [isWhole, setWhole] = useState(false);
  if (plan === null)
    return (
      <Panel title="The plan">
        <p className="text-muted">
          {hostname} has not reported yet what this update would change. Approving asks it first; nothing is
          approved until the plan is known and judged.
        </p>
      </Panel>
    );
  const { actions } = plan;
  const shown = isWhole ? actions : actions.slice(0, SHOWN_AT_FIRST);
  return (
    <Panel
      title="The plan"
      aside={
        <span className="text-muted">
          resolved <Time at={plan.resolved_at} />
        </span>
      }
    >
      <ScrollArea label="Packages of the plan" className="sideways">
        <table className="w-full text-left">
          <thead className="text-[0.86rem] text-muted">
            <tr>
              {['Action', 'Package', 'Before', 'After', 'Hash', 'Source', 'Size'].map((header) => (
                <th key={header} scope="col" className="py-1 pr-4 font-medium whitespace-nowrap">
                  {header}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((action) => (
              <ActionRow key={`${action.name}:${action.arch ?? ''}`} action={action} />
            ))}
          </tbody>
        </table>
      </ScrollArea>
      {!isWhole && actions.length > shown.length && (
        <Button className="mt-3" onClick={() => setWhole(true)}>
          Show all {actions.length.toLocaleString('en')}
        </Button>
      )}
      <p className="mt-3 text-muted">Way back: {wayBackText(wayBack)}.</p>
      <p className="mt-1 flex flex-wrap items-center gap-x-2 text-muted">
        Plan hash <CopyText text={plan.plan_sha256} label="Copy the hash" />
      </p>
    </Panel>
  );
}

function ActionRow({ action: one }: { action: PlanAction }) {
  const { artifact } = one;
  const hash = artifact?.sha256 ?? artifact?.sha512;
  return (
    <tr className="border-t border-line align-top">
      <td
        className={`py-1.5 pr-4 whitespace-nowrap ${one.action === 'remove' ? 'font-medium text-warn' : ''}`}
      >
        <span aria-hidden="true" className="mr-1 inline-block align-[-2px] [&>svg]:size-3.5">
          {ACTIONS[one.action]}
        </span>
        {one.action}
      </td>
      <td className="py-1.5 pr-4">
        <span className="font-medium break-all">{one.name}</span>
        {one.arch && <span className="block break-all text-muted">{one.arch}</span>}
      </td>
      <td className="mono py-1.5 pr-4 break-all">
        {one.from_version ?? <span className="text-muted">none</span>}
      </td>
      <td className="mono py-1.5 pr-4 break-all">
        {one.to_version ?? <span className="text-muted">none</span>}
      </td>
      <td className="py-1.5 pr-4 whitespace-nowrap">
        {hash ? (
          <CopyText
            text={hash}
            short={`${hash.slice(0, HASH_SHORT)}…`}
            label={artifact?.sha256 ? 'SHA-256' : 'SHA-512'}
          />
        ) : (
          <span className="text-muted">no download</span>
        )}
      </td>
      <td className="py-1.5 pr-4">
        <span className="break-all">{one.origin ?? <span className="text-muted">not known</span>}</span>
        {one.source_name && (
          <span className="block break-all text-muted">
            built from {one.source_name} {one.source_version}
          </span>
        )}
        {artifact && <span className="mono block break-all text-muted">{artifact.filename}</span>}
      </td>
      <td className="py-1.5 whitespace-nowrap tabular-nums">
        {artifact ? bytesText(artifact.size_bytes) : <span className="text-muted">–</span>}
      </td>
    </tr>
  );
}
