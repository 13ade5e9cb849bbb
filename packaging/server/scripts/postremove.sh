#!/bin/sh
# deb: remove, purge, upgrade and others; rpm: 0 for a removal, 1 for an upgrade.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
case "$1" in
  remove | 0)
    echo "Kept: /var/lib/tidegate, with the database, the signing keys and the backups of the Tidegate server."
    ;;
  purge)
    echo "Deleting /var/lib/tidegate: the database, the signing keys and the backups of the Tidegate server."
    echo "A database in PostgreSQL is not touched. The user tidegate is kept."
    rm -rf --one-file-system /var/lib/tidegate
    ;;
esac
