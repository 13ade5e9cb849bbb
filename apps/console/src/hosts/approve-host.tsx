import { useQuery } from '@tanstack/react-query';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { Check, ShieldCheck } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { BulkApproval } from '../updates/bulk-approval.tsx';
import type { Chosen } from '../updates/bulk-rules.ts';

/** The most updates whose names are known here; the page limit of the API. */
const NAMED_MAX = 200;

/** Approves what waits on a host and passes the gate, as one transaction of each package manager. */
export function ApproveHost({ agentId }: { agentId: string }): ReactNode {
  const { may } = useSession();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const pending = { agent_id: agentId, state: 'pending' };
  const secure = { ...pending, security: 'true' };
  const all = useQuery(listQuery<UpdateItem>('updates', '/api/v1/updates', { ...pending, limit: NAMED_MAX }));
  const security = useQuery(listQuery<UpdateItem>('updates', '/api/v1/updates', { ...secure, limit: 1 }));
  const { items = [], total = 0 } = all.data ?? {};
  // The result stays on screen although nothing is left to approve.
  if (!may('approver') || (total === 0 && chosen === null)) return null;
  const securityTotal = security.data?.total ?? 0;
  return (
    <div className="flex flex-wrap gap-2 border-b border-line px-4 py-2.5">
      {total > 0 && (
        <Button
          icon={<Check aria-hidden="true" className="size-4" />}
          onClick={() => setChosen({ kind: 'filter', filter: pending, count: total })}
        >
          Approve all that is clear
        </Button>
      )}
      {securityTotal > 0 && securityTotal < total && (
        <Button
          icon={<ShieldCheck aria-hidden="true" className="size-4" />}
          onClick={() => setChosen({ kind: 'filter', filter: secure, count: securityTotal })}
        >
          Approve security updates only
        </Button>
      )}
      {chosen && (
        <BulkApproval
          chosen={chosen}
          passing
          known={new Map(items.map((item) => [item.id, item]))}
          onClose={() => setChosen(null)}
          onDone={() => {}}
        />
      )}
    </div>
  );
}
