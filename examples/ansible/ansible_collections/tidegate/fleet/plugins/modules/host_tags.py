#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: host_tags
short_description: Sets tags of a host
version_added: "0.2.0"
description:
  - Sets tags of a host, and removes others by their keys.
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
  set:
    description: Tags that the host has afterwards.
    type: list
    elements: str
    default: []
  remove:
    description: Keys of tags that it does not have afterwards.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Tag the host
  tidegate.fleet.host_tags:
    host: web-1
    set: [env=prod]
    remove: [old]
"""

RETURN = r"""
tags:
  description: The tags of the host.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.tidegate.fleet.plugins.module_utils.api import Api, module_of


def main():
    many = {"type": "list", "elements": "str", "default": []}
    module = module_of(host={"type": "str", "required": True}, set=many, remove=many)
    api = Api(module)
    wanted, unwanted = module.params["set"], module.params["remove"]
    host = api.one_host(module.params["host"])
    before = set(host["tags"])
    replaced = {tag.split("=", 1)[0] for tag in wanted} | set(unwanted)
    after = {tag for tag in before if tag.split("=", 1)[0] not in replaced} | set(wanted)
    if after != before and not module.check_mode:
        api.call(
            "POST",
            "/api/v1/agents/tags",
            body={"agent_ids": [host["id"]], "set": wanted, "remove": unwanted},
        )
    module.exit_json(changed=after != before, tags=sorted(after))


if __name__ == "__main__":
    main()
