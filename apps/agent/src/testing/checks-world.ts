import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { ownUid } from '../platform/file-layer.ts';

/** What root writes on a host: probes, hooks and the programs that they name. */
export interface ChecksWorld extends Disposable {
  folder: string;
  policy: PolicyPlace;
  probe(name: string, content: object): string;
  hook(name: string, content: object): string;
  /** A shell script of root's. Returns its path. */
  script(name: string, text: string): string;
}

export function createChecksWorld(): ChecksWorld {
  const temporary = tmpDir();
  return {
    ...checksIn(temporary.path),
    [Symbol.dispose]: temporary.remove,
  };
}

export function checksIn(folder: string): Omit<ChecksWorld, keyof Disposable> {
  const write = (path: string, text: string, mode: number) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    writeFileSync(path, text, { mode });
    chmodSync(path, mode);
    return path;
  };
  return {
    folder,
    policy: { path: join(folder, 'policy.json'), ownerUid: ownUid(), top: folder },
    probe: (name, content) => write(join(folder, 'probes.d', `${name}.json`), textOf(content), 0o644),
    hook: (name, content) => write(join(folder, 'hooks.d', `${name}.json`), textOf(content), 0o644),
    script: (name, text) => write(join(folder, 'programs', name), `#!/bin/sh\n${text}\n`, 0o755),
  };
}

function textOf(content: object): string {
  return JSON.stringify({ v: 1, ...content });
}
