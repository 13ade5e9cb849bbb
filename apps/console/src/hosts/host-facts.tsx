import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { CircleCheck, CircleX, KeyRound, Link2, Link2Off } from 'lucide-react';
import { keySetQuery } from '../signing-keys/key-set-query.ts';
import { Badge } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { duration } from '../ui/relative-time-rules.ts';
import { Time } from '../ui/time.tsx';
import { keySetWord, uptimeText } from './host-rules.ts';
import { TagList } from './tag-list.tsx';

/** What the host reports about itself; no decision of the server relies on it. */
export function SystemPanel({ host }: { host: AgentItem }) {
  const { os } = host;
  return (
    <Panel title="System">
      <Facts
        facts={[
          ['System', `${os.id} ${os.version_id} (${os.family}, ${os.arch})`],
          ['Agent', host.agent_version],
          ['Uptime', uptimeText(host.uptime_seconds)],
          [
            'Pending updates',
            <Link key="updates" to="/updates" search={{ agent_id: host.id, state: 'pending' }}>
              {host.pending_updates.toLocaleString('en')}
            </Link>,
          ],
          [
            'Packages',
            <Link key="packages" to="/hosts/$id/inventory" params={{ id: host.id }}>
              What is installed
            </Link>,
          ],
          [
            'History',
            <Link key="history" to="/hosts/$id/history" params={{ id: host.id }}>
              What changed, and what was installed on a day
            </Link>,
          ],
          ['Group', host.group ?? <span className="text-muted">none</span>],
          ['Tags', <TagList key="tags" tags={host.tags} />],
          ['Check-in interval', intervalText(host.check_in_interval_seconds)],
          ['Last seen', <Time key="seen" at={host.last_seen_at} />],
          ['Enrolled', <Time key="enrolled" at={host.enrolled_at} />],
        ]}
      />
    </Panel>
  );
}

/** The host's binding, credentials and key set. */
export function CredentialsPanel({ host }: { host: AgentItem }) {
  const { data } = useQuery(keySetQuery);
  const newest = data?.version ?? null;
  const isBehind = newest !== null && host.key_set_version < newest;
  return (
    <Panel title="Credentials and keys">
      <Facts
        facts={[
          ['Id', <CopyText key="id" text={host.id} label="Copy the id" />],
          ['Binding', <Binding key="binding" host={host} />],
          [
            'Machine id',
            host.machine_id === null ? (
              <span key="machine" className="text-muted">
                none: the next machine that checks in is bound
              </span>
            ) : (
              <CopyText key="machine" text={host.machine_id} label="Copy the machine id" />
            ),
          ],
          ['Bound since', <Time key="bound" at={host.bound_at} empty="not bound" />],
          ['Credentials', <Family key="family" host={host} />],
          [
            'Key set',
            <Badge
              key="keys"
              tone={newest === null ? 'unknown' : isBehind ? 'warn' : 'good'}
              icon={<KeyRound />}
            >
              {keySetWord(host.key_set_version, newest)}
            </Badge>,
          ],
        ]}
      />
    </Panel>
  );
}

function Binding({ host }: { host: AgentItem }) {
  return host.machine_id === null ? (
    <Badge tone="warn" icon={<Link2Off />}>
      bound to no machine
    </Badge>
  ) : (
    <Badge tone="good" icon={<Link2 />}>
      bound to one machine
    </Badge>
  );
}

function Family({ host }: { host: AgentItem }) {
  return host.status === 'revoked' ? (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Badge tone="bad" icon={<CircleX />}>
        revoked
      </Badge>
      <Time at={host.revoked_at} empty="" />
    </span>
  ) : (
    <Badge tone="good" icon={<CircleCheck />}>
      not revoked
    </Badge>
  );
}

const MINUTE_SECONDS = 60;

function intervalText(seconds: number): string {
  return seconds < MINUTE_SECONDS || seconds % MINUTE_SECONDS !== 0
    ? `${seconds} s`
    : duration(seconds * 1_000);
}
