#!/bin/sh
# deb: remove, purge, upgrade and others; rpm: 0 for a removal, 1 for an upgrade.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
sources=/etc/apt/sources.list.d/tidegate.sources
case "$1" in
  remove | 0)
    # The key of the repository went with the package.
    if [ -e $sources ]; then mv $sources $sources.disabled; fi
    rm -f /etc/yum.repos.d/tidegate.repo
    echo "Kept: the enrolment in /var/lib/tidegate-agent, what the executor trusts in /var/lib/tidegate-executor," \
      "and the jobs in /var/spool/tidegate."
    ;;
  purge)
    rm -f $sources $sources.disabled /etc/apt/apt.conf.d/60tidegate-agent
    echo "Deleting /var/lib/tidegate-agent, /var/lib/tidegate-executor and /var/spool/tidegate: the enrolment of this host," \
      "its journals and the files kept for rollbacks."
    echo "The user tidegate-agent and root's files in /etc/tidegate are kept. Revoke the host in the console as well."
    rm -rf --one-file-system /var/lib/tidegate-agent /var/lib/tidegate-executor /var/spool/tidegate
    ;;
esac
