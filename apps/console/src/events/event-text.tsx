import { narrativeOf } from '@tidegate/protocol/event-narratives';
import { isolated } from '@tidegate/protocol/isolated';
import { Fold, RawJson } from '../ui/fold.tsx';
import { CutNote } from './cut-note.tsx';
import type { EventItem } from './event-item.ts';

/** An event as a sentence, with its stored content folded below. */
export function EventText({ event }: { event: EventItem }) {
  return (
    <div className="py-1 whitespace-normal">
      <p className="break-words">{narrativeOf(event)}</p>
      <Fold
        summary={
          <span className="text-[0.88rem]">
            Details<span className="sr-only">: type and stored content</span>
          </span>
        }
      >
        <p className="mb-1 px-1 text-[0.88rem] text-muted">
          <span className="mono">{event.type}</span> · {event.component}
          {event.actor !== null && ` · ${isolated(event.actor)}`}
        </p>
        <CutNote event={event} />
        <RawJson value={event.content} />
      </Fold>
    </div>
  );
}
