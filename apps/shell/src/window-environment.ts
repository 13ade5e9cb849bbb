const ENVIRONMENT = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TMPDIR', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY'],
  ...['XDG_RUNTIME_DIR', 'XDG_DATA_DIRS', 'XDG_CONFIG_DIRS', 'XDG_SESSION_TYPE', 'XDG_CURRENT_DESKTOP'],
  ...['DBUS_SESSION_BUS_ADDRESS', 'GDK_BACKEND', 'GDK_SCALE', 'GTK_THEME', 'LIBGL_ALWAYS_SOFTWARE'],
  ...['WEBKIT_DISABLE_DMABUF_RENDERER', 'WEBKIT_DISABLE_COMPOSITING_MODE'],
];

/** The environment variables that processes with windows need; none of them holds a token. */
export function windowEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    ENVIRONMENT.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
