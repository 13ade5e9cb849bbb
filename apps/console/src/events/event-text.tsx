import { Fold, RawJson } from '../ui/fold.tsx';
import type { EventItem } from './event-item.ts';
import { narrativeOf } from './narrative-rules.ts';

/** An event in a sentence, with what is stored of it folded below. */
export function EventText({ event }: { event: EventItem }) {
  return (
    <div className="py-1 whitespace-normal">
      <p className="break-words">{narrativeOf(event)}</p>
      <Fold
        summary={
          <span className="text-[0.88rem]">
            <span className="mono">{event.type}</span> · {event.component}
            {event.actor !== null && ` · ${event.actor}`}
            <span className="sr-only">: what is stored</span>
          </span>
        }
      >
        <RawJson value={event.content} />
      </Fold>
    </div>
  );
}
