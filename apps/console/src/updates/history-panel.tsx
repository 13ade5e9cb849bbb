import { Link } from '@tanstack/react-router';
import type { UpdateHistoryEntry } from '@tidegate/protocol/updates-api';
import { actorText } from '../ui/actor.ts';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { stateReasonText } from './state-reason.ts';

/** The state changes of the update, newest first. */
export function HistoryPanel({ id, history }: { id: string; history: readonly UpdateHistoryEntry[] }) {
  if (history.length === 0) return null;
  return (
    <Panel
      title="History"
      aside={
        <Link to="/updates/$id/record" params={{ id }}>
          Record to print
        </Link>
      }
    >
      <ol className="space-y-2">
        {history
          .toSorted((a, b) => b.at.localeCompare(a.at))
          .map((entry) => (
            <li key={`${entry.at} ${entry.from_state} ${entry.to_state}`}>
              <p>
                {entry.from_state && <span className="text-muted">{wordsOf(entry.from_state)} to </span>}
                <span className="font-medium">{wordsOf(entry.to_state)}</span>
                <span className="text-muted">
                  {' '}
                  by <bdi>{actorText(entry.actor)}</bdi>, <Time at={entry.at} />
                </span>
              </p>
              {entry.reason && <p className="break-words text-muted">{stateReasonText(entry.reason)}</p>}
            </li>
          ))}
      </ol>
    </Panel>
  );
}

const wordsOf = (state: string) => state.replaceAll('_', ' ');
