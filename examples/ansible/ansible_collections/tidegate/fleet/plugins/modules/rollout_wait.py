#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: rollout_wait
short_description: Waits for the rollouts of a policy
version_added: "0.2.0"
description:
  - Waits until no rollout of a policy runs. Fails where one is halted, or at the end of the time.
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
  policy:
    description: Id or name of the policy.
    type: str
    required: true
  timeout_seconds:
    description: How long to wait.
    type: int
    default: 3600
  interval_seconds:
    description: Time between two looks.
    type: int
    default: 15
"""

EXAMPLES = r"""
- name: Wait for Sunday's updates
  tidegate.fleet.rollout_wait:
    policy: sundays
    timeout_seconds: 14400
"""

RETURN = r"""
rollouts:
  description: How many rollouts of the policy there have been.
  returned: success
  type: int
"""

import time

from ansible_collections.tidegate.fleet.plugins.module_utils.api import Api, module_of


def main():
    module = module_of(
        policy={"type": "str", "required": True},
        timeout_seconds={"type": "int", "default": 3600},
        interval_seconds={"type": "int", "default": 15},
    )
    api = Api(module)
    policy = module.params["policy"]
    end = time.monotonic() + module.params["timeout_seconds"]
    while True:
        own = [one for one in api.items("/api/v1/rollouts") if policy in (one["policy_id"], one["policy_name"])]
        halted = [one["id"] for one in own if one["state"] == "halted"]
        if halted:
            module.fail_json(msg="halted: %s. See what failed, then resume or stop it." % ", ".join(halted))
        running = [one for one in own if one["state"] == "running"]
        if not running:
            module.exit_json(changed=False, rollouts=len(own))
        if module.check_mode:
            module.exit_json(changed=False, rollouts=len(own), msg="would wait")
        if time.monotonic() >= end:
            module.fail_json(msg="still running: %s" % ", ".join(one["waits_for"] for one in running))
        time.sleep(module.params["interval_seconds"])


if __name__ == "__main__":
    main()
