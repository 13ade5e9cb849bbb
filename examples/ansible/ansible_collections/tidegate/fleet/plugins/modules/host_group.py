#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: host_group
short_description: Puts a host into a group
version_added: "0.2.0"
description:
  - Puts a host into a group, or takes it out of its group.
author: Tidegate (@tidegate)
options:
  server:
    description: Address of the server; C(TIDEGATE_SERVER) of the environment unless set.
    type: str
    required: true
  token:
    description: API token; C(TIDEGATE_TOKEN) of the environment unless set.
    type: str
    required: true
  ca_file:
    description: Certificates that are trusted in place of the system's.
    type: path
  host:
    description: Id or whole name of the host.
    type: str
    required: true
  group:
    description: The group; absent, the host is in none.
    type: str
"""

EXAMPLES = r"""
- name: Group the host
  tidegate.fleet.host_group:
    host: web-1
    group: web
"""

RETURN = r"""
group:
  description: The group of the host.
  returned: success
  type: str
"""

from ansible_collections.tidegate.fleet.plugins.module_utils.api import Api, module_of


def main():
    module = module_of(host={"type": "str", "required": True}, group={"type": "str"})
    api = Api(module)
    group = module.params["group"]
    host = api.one_host(module.params["host"])
    changed = host["group"] != group
    if changed and not module.check_mode:
        api.call("POST", "/api/v1/agents/group", body={"agent_ids": [host["id"]], "group": group})
    module.exit_json(changed=changed, group=group)


if __name__ == "__main__":
    main()
