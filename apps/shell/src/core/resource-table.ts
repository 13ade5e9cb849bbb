/** The most resources of one webview: an image has at most 4 MiB (see commands/image.ts). */
export const RESOURCES_MAX = 64;

/** An image that the shell holds for a page. */
export interface ImageResource {
  readonly width: number;
  readonly height: number;
  /** Four bytes for each pixel: red, green, blue, alpha. */
  readonly rgba: Uint8Array;
}

/** The resources of pages, by number; each webview sees only its own. */
export interface ResourceTable {
  /** Null if the webview holds too many. */
  add(webview: string, resource: ImageResource): number | null;
  get(webview: string, id: number): ImageResource | null;
  close(webview: string, id: number): boolean;
  forget(webview: string): void;
}

export function createResourceTable(): ResourceTable {
  const held = new Map<string, Map<number, ImageResource>>();
  let lastId = 0;
  return {
    add(webview, resource) {
      const own = held.get(webview) ?? new Map<number, ImageResource>();
      if (own.size >= RESOURCES_MAX) return null;
      held.set(webview, own.set(++lastId, resource));
      return lastId;
    },
    get: (webview, id) => held.get(webview)?.get(id) ?? null,
    close: (webview, id) => held.get(webview)?.delete(id) ?? false,
    forget: (webview) => void held.delete(webview),
  };
}
