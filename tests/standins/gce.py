"""A fake of `gcloud compute`: workload policies and VPC networks, with the GCE part of the state.

The messages are those of Google Cloud SDK 578.0.0 (google-cloud-sdk-unofficial/google-cloud-sdk@4643fc9c
`lib/googlecloudsdk/api_lib/compute/utils.py`, `RaiseToolException`) and of the API, read 2026-11-28.
"""

import ipaddress

from .cli import VALUE, CommandError, Failure, flags

_API = "https://www.googleapis.com/compute/v1"


def _error(call, text, rc=1):
    return CommandError(rc, f"ERROR: (gcloud.{call.command.replace(' ', '.')}) {text}")


def _require(call, *names):
    for name in names:
        if not call.has(name):
            raise _error(call, f"argument {name}: Must be specified.", 2)
    if len(call.words) != 1:
        raise _error(call, "argument NAME: Must be specified.", 2)


def _regional_path(call, kind):
    return f"projects/{call.get('--project')}/regions/{call.get('--region')}/{kind}/{call.words[0]}"


def _missing(call, path):
    return _error(call, f"Could not fetch resource:\n - The resource '{path}' was not found\n")


def _policies(call):
    return call.data["gce"]["resourcePolicies"]


def _policy(call):
    _require(call, "--region")
    path = _regional_path(call, "resourcePolicies")
    found = _policies(call).get(call.words[0])
    if not found or found["_path"] != path:
        raise _missing(call, path)
    return found


def create_policy(call):
    """Create a workload policy. The API has no operation that updates one."""
    _require(call, "--region", "--type")
    path = _regional_path(call, "resourcePolicies")
    if call.words[0] in _policies(call):
        raise _error(call, f"Could not fetch resource:\n - The resource '{path}' already exists\n")
    if call.get("--type") not in ("HIGH_AVAILABILITY", "HIGH_THROUGHPUT"):
        raise _error(call, f"argument --type: Invalid choice: '{call.get('--type')}'.", 2)
    policy = {"type": call.get("--type")}
    if call.has("--accelerator-topology"):
        policy["acceleratorTopology"] = call.get("--accelerator-topology")
    found = {
        "_path": path,
        "kind": "compute#resourcePolicy",
        "name": call.words[0],
        "region": f"{_API}/projects/{call.get('--project')}/regions/{call.get('--region')}",
        "selfLink": f"{_API}/{path}",
        "status": "READY",
        "workloadPolicy": policy,
    }
    if call.get("--description"):
        found["description"] = call.get("--description")
    _policies(call)[call.words[0]] = found


def delete_policy(call):
    """Delete a policy that no node pool uses."""
    _policy(call)
    name = call.words[0]
    for pool in call.data["gke"]["pools"].values():
        if pool.get("placementPolicy", {}).get("policyName") == name:
            raise Failure(1, f"ERROR: (gcloud.{call.command.replace(' ', '.')}) Could not fetch resource:\n - The"
                             f" resource_policy resource '{_regional_path(call, 'resourcePolicies')}' is already being"
                             f" used by 'projects/p/zones/z/instanceGroupManagers/gke-{pool['name']}'\n")
    del _policies(call)[name]


def _stored(call, kind):
    return call.data["gce"][kind]


def _path(call, kind):
    if kind == "subnetworks":
        return _regional_path(call, kind)
    return f"projects/{call.get('--project')}/global/{kind}/{call.words[0]}"


def _find(call, kind):
    _require(call, *(["--region"] if kind == "subnetworks" else []))
    found = _stored(call, kind).get(call.words[0])
    if not found or found["_path"] != _path(call, kind):
        raise _missing(call, _path(call, kind))
    return found


def _insert(call, kind, fields):
    path = _path(call, kind)
    if call.words[0] in _stored(call, kind):
        raise _error(call, f"Could not fetch resource:\n - The resource '{path}' already exists\n")
    found = {"_path": path, "name": call.words[0], "selfLink": f"{_API}/{path}", **fields}
    if call.get("--description"):
        found["description"] = call.get("--description")
    _stored(call, kind)[call.words[0]] = found


def _network_link(call):
    name = call.get("--network", "default")
    if name not in _stored(call, "networks"):
        path = f"projects/{call.get('--project')}/global/networks/{name}"
        raise _error(call, f"Could not fetch resource:\n - The resource '{path}' was not found\n")
    return f"{_API}/projects/{call.get('--project')}/global/networks/{name}"


