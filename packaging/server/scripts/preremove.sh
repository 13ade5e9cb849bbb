#!/bin/sh
# deb: remove, or upgrade NEW-VERSION; rpm: 0 for a removal, 1 for an upgrade.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now tidegate.service tidegate-backup.timer
