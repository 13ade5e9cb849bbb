import { Type } from 'typebox';
import { type Commands, command, done, failed } from '../core/commands.ts';
import type { ResourceTable } from '../core/resource-table.ts';

export function resourceCommands(resources: ResourceTable): Commands {
  return {
    'core:resources:close': command(
      Type.Object({ id: Type.Integer() }, { additionalProperties: false }),
      ({ id }, { sender }) =>
        resources.close(sender.webview, id) ? done() : failed(`there is no resource ${id}`),
    ),
  };
}
