import { join } from 'node:path';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect } from 'vitest';
import { missingLines, readRunbook, runCommands, stepOf, withVariables } from './runbook.ts';
import { RUNBOOKS } from './runbook-host.ts';

const Made = Type.Object({ id: Type.String() });

/** Runs the steps of a runbook that only speak to the server; `names` are the values of its variables. */
export function createFollower(file: string, names: Record<string, string>) {
  const steps = readRunbook(join(RUNBOOKS, file));

  /**
   * Runs every block of a step and compares the output with the expected one. `makes` is the variable that gets the id
   * which the first block prints.
   */
  return async function follow(title: string, makes?: string): Promise<string> {
    const { commands, shown } = stepOf(steps, title);
    const said: string[] = [];
    for (const block of commands) {
      const ran = await runCommands(block, { env: { ...names, PATH: SYSTEM_PATH }, cwd: '/' });
      expect(ran.code, `${title}: ${ran.stdout}\n${ran.stderr}`).toBe(0);
      said.push(ran.stdout);
      if (makes !== undefined && said.length === 1) {
        names[makes] = Value.Parse(Made, JSON.parse(ran.stdout)).id;
      }
    }
    const output = said.join('\n');
    for (const text of shown) {
      expect(missingLines(withVariables(text, names), output), `${title}: ${output}`).toEqual([]);
    }
    return output;
  };
}
