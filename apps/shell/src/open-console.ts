import type { Acl } from '@tidegate/capability';
import type { Serve } from './backend.ts';
import { appCommands } from './commands/app.ts';
import { eventCommands } from './commands/event.ts';
import { imageCommands } from './commands/image.ts';
import { pathCommands } from './commands/path.ts';
import { resourceCommands } from './commands/resources.ts';
import { windowCommands } from './commands/window.ts';
import { apiCommands } from './console/api-commands.ts';
import { fileCommands } from './console/file-commands.ts';
import type { ServerConnection } from './console/server-connection.ts';
import { type Created, createShell } from './core/create-shell.ts';
import type { Log } from './log.ts';
import { type BackendSettings, openBackend } from './open-backend.ts';
import { consoleTransportScript } from './page/page-script.ts';
import { findDownloadFolder } from './places.ts';

export interface ConsoleShell {
  readonly acl: Acl;
  readonly log: Log;
  readonly serve: Serve;
  readonly connection: ServerConnection;
  readonly backend: BackendSettings;
  /** Aborted when the shell ends. */
  readonly ending: AbortSignal;
  /** The name of the server, for window titles. */
  readonly serverName: string;
}

/** The shell with all commands, over the chosen backend. No window is open yet. */
export function openConsoleShell({
  acl,
  log,
  serve,
  connection,
  backend,
  serverName,
  ending,
}: ConsoleShell): Promise<Created> {
  return createShell({
    acl,
    log,
    now: backend.now,
    titleOf: (document) => `${document} (${serverName})`,
    commands(parts) {
      const windows = windowCommands(parts);
      const commands = {
        ...appCommands(parts),
        ...eventCommands(parts.events),
        ...pathCommands(backend.env),
        ...imageCommands(parts.resources),
        ...resourceCommands(parts.resources),
        ...windows.commands,
        ...apiCommands(connection, parts.events, ending),
        ...fileCommands({ folder: findDownloadFolder(backend.env), now: backend.now }),
      };
      return { commands, byBackend: windows.byBackend };
    },
    openBackend: (events) =>
      openBackend(backend, { serve, events, pageScript: consoleTransportScript() }, log),
  });
}
