#!/bin/sh
# deb: configure [OLD-VERSION]; rpm: 1 for a first installation, 2 for an upgrade.
set -e
if ! getent passwd tidegate-agent >/dev/null; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers /usr/lib/sysusers.d/tidegate-agent.conf
  else
    useradd --system --user-group --no-create-home --home-dir /var/lib/tidegate-agent --shell /usr/sbin/nologin \
      tidegate-agent
  fi
fi

# A removal put it aside, as its key went with the package.
sources=/etc/apt/sources.list.d/tidegate.sources
if [ -e $sources.disabled ] && [ ! -e $sources ]; then mv $sources.disabled $sources; fi

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
units="tidegate-agent.service tidegate-executor.path tidegate-observer.path tidegate-observer.timer tidegate-probe.path"
case "$1/${2:-}" in
  configure/ | 1/)
    # Before the host is enrolled none of them does anything.
    systemctl enable --now $units
    echo "To enrol this host: TIDEGATE_TOKEN=... tidegate-agent enrol --server URL --user tidegate-agent"
    ;;
  *)
    # Never the executor: it may be what installs this package.
    systemctl try-restart tidegate-agent.service
    ;;
esac
