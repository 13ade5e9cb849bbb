import { Check } from 'typebox/value';
import { findContainer, hasMountedMachineId } from './container.ts';
import { MachineIdSource, readMachineId } from './machine-id.ts';

export type ChosenSource =
  | { ok: true; source: MachineIdSource; machineId: string; sha256: string }
  | { ok: false; detail: string };

const ALLOWED = 'auto, machine-id, dmi, cloud, machine-id+dmi or file:/path';

/**
 * Chooses the source of the machine id at enrolment; the choice is stored, so that later starts use the same one.
 * `auto` is /etc/machine-id, but fails in a container, where that file is the image's: all containers of the
 * image would be one machine (T3).
 */
export function chooseMachineIdSource(requested: string, root = '/'): ChosenSource {
  if (requested !== 'auto') {
    if (Check(MachineIdSource, requested)) return read(requested, root);
    return { ok: false, detail: `"${requested}" is no source of a machine id; it is ${ALLOWED}` };
  }
  const container = findContainer(root);
  if (container === null || hasMountedMachineId(root)) return read('machine-id', root);
  return {
    ok: false,
    detail:
      `this is a container (${container}): its /etc/machine-id may be that of its image, which every copy shares. ` +
      'Name a file that holds an id of this container alone (--machine-id-source file:/path), mount one over ' +
      '/etc/machine-id, or, where this container made its own on its first start, say --machine-id-source machine-id',
  };
}

function read(source: MachineIdSource, root: string): ChosenSource {
  const machine = readMachineId(source, root);
  return machine.ok ? { ...machine, source } : machine;
}

/** A warning about a source on this host, or null: it may be shared, or a better one may exist. */
export function doubtMachineIdSource(source: MachineIdSource, root = '/'): string | null {
  const container = findContainer(root);
  if (container !== null) return doubtInContainer(source, { container, root });
  if (source !== 'machine-id') return null;
  if (readMachineId('machine-id+dmi', root).ok) {
    return 'a copied disk would have it too: machine-id+dmi tells the copy apart (enrol again to change it)';
  }
  if (readMachineId('cloud', root).ok) {
    return 'a copied disk would have it too: cloud tells the copy apart (enrol again to change it)';
  }
  return null;
}

function doubtInContainer(
  source: MachineIdSource,
  { container, root }: { container: string; root: string },
): string | null {
  const isMounted = hasMountedMachineId(root);
  switch (source) {
    case 'machine-id':
    case 'machine-id+dmi':
      if (isMounted) return null;
      return `this is a container (${container}): other containers of its image share /etc/machine-id`;
    case 'dmi':
    case 'cloud':
      return `this is a container (${container}): it shares this id with its host and the host's other containers`;
  }
  return null;
}
