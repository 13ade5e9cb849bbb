/** A plugin of the shell itself: its commands, and those that its `default` set allows. */
export interface CorePlugin {
  readonly commands: readonly string[];
  readonly defaults: readonly string[];
}

const EVERY = 'every command';

/**
 * The core plugins (R8), in the order of `core:default`; the commands of `window`, which R8 leaves open, are those of
 * the public manifest that its other rows agree with. Each command `x` has the permissions `allow-x` and `deny-x`.
 */
export const CORE_PLUGINS: Readonly<Record<string, CorePlugin>> = {
  path: plugin(
    `
      basename dirname extname is-absolute join normalize resolve resolve-directory
    `,
    EVERY,
  ),
  event: plugin(
    `
      emit emit-to listen unlisten
    `,
    EVERY,
  ),
  window: plugin(
    `
      activity-name available-monitors center close create current-monitor cursor-position destroy
      get-all-windows hide inner-position inner-size internal-toggle-maximize is-always-on-top
      is-closable is-decorated is-enabled is-focused is-fullscreen is-maximizable is-maximized
      is-minimizable is-minimized is-resizable is-visible maximize minimize monitor-from-point
      outer-position outer-size primary-monitor request-user-attention scale-factor scene-identifier
      set-always-on-bottom set-always-on-top set-background-color set-badge-count set-badge-label
      set-closable set-content-protected set-cursor-grab set-cursor-icon set-cursor-position
      set-cursor-visible set-decorations set-effects set-enabled set-focus set-focusable
      set-fullscreen set-icon set-ignore-cursor-events set-max-size set-maximizable set-min-size
      set-minimizable set-overlay-icon set-position set-progress-bar set-resizable set-shadow
      set-simple-fullscreen set-size set-size-constraints set-skip-taskbar set-theme set-title
      set-title-bar-style set-visible-on-all-workspaces show start-dragging start-resize-dragging
      theme title toggle-maximize unmaximize unminimize
    `,
    `
      get-all-windows scale-factor inner-position outer-position inner-size outer-size is-fullscreen
      is-minimized is-maximized is-focused is-decorated is-resizable is-maximizable is-minimizable
      is-closable is-visible is-enabled title current-monitor primary-monitor monitor-from-point
      available-monitors cursor-position theme is-always-on-top activity-name scene-identifier
      internal-toggle-maximize
    `,
  ),
  webview: plugin(
    `
      clear-all-browsing-data create-webview create-webview-window get-all-webviews
      internal-toggle-devtools print reparent set-webview-auto-resize set-webview-background-color
      set-webview-focus set-webview-position set-webview-size set-webview-zoom webview-close
      webview-hide webview-position webview-show webview-size
    `,
    `
      get-all-webviews webview-position webview-size internal-toggle-devtools
    `,
  ),
  app: plugin(
    `
      app-hide app-show bundle-type default-window-icon fetch-data-store-identifiers identifier name
      register-listener remove-data-store remove-listener set-app-theme set-dock-visibility
      supports-multiple-windows host-version version
    `,
    `
      version name host-version identifier bundle-type register-listener remove-listener
      supports-multiple-windows
    `,
  ),
  image: plugin(
    `
      from-bytes from-path new rgba size
    `,
    EVERY,
  ),
  resources: plugin(
    `
      close
    `,
    EVERY,
  ),
  menu: plugin(
    `
      append create-default get insert is-checked is-enabled items new popup prepend remove
      remove-at set-accelerator set-as-app-menu set-as-help-menu-for-nsapp set-as-window-menu
      set-as-windows-menu-for-nsapp set-checked set-enabled set-icon set-text text
    `,
    EVERY,
  ),
  tray: plugin(
    `
      get-by-id new remove-by-id set-icon set-icon-as-template set-icon-with-as-template set-menu
      set-show-menu-on-left-click set-temp-dir-path set-title set-tooltip set-visible
    `,
    EVERY,
  ),
};

function plugin(commandNames: string, defaultNames: string): CorePlugin {
  const commands = words(commandNames);
  return { commands, defaults: defaultNames === EVERY ? commands : words(defaultNames) };
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
