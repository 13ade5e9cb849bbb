import { rm } from 'node:fs/promises';
import { runTool } from './run-tool.ts';

let copies = 0;

/**
 * Copies a folder beside itself, with its owners and modes. The answer brings it back as it is now, at the same path:
 * a tenth of the time that package managers take to make it again. Rejects when `cp` fails.
 */
export async function keepOriginal(folder: string): Promise<() => Promise<void>> {
  const original = `${folder}.original-${++copies}`;
  await runTool('cp', ['-a', folder, original]);
  return async () => {
    await rm(folder, { recursive: true, force: true });
    await runTool('cp', ['-a', original, folder]);
  };
}
