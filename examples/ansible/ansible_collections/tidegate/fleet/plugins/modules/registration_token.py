#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: registration_token
short_description: Makes a token with which a host enrols
version_added: "0.2.0"
description:
  - Makes a registration token for one host, unless a host of this name is in the fleet already.
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
    description: Name of the host that is to enrol.
    type: str
    required: true
  group:
    description: The group that it gets.
    type: str
"""

EXAMPLES = r"""
- name: Let the host enrol
  tidegate.fleet.registration_token:
    host: web-1
    group: web
  register: enrolment
  no_log: true
"""

RETURN = r"""
registration_token:
  description: The secret; null where the host is there already, and in check mode.
  returned: success
  type: str
"""

from ansible_collections.tidegate.fleet.plugins.module_utils.api import Api, module_of


def main():
    module = module_of(host={"type": "str", "required": True}, group={"type": "str"})
    api = Api(module)
    host, group = module.params["host"], module.params["group"]
    if api.host(host) is not None:
        module.exit_json(changed=False, registration_token=None)
    if module.check_mode:
        module.exit_json(changed=True, registration_token=None)
    body = {"label": ("ansible: " + host)[:64], "seats": 1}
    if group is not None:
        body["group"] = group
    made = api.call("POST", "/api/v1/admin/registration-tokens", body=body)
    module.exit_json(changed=True, registration_token=made["token"])


if __name__ == "__main__":
    main()
