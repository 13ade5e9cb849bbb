import { type Browser, startBrowser } from './browser.ts';
import { type ConsoleStage, openConsoleStage } from './console-stage.ts';
import { addHost, OFFERED, offerUpdates, untilJudged } from './offer-updates.ts';

export const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
export const SECOND = { username: 'otto', password: 'a long enough password', role: 'approver' } as const;
/** What is known of every package that is called `bad`. */
export const FINDING = 'CVE-2026-1';

/** A stage with two more operators and a browser, on which each story has a host of its own. */
export interface UpdateScene extends AsyncDisposable {
  readonly stage: ConsoleStage;
  readonly browser: Browser;
  /** A host that was offered updates of these packages, which the gate has judged. */
  hostWith(
    names: readonly string[],
    withoutPlan?: readonly string[],
  ): Promise<{ readonly hostname: string; readonly idOf: (name: string) => string }>;
  stateOf(updateId: string): Promise<string>;
}

export async function openUpdateScene(): Promise<UpdateScene> {
  const stack = new AsyncDisposableStack();
  try {
    const stage = stack.use(await openConsoleStage({ hosts: 4 }));
    const { operator, osv, server } = stage;
    osv.addRecord({ id: FINDING, aliases: ['GHSA-1'], summary: 'A bad parser' }, [
      { ecosystem: 'Debian:12', name: 'bad', versions: [OFFERED.apt] },
    ]);
    for (const one of [VIEWER, SECOND]) await stage.addOperator(one);
    const browser = stack.use(await startBrowser());
    const held = stack.move();
    let hosts = 0;
    return {
      ...{ stage, browser },
      async hostWith(names, withoutPlan = []) {
        const hostname = `story-${++hosts}`;
        const agent = await addHost({ url: server.url, operator }, hostname);
        const idOf = await offerUpdates(agent, { ecosystem: 'apt', names, withoutPlan });
        for (const name of names) if (!withoutPlan.includes(name)) await untilJudged(operator, idOf(name));
        return { hostname, idOf };
      },
      stateOf: async (id) => (await operator.update(id)).state,
      [Symbol.asyncDispose]: () => held.disposeAsync(),
    };
  } finally {
    await stack.disposeAsync();
  }
}
