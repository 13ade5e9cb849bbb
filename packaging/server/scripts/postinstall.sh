#!/bin/sh
# deb: configure [OLD-VERSION]; rpm: 1 for a first installation, 2 for an upgrade.
set -e
if ! getent passwd tidegate >/dev/null; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers /usr/lib/sysusers.d/tidegate.conf
  else
    useradd --system --user-group --no-create-home --home-dir /var/lib/tidegate --shell /usr/sbin/nologin tidegate
  fi
fi
install -d -m 0700 -o tidegate -g tidegate /var/lib/tidegate
# Settings may hold secrets: only root changes them, and only the server reads them.
chgrp tidegate /etc/tidegate/server.env
chmod 0640 /etc/tidegate/server.env

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
case "$1/${2:-}" in
  configure/)
    systemctl enable --now tidegate.service tidegate-backup.timer
    echo "Tidegate runs at http://localhost:8080. The link for the first operator: journalctl -u tidegate"
    ;;
  1/)
    systemctl preset tidegate.service tidegate-backup.timer
    echo "To start Tidegate: systemctl enable --now tidegate.service tidegate-backup.timer"
    ;;
  *)
    # The server backs up its database before it changes it.
    systemctl try-restart tidegate.service
    ;;
esac
