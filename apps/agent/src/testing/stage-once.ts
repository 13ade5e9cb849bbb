import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { doOnce } from '@tidegate/testkit/do-once';
import { runTool } from '@tidegate/testkit/run-tool';
import type { EcosystemDriver, HostPaths, PlanTarget } from '../ecosystems/ecosystem.ts';

export type StagingDriver = Pick<EcosystemDriver, 'plan' | 'fetch'>;

/** A plan, and a folder with its files. */
interface Staged {
  stage: string;
  actions: PlanAction[];
}

type Stage = (paths: HostPaths, ...updates: PlanTarget[]) => Promise<Staged>;

/** Plans and fetches as the agent would, into a folder of its own below `folder`. */
export function stageAnew(folder: string, driver: StagingDriver): Stage {
  return async (paths, ...updates) => {
    const outcome = await driver.plan(paths, { updates });
    if (!outcome.ok) throw new Error(outcome.reason);
    const { actions } = outcome.plan;
    const stage = await newStage(folder);
    const fetched = await driver.fetch(paths, { actions, directory: stage });
    if (!fetched.ok) throw new Error(fetched.reason);
    return { stage, actions };
  };
}

/**
 * The same, but plans and fetches the same updates of a host once for all tests: each gets copies of the files, to change as
 * it likes. For tests of what is done with a plan, not of planning.
 */
export function stageOnce(folder: string, driver: StagingDriver): Stage {
  const planOnce = doOnce(() => [], stageAnew(folder, driver));
  return async (paths, ...updates) => {
    const planned = await planOnce(paths, ...updates);
    const stage = await newStage(folder);
    await runTool('cp', ['-a', `${planned.stage}/.`, stage]);
    return { stage, actions: structuredClone(planned.actions) };
  };
}

function newStage(folder: string): Promise<string> {
  return mkdtemp(join(folder, 'stage-'));
}
