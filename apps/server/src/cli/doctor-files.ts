import { keptConnections, openFilesMax } from '../platform/http/open-connections.ts';
import type { Finding } from './doctor-rules.ts';

/**
 * Compares the fleet with the connections that a server keeps under this limit of open files, which is that of the doctor:
 * a server started in another way may have another one.
 */
export function judgeOpenFiles(enrolled: number, filesMax: number | null = openFilesMax()): Finding {
  const check = 'open files';
  if (filesMax === null) return { check, level: 'ok', detail: 'the system tells no limit' };
  const kept = keptConnections(filesMax);
  const size = `a limit of ${filesMax}, as here, keeps the connections of ${kept} hosts; ${enrolled} are enrolled`;
  if (enrolled <= kept) return { check, level: 'ok', detail: size };
  return {
    check,
    level: 'warn',
    detail: `${size}: the others open a new connection for each check-in`,
    todo: `raise the limit to ${Math.ceil(enrolled / keptConnections(100)) * 100} or more where the server is started (LimitNOFILE, ulimit -n), or divide the hosts among several servers`,
  };
}
