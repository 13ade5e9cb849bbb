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

/**
 * Plans and fetches as the agent would, the same updates of a host once for all tests: each gets the files in a folder of its
 * own below `folder`, to change as it likes.
 */
export function stageOnce(
  folder: string,
  driver: StagingDriver,
): (paths: HostPaths, ...updates: PlanTarget[]) => Promise<Staged> {
  const newStage = () => mkdtemp(join(folder, 'stage-'));
  const planOnce = doOnce(
    () => [],
    async (paths: HostPaths, ...updates: PlanTarget[]): Promise<Staged> => {
      const outcome = await driver.plan(paths, { updates });
      if (!outcome.ok) throw new Error(outcome.reason);
      const { actions } = outcome.plan;
      const stage = await newStage();
      const fetched = await driver.fetch(paths, { actions, directory: stage });
      if (!fetched.ok) throw new Error(fetched.reason);
      return { stage, actions };
    },
  );
  return async (paths, ...updates) => {
    const planned = await planOnce(paths, ...updates);
    const stage = await newStage();
    await runTool('cp', ['-a', `${planned.stage}/.`, stage]);
    return { stage, actions: structuredClone(planned.actions) };
  };
}
