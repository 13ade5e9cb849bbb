import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { findTool } from '@tidegate/testkit/run-tool';
import { describe, expect, test } from 'vitest';

const PACKAGING = join(import.meta.dirname, '../packaging');
const UNITS = globSync('*/systemd/*.service', { cwd: PACKAGING }).sort();

/** The exposure that `systemd-analyze security` may give at most, from 0 (none) to 10. */
const EXPOSURE_MAX: Readonly<Record<string, number>> = {
  'tidegate.service': 2,
  'tidegate-backup.service': 2,
  'tidegate-agent.service': 2,
  'tidegate-observer.service': 2,
  // Reads what a check may need, and becomes the user that the check names.
  'tidegate-probe.service': 4.5,
  // apt's own sandbox takes the rights to change users and owners, and it fetches from the network.
  'tidegate-apt-update.service': 4.5,
  // A package manager writes the system and runs maintainer scripts; it has no network.
  'tidegate-executor.service': 5.5,
  // Runs what root has written for root: a backup or snapshot may need anything.
  'tidegate-hooks@.service': 10,
};

const isMissing = findTool('systemd-analyze') === null;

describe.skipIf(isMissing)(
  `units${isMissing ? ' (systemd-analyze of the package systemd is missing)' : ''}`,
  () => {
    test.each(UNITS)('%s is exposed no more than its row says', (unit) => {
      const limit = EXPOSURE_MAX[basename(unit)] ?? 0;
      const analyze = ['security', '--offline=true', `--threshold=${limit * 10}`, join(PACKAGING, unit)];
      const output = execFileSync('systemd-analyze', analyze, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(output).toContain('Overall exposure level');
    });
  },
);

test.each(UNITS.filter((unit) => unit.startsWith('server/')))(
  '%s leaves no dump of its memory, which has keys',
  (unit) => {
    expect(readFileSync(join(PACKAGING, unit), 'utf8')).toMatch(/^LimitCORE=0$/m);
  },
);

test.each(globSync('*/scripts/*.sh', { cwd: PACKAGING }).sort())(
  '%s is a program for every POSIX shell',
  (script) => {
    execFileSync('dash', ['-n', join(PACKAGING, script)]);
  },
);
