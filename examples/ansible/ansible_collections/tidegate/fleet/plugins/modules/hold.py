#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: hold
short_description: Holds packages back
version_added: "0.2.0"
description:
  - Holds packages of groups or of all hosts back until a time, or releases what the same hold holds.
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
  packages:
    description: Names of packages, in which C(*) stands for any characters.
    type: list
    elements: str
    required: true
  ecosystems:
    description: Package managers whose packages are meant.
    type: list
    elements: str
    required: true
  groups:
    description: Groups of hosts; empty means all hosts.
    type: list
    elements: str
    default: []
  reason:
    description: Why; required for C(present).
    type: str
  until:
    description: The end in UTC, such as C(2027-03-01T00:00:00Z); required for C(present).
    type: str
  state:
    description: Whether the hold is in force.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Hold the database back
  tidegate.fleet.hold:
    packages: ["postgresql*"]
    ecosystems: [apt]
    groups: [db]
    reason: before the fair
    until: "2027-03-01T00:00:00Z"
"""

RETURN = r"""
id:
  description: The hold; null without one.
  returned: success
  type: str
"""

from ansible_collections.tidegate.fleet.plugins.module_utils.api import Api, module_of


def main():
    many = {"type": "list", "elements": "str"}
    module = module_of(
        packages=dict(many, required=True),
        ecosystems=dict(many, required=True),
        groups=dict(many, default=[]),
        reason={"type": "str"},
        until={"type": "str"},
        state={"type": "str", "choices": ["present", "absent"], "default": "present"},
    )
    api = Api(module)
    given = module.params
    if given["state"] == "present" and not (given["reason"] and given["until"]):
        module.fail_json(msg="state present needs reason and until")
    scope = {"kind": "some", "groups": given["groups"], "hosts": []} if given["groups"] else {"kind": "all"}
    held = [one for one in api.items("/api/v1/holds") if one["state"] == "in_force" and is_same(one, given)]
    if given["state"] == "absent":
        for one in held if not module.check_mode else []:
            api.call("DELETE", "/api/v1/holds/" + one["id"])
        module.exit_json(changed=bool(held), id=None)
    if held:
        module.exit_json(changed=False, id=held[0]["id"])
    if module.check_mode:
        module.exit_json(changed=True, id=None)
    body = {
        "ecosystems": given["ecosystems"],
        "packages": given["packages"],
        "scope": scope,
        "reason": given["reason"],
        "ends_at": given["until"],
    }
    module.exit_json(changed=True, id=api.call("POST", "/api/v1/holds", body=body)["id"])


def is_same(hold, given):
    """The same packages of the same hosts; another end or reason is no reason for a second hold."""
    scope = hold["scope"]
    if scope["kind"] == "some" and (scope["hosts"] or scope.get("tags")):
        return False
    return (
        set(hold["packages"]) == set(given["packages"])
        and set(hold["ecosystems"]) == set(given["ecosystems"])
        and set(scope.get("groups", [])) == set(given["groups"])
    )


if __name__ == "__main__":
    main()
