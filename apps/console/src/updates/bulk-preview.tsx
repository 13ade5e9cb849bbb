import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { BulkPreview, TransactionPreview } from '@tidegate/protocol/approvals-api';
import { counted } from '@tidegate/protocol/count-words';
import { post } from '../api/client.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Fold } from '../ui/fold.tsx';
import { type Chosen, type Known, previewBody, previewText } from './bulk-rules.ts';
import { NameOf } from './name-of.tsx';
import { bytesText, SKIP_REASONS, STOP_TITLES } from './update-words.ts';

/** What the approval would do now; the gate judges again when it is sent. */
export function useBulkPreview(chosen: Chosen) {
  return useQuery({
    queryKey: ['updates', 'preview', chosen],
    queryFn: () => post<BulkPreview>('/api/v1/updates/preview', previewBody(chosen)),
    refetchInterval: false,
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

/** The transactions of an approval, largest first, and what is left out of them. */
export function BulkPreviewPanel({ preview, known }: { preview: BulkPreview; known: Known }) {
  const { sets, transactions, unplanned, left_out: leftOut, left_out_count: count } = preview;
  const [only, ...others] = sets;
  return (
    <div className="space-y-2">
      <p role="status" className="font-medium">
        {previewText(preview)}
      </p>
      {unplanned > 0 && (
        <p className="text-muted">
          {unplanned === transactions ? 'Each' : counted(unplanned, 'transaction')} is planned by its host
          first, and approved automatically if the gate finds the plan clear.
        </p>
      )}
      {only && others.length === 0 && <TransactionText one={only} />}
      {only && others.length > 0 && (
        <Fold
          summary={
            sets.length < transactions
              ? `The largest ${sets.length} of ${counted(transactions, 'transaction')}`
              : 'The transactions'
          }
        >
          <ul className="divide-y divide-line rounded-lg border border-line">
            {sets.map((one) => (
              <li
                key={`${one.agent_id} ${one.ecosystem} ${one.place} ${one.plan === null}`}
                className="px-3 py-2"
              >
                <Link to="/hosts/$id" params={{ id: one.agent_id }} className="font-medium">
                  {one.hostname}
                </Link>{' '}
                <span className="text-muted">
                  {MANAGERS[one.ecosystem]}
                  {one.place && ` in ${one.place}`}, {counted(one.update_ids.length, 'update')}
                </span>
                <TransactionText one={one} />
              </li>
            ))}
          </ul>
        </Fold>
      )}
      {count > 0 && (
        <Fold summary={`Left out: ${counted(count, 'update')}`}>
          <ul>
            {leftOut.map(({ update_id: id, code }) => (
              <li key={id}>
                <NameOf id={id} known={known} />: {reasonText(code)}
              </li>
            ))}
            {leftOut.length < count && (
              <li className="text-muted">and {counted(count - leftOut.length, 'more')}</li>
            )}
          </ul>
        </Fold>
      )}
    </div>
  );
}

/** Removals first: they are what an operator must not overlook. */
function TransactionText({ one: { plan } }: { one: TransactionPreview }) {
  if (plan === null) return <p className="text-muted">The plan is not known yet.</p>;
  const { counts, removes, installs, downgrades } = plan;
  return (
    <div>
      <NameLine label="Removes" names={removes} count={counts.remove} isLoud />
      <NameLine label="Downgrades" names={downgrades} count={counts.downgrade} isLoud />
      <NameLine label="New packages" names={installs} count={counts.install} />
      <p>
        Upgrades {counted(counts.upgrade, 'package')}; downloads {bytesText(plan.download_bytes)}.
      </p>
    </div>
  );
}

const NAMES_SHOWN = 12;

function NameLine(props: { label: string; names: readonly string[]; count: number; isLoud?: boolean }) {
  const { label, names, count, isLoud = false } = props;
  if (count === 0) return null;
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const more = count > NAMES_SHOWN ? ` and ${count - NAMES_SHOWN} more` : '';
  return (
    <p className={`break-words ${isLoud ? 'font-medium text-warn' : ''}`}>
      {label} {count}: {shown}
      {more}
    </p>
  );
}

const TITLES: Readonly<Record<string, string>> = STOP_TITLES;

function reasonText(code: string): string {
  return TITLES[code] ?? SKIP_REASONS[code] ?? code;
}