def create_network(call):
    """Create a network. A profile for RDMA belongs to a zone."""
    _require(call)
    fields = {"autoCreateSubnetworks": call.get("--subnet-mode", "auto") == "auto",
              "mtu": int(call.get("--mtu", "1460"))}
    if call.has("--network-profile"):
        profile = call.get("--network-profile")
        fields["networkProfile"] = f"{_API}/projects/{call.get('--project')}/global/networkProfiles/{profile}"
    _insert(call, "networks", fields)


def create_subnetwork(call):
    """Create a subnetwork, whose range may not overlap with others of its network."""
    _require(call, "--region", "--network", "--range")
    link = _network_link(call)
    ours = ipaddress.ip_network(call.get("--range"))
    for other in _stored(call, "subnetworks").values():
        if other["network"] == link and ours.overlaps(ipaddress.ip_network(other["ipCidrRange"])):
            raise _error(call, f"Could not fetch resource:\n - Invalid IPCidrRange: {ours} conflicts with existing"
                               f" subnetwork '{other['name']}' in region '{call.get('--region')}'.\n")
    _insert(call, "subnetworks", {"network": link, "ipCidrRange": str(ours)})


def _allowed(text):
    found = {}
    for rule in text.split(","):
        protocol, _, ports = rule.partition(":")
        found.setdefault(protocol, []).extend([ports] if ports else [])
    return [{"IPProtocol": key, **({"ports": ports} if ports else {})} for key, ports in found.items()]


def _firewall_settings(call):
    fields = {}
    if call.has("--rules"):
        fields["allowed"] = _allowed(call.get("--rules"))
    if call.has("--source-ranges"):
        fields["sourceRanges"] = call.get("--source-ranges").split(",")
    return fields


def create_firewall_rule(call):
    """Create a rule."""
    _require(call, "--action")
    link = _network_link(call)
    if "networkProfile" in _stored(call, "networks")[call.get("--network", "default")]:
        raise _error(call, "Could not fetch resource:\n - Firewall rules are not supported in this network.\n")
    _insert(call, "firewalls", {"network": link, "direction": call.get("--direction", "INGRESS"),
                                **_firewall_settings(call)})


def update_firewall_rule(call):
    """Change a rule."""
    _find(call, "firewalls").update(_firewall_settings(call))


def _delete(kind):
    def delete(call):
        found = _find(call, kind)
        if kind == "networks":
            for other in (*_stored(call, "subnetworks").values(), *_stored(call, "firewalls").values()):
                if other["network"] == found["selfLink"]:
                    raise Failure(1, f"ERROR: (gcloud.{call.command.replace(' ', '.')}) Could not fetch resource:\n -"
                                     f" The network resource '{found['_path']}' is already being used by"
                                     f" '{other['_path']}'\n")
        del _stored(call, kind)[call.words[0]]

    return delete


def commands(print_result):
    """Return the commands by name, as (function, whether it changes the state, flags)."""

    def describe_policy(call):
        print_result(call, {key: each for key, each in _policy(call).items() if not key.startswith("_")})

    def describe(kind):
        def run(call):
            print_result(call, {key: each for key, each in _find(call, kind).items() if not key.startswith("_")})

        return run

    region = flags("", "region")
    rule = flags("", "rules source-ranges description")
    return {
        "compute networks describe": (describe("networks"), False, {}),
        "compute networks create": (create_network, True, flags("", "subnet-mode mtu network-profile description")),
        "compute networks delete": (_delete("networks"), True, {}),
        "compute networks subnets describe": (describe("subnetworks"), False, region),
        "compute networks subnets create": (
            create_subnetwork, True, region | flags("", "network range description")
        ),
        "compute networks subnets delete": (_delete("subnetworks"), True, region),
        "compute firewall-rules describe": (describe("firewalls"), False, {}),
        "compute firewall-rules create": (
            create_firewall_rule, True, rule | flags("", "network direction action")
        ),
        "compute firewall-rules update": (update_firewall_rule, True, rule),
        "compute firewall-rules delete": (_delete("firewalls"), True, {}),
        "compute resource-policies describe": (describe_policy, False, region),
        "compute resource-policies create workload-policy": (
            create_policy, True, region | flags("", "type accelerator-topology max-topology-distance description")
        ),
        "compute resource-policies delete": (delete_policy, True, region),
    }


# Flags of releases after those of the flag tables: of Google Cloud SDK 563.0.0, its own release notes.
NEWER_FLAGS = {"container node-pools create": {"--accelerator-network-profile": VALUE}}
