import { Type } from 'typebox';
import { type Commands, command, done, failed } from '../core/commands.ts';
import { type EventHub, LISTENERS_MAX } from '../core/event-hub.ts';
import type { Json } from '../json.ts';

const EventName = Type.String({ pattern: '^[A-Za-z0-9/:_-]{1,200}$' });
const Payload = Type.Optional(Type.Unsafe<Json>(Type.Unknown()));
const Label = Type.String({ maxLength: 100 });
const strict = { additionalProperties: false };

export function eventCommands(events: EventHub): Commands {
  return {
    'core:event:listen': command(Type.Object({ event: EventName }, strict), ({ event }, { sender }) => {
      const id = events.listen(sender, event);
      return id === null ? failed(`a webview has at most ${LISTENERS_MAX} listeners`) : done(id);
    }),
    'core:event:unlisten': command(
      Type.Object({ event: EventName, id: Type.Integer() }, strict),
      ({ id }, { sender }) => {
        events.unlisten(sender, id);
        return done();
      },
    ),
    'core:event:emit': command(
      Type.Object({ event: EventName, payload: Payload }, strict),
      ({ event, payload = null }) => {
        events.emit(event, payload);
        return done();
      },
    ),
    'core:event:emit-to': command(
      Type.Object({ target: Label, event: EventName, payload: Payload }, strict),
      ({ target, event, payload = null }) => {
        events.emit(event, payload, target);
        return done();
      },
    ),
  };
}
