import type { BareAgent } from './bare-agent.ts';
import { type ConsoleScene, describeConsole } from './describe-console.ts';
import { addHost, OFFERED, offerUpdates, untilJudged } from './offer-updates.ts';
import { OFTEN } from './server-process.ts';

export const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
export const SECOND = { username: 'otto', password: 'a long enough password', role: 'approver' } as const;
/** The finding of every package named `bad`. */
export const FINDING = 'CVE-2026-1';

/** A console with two more operators, in which each story has its own host. */
export interface UpdateScene extends ConsoleScene {
  /** Creates a host with updates of these packages, which the gate has judged. */
  hostWith(
    names: readonly string[],
    withoutPlan?: readonly string[],
  ): Promise<{
    readonly agent: BareAgent;
    readonly hostname: string;
    readonly idOf: (name: string) => string;
  }>;
  stateOf(updateId: string): Promise<string>;
}

/** Stories about updates: every package named `bad` has a finding. */
export function describeUpdates(
  title: string,
  stories: (scene: UpdateScene) => void,
  env: Record<string, string> = OFTEN,
): void {
  describeConsole(
    title,
    {
      ...{ hosts: 4, env },
      operators: [VIEWER, SECOND],
      prepare: async ({ osv }) => {
        osv.addRecord({ id: FINDING, aliases: ['GHSA-1'], summary: 'A bad parser' }, [
          { ecosystem: 'Debian:12', name: 'bad', versions: [OFFERED.apt] },
        ]);
      },
    },
    (scene) => {
      let hosts = 0;
      stories({
        get stage() {
          return scene.stage;
        },
        get browser() {
          return scene.browser;
        },
        open: scene.open,
        openAs: scene.openAs,
        openUnwatched: scene.openUnwatched,
        async hostWith(names, withoutPlan = []) {
          const { operator, server } = scene.stage;
          const hostname = `story-${++hosts}`;
          const agent = await addHost({ url: server.url, operator }, hostname);
          const idOf = await offerUpdates(agent, { ecosystem: 'apt', names, withoutPlan });
          for (const name of names) if (!withoutPlan.includes(name)) await untilJudged(operator, idOf(name));
          return { agent, hostname, idOf };
        },
        stateOf: async (id) => (await scene.stage.operator.update(id)).state,
      });
    },
  );
}
