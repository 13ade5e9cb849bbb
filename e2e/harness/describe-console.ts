import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { type Browser, startBrowser } from './browser.ts';
import { browserMissing } from './chromium.ts';
import { type ConsoleStage, type ConsoleStageOptions, openConsoleStage } from './console-stage.ts';

export interface ConsoleSceneOptions extends ConsoleStageOptions {
  /** Operators besides the first. */
  readonly operators?: readonly Parameters<ConsoleStage['addOperator']>[0][];
  /** Prepares the stage before the first story. */
  readonly prepare?: (stage: ConsoleStage) => Promise<void>;
}

/** The stage and browser of the stories of one file; available inside stories only. */
export interface ConsoleScene {
  readonly stage: ConsoleStage;
  readonly browser: Browser;
  /** Opens a window on the console of the stage; see `Browser`. */
  open(options?: Parameters<Browser['open']>[1]): Promise<Page>;
  openAs(operator?: Parameters<Browser['openAs']>[1]): Promise<Page>;
  openUnwatched(): Promise<Page>;
}

/** Console stories on their own stage and browser; skipped, with the reason, if there is no browser. */
export function describeConsole(
  title: string,
  options: ConsoleSceneOptions,
  stories: (scene: ConsoleScene) => void,
): void {
  const missing = browserMissing();
  describe.skipIf(missing !== null)(missing ? `${title} (${missing})` : title, () => {
    let scene: OpenedScene | undefined;
    beforeAll(async () => {
      scene = await openScene(options);
    });
    afterAll(() => scene?.[Symbol.asyncDispose]());
    const opened = () => {
      if (!scene) throw new Error('the scene is only available inside a story');
      return scene;
    };
    stories({
      get stage() {
        return opened().stage;
      },
      get browser() {
        return opened().browser;
      },
      open: (how) => opened().browser.open(opened().stage.server.url, how),
      openAs: (operator) => opened().browser.openAs(opened().stage.server.url, operator),
      openUnwatched: () => opened().browser.openUnwatched(opened().stage.server.url),
    });
  });
}

interface OpenedScene extends AsyncDisposable {
  readonly stage: ConsoleStage;
  readonly browser: Browser;
}

async function openScene(options: ConsoleSceneOptions): Promise<OpenedScene> {
  const { operators = [], prepare, ...stageOptions } = options;
  const stack = new AsyncDisposableStack();
  try {
    const stage = stack.use(await openConsoleStage(stageOptions));
    for (const operator of operators) await stage.addOperator(operator);
    await prepare?.(stage);
    const browser = stack.use(await startBrowser());
    const held = stack.move();
    return { stage, browser, [Symbol.asyncDispose]: () => held.disposeAsync() };
  } finally {
    await stack.disposeAsync();
  }
}
