import { narrativeOf } from '@tidegate/protocol/event-narratives';
import { Fold, RawJson } from '../ui/fold.tsx';
import type { EventItem } from './event-item.ts';

/** An event as a sentence, with its stored content folded below. */
export function EventText({ event }: { event: EventItem }) {
  return (
    <div className="py-1 whitespace-normal">
      <p className="break-words">{narrativeOf(event)}</p>
      <Fold
        summary={
          <span className="text-[0.88rem]">
            <span className="mono">{event.type}</span> · {event.component}
            {event.actor !== null && ` · ${event.actor}`}
            <span className="sr-only">: stored content</span>
          </span>
        }
      >
        <RawJson value={event.content} />
      </Fold>
    </div>
  );
}
