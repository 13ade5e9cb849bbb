import type { AgentItem, CloneSuspected } from '@tidegate/protocol/agents-api';
import { Copy } from 'lucide-react';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Time } from '../ui/time.tsx';
import type { HostAct } from './host-acts.tsx';

type StepAct = CloneSuspected['next_steps'][number]['act'];

const WORDS: Readonly<Record<StepAct, string>> = {
  dismiss: 'It is one machine',
  rebind: 'Rebind to the next machine',
  revoke: 'Revoke the credentials',
};

/** Shows the evidence of a suspected clone and the next steps that the server suggests. */
export function ClonePanel({
  clone,
  mayAct,
  onAct,
}: {
  clone: NonNullable<AgentItem['clone_suspected']>;
  mayAct: boolean;
  onAct: (act: HostAct) => void;
}) {
  return (
    <section
      id="clone"
      aria-labelledby="clone-title"
      className="rounded-xl border border-bad/50 bg-bad-soft px-4 py-3"
    >
      <h2 id="clone-title" className="flex items-center gap-2 font-semibold text-bad">
        <Copy aria-hidden="true" className="size-4" /> Two machines seem to use the identity of this host
      </h2>
      <p className="mt-1">
        Detected <Time at={clone.since} />. The evidence, in order:
      </p>
      <div className="my-3 rounded-lg border border-line bg-surface">
        <DataTable label="Evidence" columns={EVIDENCE} rows={clone.evidence} rowId={idOf} />
      </div>
      <ul className="space-y-1.5">
        {clone.next_steps.map(({ act, when }) => (
          <li key={act} className="flex flex-wrap items-center gap-3">
            {mayAct && (
              <Button tone={act === 'revoke' ? 'danger' : 'plain'} onClick={() => onAct(act)}>
                {WORDS[act]}
              </Button>
            )}
            <span className="min-w-0 flex-1 text-text">
              {!mayAct && <strong>{WORDS[act]}: </strong>}
              {when}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Seen = CloneSuspected['evidence'][number];

const idOf = ({ at, boot_id, address }: Seen) => `${at} ${boot_id} ${address}`;

const EVIDENCE: readonly Column<Seen>[] = [
  { id: 'at', header: 'When', cell: ({ at }) => <Time at={at} /> },
  {
    id: 'boot',
    header: 'Boot',
    cell: ({ boot_id: id }) => <CopyText text={id} short={shortened(id)} label="Copy the boot id" />,
  },
  {
    id: 'address',
    header: 'Address',
    cell: ({ address }) => <span className="mono">{address ?? 'not known'}</span>,
  },
];

const SHORT = 18;

function shortened(text: string): string {
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}
