import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAgentsFolder } from '../../scripts/release/agents-folder.ts';
import { buildPackage } from '../../scripts/release/os-packages.ts';
import type { ReleaseSigner } from '../../scripts/release/release-signer.ts';
import { signRpm } from '../../scripts/release/sign-rpm.ts';
import { TARGETS } from '../../scripts/release/targets.ts';
import { filesOf, putText } from '../../scripts/release/tree.ts';

const LINUX = ['linux-x64', 'linux-arm64'] as const;

/** The agents folder of a release whose agent is a few bytes. */
export async function buildSmallAgents(
  folder: string,
  about: {
    version: string;
    signer: ReleaseSigner | null;
    epochSeconds: number;
    earlier?: readonly string[];
  },
): Promise<void> {
  const made = `${folder}.made`;
  mkdirSync(made, { recursive: true });
  for (const target of LINUX) {
    const tree = join(made, target);
    putText(tree, 'usr/bin/tidegate-agent', `#!/bin/sh\necho ${about.version}\n`, 0o755);
    for (const format of ['deb', 'rpm'] as const) {
      const out = join(made, `tidegate-agent_${about.version}_${target}.${format}`);
      buildPackage(format, {
        ...{
          ...about,
          product: 'tidegate-agent',
          arch: TARGETS[target].packageArch,
          tree,
          files: filesOf(tree),
        },
        ...{ isFast: true, out },
      });
      if (format === 'rpm' && about.signer !== null) await signRpm(out, about.signer);
    }
    writeFileSync(join(made, `tidegate-agent_${about.version}_${target}.tar.gz`), 'an archive');
  }
  await writeAgentsFolder(folder, { earlier: [], ...about, made, targets: LINUX });
}
