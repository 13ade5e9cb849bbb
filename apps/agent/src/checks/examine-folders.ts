import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../platform/file-layer.ts';
import { type Finding, faulty, sound } from './finding.ts';

const OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const PERMISSIONS = 0o777;

/** A folder or file of the agent: its own are for its user alone, those of root can be read but not written. */
interface Place {
  path: string;
  forbidden: number;
  /** Missing is fine. */
  isOptional: boolean;
  ownerUid: number | null;
}

/** Checks owner and mode of the agent's folder, its configuration, and the folders that root uses. */
export function examineFolders(places: {
  folder: string;
  configName: string;
  executorState: string;
  /** The user that owns the agent's folder has to own its files too. */
  rootUid: number | null;
}): Finding {
  const check = 'folders';
  const own = statOf(places.folder);
  if (typeof own === 'string')
    return faulty(check, `${places.folder} cannot be read (${own}): run this as root`);
  const all: Place[] = [
    { path: places.folder, forbidden: WRITABLE_BY_OTHERS, isOptional: false, ownerUid: null },
    {
      ...{ path: join(places.folder, places.configName), forbidden: OTHERS },
      ...{ isOptional: false, ownerUid: own.uid },
    },
    {
      ...{ path: places.executorState, forbidden: WRITABLE_BY_OTHERS },
      ...{ isOptional: true, ownerUid: places.rootUid },
    },
  ];
  const faults = all.flatMap(faultOf);
  return faults.length === 0
    ? sound(check, `${places.folder} belongs to user ${own.uid}, and nobody else can change it`)
    : faulty(check, faults.join('; '));
}

function faultOf({ path, forbidden, isOptional, ownerUid }: Place): string[] {
  const stat = statOf(path);
  if (typeof stat === 'string') {
    return isOptional ? [] : [`${path} cannot be read (${stat}): run this as root, or enrol again`];
  }
  const faults: string[] = [];
  if (ownerUid !== null && stat.uid !== ownerUid) {
    faults.push(`${path} belongs to user ${stat.uid}: "chown ${ownerUid} ${path}"`);
  }
  if ((stat.mode & forbidden) !== 0) {
    const mode = (stat.mode & PERMISSIONS).toString(8);
    const wanted = (stat.mode & PERMISSIONS & ~forbidden).toString(8);
    faults.push(`${path} has mode ${mode}, so other users can use it: "chmod ${wanted} ${path}"`);
  }
  return faults;
}

function statOf(path: string): Stats | string {
  try {
    return lstatSync(path);
  } catch (error) {
    return errorCode(error);
  }
}
