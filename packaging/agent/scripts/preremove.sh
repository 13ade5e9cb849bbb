#!/bin/sh
# deb: remove, or upgrade NEW-VERSION; rpm: 0 for a removal, 1 for an upgrade.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ -d /run/systemd/system ] || exit 0
# An executor at work ends by itself: it refuses to be stopped.
systemctl disable --now tidegate-agent.service tidegate-executor.path tidegate-observer.path tidegate-observer.timer \
  tidegate-probe.path
