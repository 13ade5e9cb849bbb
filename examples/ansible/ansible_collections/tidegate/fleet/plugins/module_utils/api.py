# SPDX-License-Identifier: Apache-2.0
"""Calls the API of a Tidegate server with the standard library alone."""
from __future__ import absolute_import, annotations, division, print_function

__metaclass__ = type

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request

from ansible.module_utils.basic import AnsibleModule, env_fallback

ANSWER_MAX_BYTES = 64 * 1024 * 1024
TIMEOUT_SECONDS = 30
PAGE = "200"
LOOPBACK = ("127.0.0.1", "::1", "localhost")

CONNECTION = {
    "server": {"type": "str", "required": True, "fallback": (env_fallback, ["TIDEGATE_SERVER"])},
    "token": {
        "type": "str",
        "required": True,
        "no_log": True,
        "fallback": (env_fallback, ["TIDEGATE_TOKEN"]),
    },
    "ca_file": {"type": "path", "fallback": (env_fallback, ["TIDEGATE_CA_FILE"])},
}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to one server."""

    def redirect_request(self, *args, **kwargs):
        return None


class Api:
    """What a module asks of the server. Every failure ends the module with a message."""

    def __init__(self, module):
        self.module = module
        self.server = module.params["server"].rstrip("/")
        url = urllib.parse.urlsplit(self.server)
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in LOOPBACK):
            module.fail_json(msg="server must be an https:// address (http:// only for this machine)")
        context = ssl.create_default_context(cafile=module.params["ca_file"])
        self.opener = urllib.request.build_opener(
            NoRedirect(), urllib.request.HTTPSHandler(context=context)
        )

    def call(self, method, path, query=None, body=None):
        asked = "?" + urllib.parse.urlencode(query) if query else ""
        request = urllib.request.Request(self.server + path + asked, method=method)
        request.add_header("Authorization", "Bearer " + self.module.params["token"])
        request.add_header("Accept", "application/json")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                text = answer.read(ANSWER_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            self.module.fail_json(msg="%s %s: %s" % (method, path, self.problem(error)), status=error.code)
        except OSError as error:
            self.module.fail_json(msg="%s does not answer: %s" % (self.server, error))
        if len(text) > ANSWER_MAX_BYTES:
            self.module.fail_json(msg="%s %s: the answer is too large" % (method, path))
        return json.loads(text) if text else None

    @staticmethod
    def problem(error):
        try:
            problem = json.loads(error.read(65536))
            faults = "; ".join("%(path)s %(message)s" % one for one in problem.get("errors", []))
            return "%s (%s)%s" % (problem["detail"], problem["code"], " " + faults if faults else "")
        except (ValueError, KeyError, TypeError):
            return "status %d, which is no answer of Tidegate" % error.code

    def items(self, path, query=None):
        """Every item of a list, page by page."""
        asked = dict(query or {}, limit=PAGE)
        while True:
            page = self.call("GET", path, asked)
            for item in page["items"]:
                yield item
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]

    def host(self, name):
        """The one host with this id or whole host name; None without one."""
        found = [
            one
            for one in self.items("/api/v1/agents", {"q": name})
            if name in (one["id"], one["hostname"]) and one["status"] != "revoked"
        ]
        if len(found) > 1:
            ids = ", ".join(one["id"] for one in found)
            self.module.fail_json(msg="%d hosts are named %s; give the id: %s" % (len(found), name, ids))
        return found[0] if found else None

    def one_host(self, name):
        host = self.host(name)
        if host is None:
            self.module.fail_json(msg="no host is named %s" % name)
        return host


def module_of(**arguments):
    """A module that knows check mode, with the arguments of the connection."""
    return AnsibleModule(argument_spec=dict(CONNECTION, **arguments), supports_check_mode=True)
