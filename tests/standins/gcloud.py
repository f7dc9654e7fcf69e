"""A fake of `gcloud container` and `gcloud projects` with the GKE part of the state."""

import os
import re

from . import gce, gke_pool
from .cli import BOOL, REPEAT, VALUE, Command, CommandError, Failure, Tool, Unsupported, flags
from .cli import flag_table, print_json, query, version_command, without_internal_keys

DEFAULT_VERSION = "1.33.5-gke.1080000"
_LOCATION = ("--location", "--zone", "--region")
_NO_PROMPT = (
    "This prompt could not be answered because you are not in an interactive session.  You can"
    " re-run the command with the --quiet flag to accept default answers for all prompts."
)


def _command_error(call, text, rc=1):
    return CommandError(rc, f"ERROR: (gcloud.{call.command.replace(' ', '.')}) {text}")


def _api_error(call, code, text):
    return _command_error(call, f"ResponseError: code={code}, message={text}")


def _with_error_prefix(run):
    """Add gcloud's prefix to the errors of a function."""

    def wrapped(call):
        if sum(call.has(each) for each in _LOCATION) > 1:
            raise _command_error(call, "At most one of --location | --region | --zone can be specified.", 2)
        try:
            return run(call)
        except Unsupported:
            raise
        except CommandError as error:
            if error.text.startswith("ERROR:"):
                raise
            raise _command_error(call, error.text, error.rc) from error

    return wrapped


def _require_confirmation(call):
    if not call.has("--quiet") and os.environ.get("CLOUDSDK_CORE_DISABLE_PROMPTS") != "1":
        raise _command_error(call, _NO_PROMPT)


def _project(call):
    stored = call.data["gke"]
    name = call.get("--project") or os.environ.get("CLOUDSDK_CORE_PROJECT")
    name = name or stored.get("defaultProject")
    if not name:
        raise _command_error(call, "The required property [project] is not currently set.")
    if stored.get("projects") is not None and name not in stored["projects"]:
        raise _api_error(call, 403, f"Permission denied on resource project {name}.")
    return name


def _path(call, cluster):
    location = next((call.get(each) for each in _LOCATION if call.has(each)), None)
    if not location:
        raise _command_error(call, "Please specify location: one of [--zone, --region, --location].")
    kind = "zones" if location.count("-") == 2 else "locations"
    return f"projects/{_project(call)}/{kind}/{location}/clusters/{cluster}", location


def _name(call):
    if len(call.words) != 1:
        raise _command_error(call, "argument NAME: Must be specified.", 2)
    return call.words[0]


def _cluster(call, name):
    path, _ = _path(call, name)
    found = call.data["gke"]["clusters"].get(name)
    if not found or found["_path"] != path:
        raise _api_error(call, 404, f"Not found: {path}.")
    return found


def _pools(call, cluster):
    stored = call.data["gke"]["pools"].values()
    return [each for each in stored if each.get("_cluster", cluster["name"]) == cluster["name"]]


def _pool(call):
    cluster = _cluster(call, _cluster_name(call))
    name = _name(call)
    for pool in _pools(call, cluster):
        if pool["name"] == name:
            return cluster, pool
    raise _api_error(call, 404, f"Not found: {cluster['_path']}/nodePools/{name}.")


def _cluster_name(call):
    if not call.has("--cluster"):
        raise _command_error(call, "The required property [container/cluster] is not currently set.")
    return call.get("--cluster")


def _print_result(call, value):
    output = call.get("--format", "")
    if output == "json":
        print_json(value)
    elif output.startswith("value(") and output.endswith(")"):
        for each in value if isinstance(value, list) else [value]:
            found = [query(each, path) for path in output[6:-1].split(",")]
            print("\t".join("" if part is None else str(part) for part in found))
    elif output == "none":
        return
    elif output:
        raise Unsupported(f"gcloud --format={output}")
    else:
        for each in value if isinstance(value, list) else [value]:
            print(each.get("name", each.get("projectId", "")), each.get("status", ""))


def _described_pool(call, cluster, pool):
    return gke_pool.describe(pool, _pools(call, cluster))


def _described_cluster(call, cluster):
    pools = [_described_pool(call, cluster, each) for each in _pools(call, cluster)]
    return without_internal_keys(cluster) | {"nodePools": pools}


_IN_PROGRESS = {"PROVISIONING": "creating", "RECONCILING": "upgrading", "STOPPING": "deleting"}
_STOCKOUT = ("Not all instances running in IGM after 35m. Expected 1, running 0, transitioning 1. Current errors:"
             " [GCE_STOCKOUT]: Instance creation failed: The zone does not have enough resources available to fulfill"
             " the request.")


def _operation_name(call):
    return f"operation-{call.data.clock:013d}-standin"


def _check_is_idle(call, cluster):
    """Refuse a change while GKE changes the cluster or one of its pools."""
    for each in [cluster, *_pools(call, cluster)]:
        if each.get("status") in _IN_PROGRESS:
            raise _busy(call, _IN_PROGRESS[each["status"]], cluster["name"])


def _busy(call, verb="upgrading", cluster=None):
    name = cluster or call.get("--cluster") or (call.words or ["c"])[0]
    return _api_error(call, 400, f"Operation {_operation_name(call)} is currently {verb} cluster {name}. Please wait"
                                 " and try again once it is done.")


def _keys(resource):
    return ["gke", "clusters" if "_path" in resource else "pools", resource["name"]]


def _operate(call, during, cluster, *resources):
    """Run an operation that creates, changes or deletes resources, and wait for it."""
    delay = max(2, call.delay) if call.how == "still_running" else call.delay
    name = _operation_name(call)
    done, error = [], None
    if during == "STOPPING":
        done = [["del", _keys(each)] for each in resources]
    elif call.how in ("stockout", "partial"):
        status = "ERROR" if call.how == "stockout" else "RUNNING_WITH_ERROR"
        error = _STOCKOUT
        condition = {"canonicalCode": "RESOURCE_EXHAUSTED", "code": "GCE_STOCKOUT", "message": _STOCKOUT}
        for each in resources:
            done += [["set", [*_keys(each), "status"], status], ["set", [*_keys(each), "conditions"], [condition]],
                     ["set", [*_keys(each), "statusMessage"], _STOCKOUT]]
    else:
        for each in resources:
            if during == "RECONCILING" and each.get("status") not in ("RUNNING", "RUNNING_WITH_ERROR"):
                done.append(["set", [*_keys(each), "status"], each.get("status")])
                continue
            done.append(["set", [*_keys(each), "status"], "RUNNING"])
            done += [["del", [*_keys(each), key]] for key in ("conditions", "statusMessage") if key in each]
    done.append(["set", ["_time", "operations", name, "status"], "DONE"])
    kind = call.command.removeprefix("container ").replace("clusters ", "CLUSTER ").replace("node-pools ", "NODE_POOL ")
    path = f"https://container.googleapis.com/v1/{cluster['_path']}"
    operation = {"name": name, "status": "RUNNING", "operationType": "_".join(reversed(kind.upper().split())),
                 "targetLink": path, "zone": cluster["location"]}
    call.data.time["operations"][name] = operation
    if error:
        done += [["set", ["_time", "operations", name, "error"], {"code": 8, "message": error}],
                 ["set", ["_time", "operations", name, "statusMessage"], error]]
    for each in resources:
        call.data.cancel(*_keys(each))
        each["status"] = during
    call.data.later(delay, *done)
    if call.how == "still_running":
        raise _failure(call, f"Operation [{name}] is still running, check its status via 'gcloud container operations"
                             f" describe {name}'")
    if call.get("--async") and not call.is_killed:
        return
    call.wait(delay)
    if error:
        raise _failure(call, f"Operation [{name}] finished with error: {error}")


def _failure(call, text):
    return Failure(1, f"ERROR: (gcloud.{call.command.replace(' ', '.')}) {text}")


def _operation(call):
    _path(call, "")
    found = call.data.time["operations"].get(_name(call))
    if not found:
        raise _api_error(call, 404, f"Not found: operation {_name(call)}.")
    return found


def describe_operation(call):
    _print_result(call, _operation(call))


def list_operations(call):
    _print_result(call, [each for _, each in sorted(call.data.time["operations"].items())
                         if _matches(each, call.get("--filter", ""))])


def _matches(operation, text):
    """Return whether an operation matches terms such as `status!=DONE` and `targetLink~/clusters/c$` with AND."""
    for term in filter(None, text.split(" AND ")):
        found = re.fullmatch(r"(\w+)(!=|!~|=|~)(.*)", term.strip())
        if not found:
            raise Unsupported(f"gcloud --filter={text}")
        key, operator, value = found.groups()
        value, actual = value.strip("\"'"), str(operation.get(key, ""))
        is_same = re.search(value, actual) if "~" in operator else value == actual
        if bool(is_same) == operator.startswith("!"):
            return False
    return True


def wait_for_operation(call):
    """Wait for an operation. gcloud gives up after 20 minutes, the fake after 240 ticks."""
    operation = _operation(call)
    for _ in range(240):
        if operation["status"] == "DONE":
            break
        call.wait(1)
    if operation["status"] != "DONE":
        raise _failure(call, f"Operation [{operation['name']}] is still running, check its status via 'gcloud container"
                             f" operations describe {operation['name']}'")
    if "error" in operation:
        raise _failure(call, f"Operation [{operation['name']}] finished with error: {operation['error']['message']}")
    _print_result(call, operation)


def describe_project(call):
    call.values.setdefault("--project", _name(call))
    call.values["--project"] = _name(call)
    name = _project(call)
    _print_result(call, {"lifecycleState": "ACTIVE", "name": name, "projectId": name})


def describe_cluster(call):
    """Describe a cluster. The error names another location of the cluster, as in api_adapter.CheckClusterOtherZones."""
    name = _name(call)
    path, location = _path(call, name)
    found = call.data["gke"]["clusters"].get(name)
    if call.how == "elsewhere":
        found = {"_path": "", "zone": "us-east4-b" if location.startswith("us-central1") else "us-central1"}
    if found and found["_path"] == path:
        return _print_result(call, _described_cluster(call, found))
    missing = f"ResponseError: code=404, message=Not found: {path}.\n"
    if not found:
        raise _command_error(call, f"{missing}No cluster named '{name}' in {_project(call)}.")
    hint = f"Did you mean [{name}] in [{found['zone']}]?"
    raise _command_error(call, f"{missing}Could not find [{name}] in [{location}].\n{hint}")


def list_clusters(call):
    _print_result(call, [_described_cluster(call, each) for each in call.data["gke"]["clusters"].values()])


def _version(text):
    """Return the full version. GKE uses the newest patch if the version is a minor one such as `1.34`."""
    return f"{text}.1-gke.1000000" if text.count(".") == 1 else text


def _zones(call, location):
    if call.has("--node-locations"):
        return sorted(gke_pool.parse_list(call.get("--node-locations")))
    return [location] if location.count("-") == 2 else [f"{location}-{zone}" for zone in "abc"]


def _new_pool(call, cluster, name):
    pool = {
        "_cluster": cluster["name"],
        "name": name,
        "config": {
            "diskSizeGb": 100,
            "diskType": "pd-balanced",
            "imageType": "COS_CONTAINERD",
            "machineType": "e2-medium",
            "metadata": {"disable-legacy-endpoints": "true"},
            "oauthScopes": ["https://www.googleapis.com/auth/devstorage.read_only"],
            "resourceLabels": {},
            "serviceAccount": "default",
            "shieldedInstanceConfig": {"enableIntegrityMonitoring": True},
            "windowsNodeConfig": {},
        },
        "initialNodeCount": 3,
        "locations": list(cluster["locations"]),
        "management": {"autoRepair": True, "autoUpgrade": True},
        "maxPodsConstraint": {"maxPodsPerNode": "110"},
        "podIpv4CidrSize": 24,
        "selfLink": f"https://container.googleapis.com/v1/{cluster['_path']}/nodePools/{name}",
        "status": "RUNNING",
        "upgradeSettings": {"maxSurge": 1, "strategy": "SURGE"},
        "version": cluster["currentMasterVersion"],
    }
    gke_pool.write(pool, call, creating=True)
    spot = pool["config"].get("spot") or pool["config"].get("preemptible")
    model = "spot" if spot else "on-demand"
    pool["config"]["resourceLabels"]["goog-gke-node-pool-provisioning-model"] = model
    call.data["gke"]["pools"][name] = pool
    return pool


def create_cluster(call):
    name = _name(call)
    path, location = _path(call, name)
    stored = call.data["gke"]["clusters"]
    if name in stored:
        if stored[name]["_path"] != path:
            raise Unsupported(f"two GKE clusters named {name}")
        raise _api_error(call, 409, f"Already exists: {path}.")
    version = _version(call.get("--cluster-version", DEFAULT_VERSION))
    zones = _zones(call, location)
    cluster = {
        "_path": path,
        "name": name,
        "location": location,
        "zone": location,
        "locations": zones,
        "currentMasterVersion": version,
        "endpoint": "192.0.2.10",
        "network": call.get("--network", "default").rsplit("/", 1)[-1],
        "subnetwork": call.get("--subnetwork", "default").rsplit("/", 1)[-1],
        "releaseChannel": {"channel": call.get("--release-channel", "regular").upper()},
        "resourceLabels": gke_pool.parse_dict("--labels", call.get("--labels", "")),
        "selfLink": f"https://container.googleapis.com/v1/{path}",
        "status": "RUNNING",
        "_flags": {flag: value for flag, value in call.values.items() if flag not in _LOCATION},
    }
    stored[name] = cluster
    _cluster_settings(call, cluster)
    first = {"--labels", "--async"}
    pool = {flag: value for flag, value in call.values.items() if flag not in first}
    call.values, values = pool, call.values
    if "default-pool" in call.data["gke"]["pools"]:
        raise Unsupported("two GKE clusters with a pool named default-pool")
    _new_pool(call, cluster, "default-pool")
    call.values = values
    _operate(call, "PROVISIONING", cluster, cluster, call.data["gke"]["pools"]["default-pool"])
    _print_result(call, [_described_cluster(call, cluster)])


_LOGS = {"SYSTEM": "SYSTEM_COMPONENTS", "WORKLOAD": "WORKLOADS", "API_SERVER": "APISERVER",
         "SCHEDULER": "SCHEDULER", "CONTROLLER_MANAGER": "CONTROLLER_MANAGER"}


def _control_plane(call, cluster):
    """Apply the ranges, the logs, and the key of Secrets."""
    if call.command == "container clusters create":
        policy = cluster.setdefault("ipAllocationPolicy", {"useIpAliases": True})
        for kind, key, ranges in (("cluster", "clusterIpv4Cidr", "10.4.0.0/14"), ("services", "servicesIpv4Cidr", "10.8.0.0/20")):
            address, name = call.get(f"--{kind}-ipv4-cidr"), call.get(f"--{kind}-secondary-range-name")
            if address and name:
                raise _command_error(call, f"argument --{kind}-ipv4-cidr: At most one of --{kind}-ipv4-cidr |"
                                           f" --{kind}-secondary-range-name can be specified.", 2)
            cluster[key] = policy[f"{kind}Ipv4CidrBlock"] = address or ranges
            policy[f"{kind}SecondaryRangeName"] = name or f"gke-{cluster['name']}-{kind}-0a0a0a0a"
    if call.has("--logging") or call.command == "container clusters create":
        given = gke_pool.parse_list(call.get("--logging", "SYSTEM,WORKLOAD"))
        for name in given:
            if name not in _LOGS:
                raise _command_error(call, f"Invalid component [{name}] in --logging.")
        if "SYSTEM" not in given and given != ["NONE"]:
            raise _command_error(call, "Must include SYSTEM logging if any logging is enabled.")
        cluster["loggingConfig"] = {"componentConfig": {"enableComponents": [_LOGS[name] for name in given]}}
    if call.has("--database-encryption-key"):
        key = call.get("--database-encryption-key")
        if f"/locations/{'-'.join(cluster['location'].split('-')[:2])}/" not in key:
            raise _api_error(call, 400, f"Cloud KMS key {key} is in a different location than the cluster.")
        cluster["databaseEncryption"] = {"state": "ENCRYPTED", "keyName": key}
    else:
        cluster.setdefault("databaseEncryption", {"state": "DECRYPTED"})


_ENDPOINTS = ("--enable-private-endpoint", "--enable-dns-access", "--enable-master-global-access")
_NETWORKS = ("--enable-master-authorized-networks", "--master-authorized-networks")


def _access(call, cluster):
    """Apply who can reach the API server and log in. Fields that are false are omitted."""
    endpoints = cluster.setdefault("controlPlaneEndpointsConfig", {"ipEndpointsConfig": {"enabled": True}})
    addresses = endpoints["ipEndpointsConfig"]
    if call.has("--enable-private-endpoint"):
        private = bool(call.get("--enable-private-endpoint"))
        if private and not cluster.get("networkConfig", {}).get("defaultEnablePrivateNodes"):
            raise _command_error(call, "Cannot specify --enable-private-endpoint without --enable-private-nodes.")
        addresses["enablePublicEndpoint"] = not private
        cluster["privateClusterConfig"] = {"enablePrivateEndpoint": True} if private else {}
    if call.has("--enable-dns-access"):
        allowed = bool(call.get("--enable-dns-access"))
        endpoints["dnsEndpointConfig"] = {"endpoint": "gke-0a.us-central1.gke.goog"} | (
            {"allowExternalTraffic": True} if allowed else {})
    if call.has("--enable-master-global-access"):
        addresses["globalAccess"] = bool(call.get("--enable-master-global-access"))
    if call.has("--master-authorized-networks") and not call.get("--enable-master-authorized-networks"):
        raise _command_error(call, "Cannot use --master-authorized-networks if --enable-master-authorized-networks is"
                             " not specified.")
    if call.get("--enable-master-authorized-networks"):
        blocks = call.get("--master-authorized-networks", "").split(",")
        config = {"enabled": True, "cidrBlocks": [{"cidrBlock": each} for each in blocks if each]}
        addresses["authorizedNetworksConfig"] = cluster["masterAuthorizedNetworksConfig"] = config
    if call.has("--security-group"):
        if not call.get("--security-group").startswith("gke-security-groups@"):
            raise _api_error(call, 400, "The security group must be named gke-security-groups.")
        cluster["authenticatorGroupsConfig"] = {"enabled": True, "securityGroup": call.get("--security-group")}


def _cluster_settings(call, cluster):
    if call.has("--workload-pool"):
        cluster["workloadIdentityConfig"] = {"workloadPool": call.get("--workload-pool")}
    if call.has("--disable-workload-identity"):
        cluster.pop("workloadIdentityConfig", None)
    if call.has("--enable-private-nodes"):
        if call.command == "container clusters create" and not call.get("--enable-ip-alias"):
            raise _command_error(call, "Cannot specify --enable-private-nodes without --enable-ip-alias.")
        private = bool(call.get("--enable-private-nodes"))
        cluster.setdefault("networkConfig", {})["defaultEnablePrivateNodes"] = private
    if call.get("--enable-dataplane-v2"):
        cluster.setdefault("networkConfig", {})["datapathProvider"] = "ADVANCED_DATAPATH"
    if call.get("--enable-multi-networking"):
        if cluster.get("networkConfig", {}).get("datapathProvider") != "ADVANCED_DATAPATH":
            raise _command_error(call, "Multi-networking requires Dataplane V2.")
        cluster["networkConfig"]["enableMultiNetworking"] = True
    # GKE enables shielded nodes by default.
    if call.has("--enable-shielded-nodes") or call.command == "container clusters create":
        cluster["shieldedNodes"] = {"enabled": True} if call.get("--enable-shielded-nodes", True) else {}
    _control_plane(call, cluster)
    _access(call, cluster)
    _addons(call, cluster)
    _maintenance(call, cluster)
    if call.has("--release-channel"):
        cluster["releaseChannel"] = {"channel": call.get("--release-channel").upper()}
    # gcloud sends only the labels of this flag, which replace all others (api_adapter.UpdateLabelsCommon).
    if call.has("--update-labels"):
        cluster["resourceLabels"] = gke_pool.parse_dict("--update-labels", call.get("--update-labels"))
    labels = cluster["resourceLabels"]
    for key in gke_pool.parse_list(call.get("--remove-labels", "")):
        labels.pop(key, None)


_ADDONS = {
    "GcePersistentDiskCsiDriver": ("gcePersistentDiskCsiDriverConfig", "enabled", True),
    "GcpFilestoreCsiDriver": ("gcpFilestoreCsiDriverConfig", "enabled", True),
    "GcsFuseCsiDriver": ("gcsFuseCsiDriverConfig", "enabled", True),
    "HorizontalPodAutoscaling": ("horizontalPodAutoscaling", "disabled", False),
    "HttpLoadBalancing": ("httpLoadBalancing", "disabled", False),
}


def _addons(call, cluster):
    """Set the add-ons: --addons lists all enabled ones, --update-addons the changes."""
    config = cluster.setdefault("addonsConfig", {})
    if call.has("--addons"):
        names = gke_pool.parse_list(call.get("--addons"))
        for name in names:
            if name not in _ADDONS:
                raise Unsupported(f"gcloud --addons={name}")
        for name, (key, word, on) in _ADDONS.items():
            config[key] = {word: on if name in names else not on}
    if call.has("--update-addons"):
        for name, state in gke_pool.parse_dict("--update-addons", call.get("--update-addons")).items():
            key, word, on = _ADDONS[name]
            config[key] = {word: on if state == "ENABLED" else not on}


_WINDOW = {"--maintenance-window-start": "startTime", "--maintenance-window-end": "endTime",
           "--maintenance-window-recurrence": "recurrence"}


def _maintenance(call, cluster):
    window = cluster.get("maintenancePolicy", {}).get("window", {})
    exclusions = window.get("maintenanceExclusions", {})
    if call.has("--clear-maintenance-window"):
        window.pop("recurringWindow", None)
    if call.has("--remove-maintenance-exclusion"):
        name = call.get("--remove-maintenance-exclusion")
        if name not in exclusions:
            raise _command_error(call, f"No maintenance exclusion with name {name} exists. Existing exclusions:"
                                       f" {', '.join(exclusions)}.")
        del exclusions[name]
    if call.has("--add-maintenance-exclusion-name"):
        name = call.get("--add-maintenance-exclusion-name")
        if name in exclusions:
            raise _command_error(call, f"A maintenance exclusion named {name} already exists.")
        exclusions[name] = _exclusion(call)
        window["maintenanceExclusions"] = exclusions
        cluster["maintenancePolicy"] = {"resourceVersion": "a1", "window": window}
    if not exclusions:
        window.pop("maintenanceExclusions", None)
    if not window:
        cluster.pop("maintenancePolicy", None)
    given = {key: call.get(flag) for flag, key in _WINDOW.items() if call.has(flag)}
    if not given:
        return
    if len(given) != len(_WINDOW):
        raise _command_error(call, f"argument {' '.join(sorted(_WINDOW))}: must be specified together", 2)
    recurrence = given.pop("recurrence")
    window["recurringWindow"] = {"recurrence": recurrence, "window": given}
    cluster["maintenancePolicy"] = {"resourceVersion": "a1", "window": window}


_EXCLUSION = "--add-maintenance-exclusion-"
_SCOPES = ("no_upgrades", "no_minor_upgrades", "no_minor_or_node_upgrades")


def _exclusion(call):
    scope = call.get(_EXCLUSION + "scope", "no_upgrades")
    if scope not in _SCOPES:
        raise _command_error(call, f"argument {_EXCLUSION}scope: Invalid choice: '{scope}'.", 2)
    # The API omits the default.
    options = {} if scope == "no_upgrades" else {"scope": scope.upper()}
    if call.get(_EXCLUSION + "until-end-of-support"):
        if call.has(_EXCLUSION + "end") or scope == "no_upgrades":
            raise _command_error(call, f"argument {_EXCLUSION}until-end-of-support: not allowed here.", 2)
        options["endTimeBehavior"] = "UNTIL_END_OF_SUPPORT"
        return {"startTime": "2026-11-24T09:30:00Z", "endTime": "2027-08-01T00:00:00Z",
                "maintenanceExclusionOptions": options}
    if not call.has(_EXCLUSION + "end"):
        raise _command_error(call, f"argument {_EXCLUSION}end: Must be specified.", 2)
    start = call.get(_EXCLUSION + "start", "2026-11-24T09:30:00Z")
    return {"startTime": start, "endTime": call.get(_EXCLUSION + "end"), "maintenanceExclusionOptions": options}


def update_cluster(call):
    cluster = _cluster(call, _name(call))
    common = {*_LOCATION, *_GLOBAL, "--async", "--timeout"}
    settings = {flag: value for flag, value in call.values.items() if flag not in common}
    # The flags of a maintenance window are one setting.
    groups = {"--maintenance-window" if flag in _WINDOW else
              _EXCLUSION if flag.startswith(_EXCLUSION) else
              "endpoints" if flag in _ENDPOINTS + _NETWORKS else flag for flag in settings}
    if len(groups) != 1:
        raise _command_error(call, "Exactly one of the settings of the cluster must be specified.", 2)
    _check_is_idle(call, cluster)
    _cluster_settings(call, cluster)
    cluster["_flags"] |= settings
    _operate(call, "RECONCILING", cluster, cluster)
    _print_result(call, _described_cluster(call, cluster))


def delete_cluster(call):
    _require_confirmation(call)
    cluster = _cluster(call, _name(call))
    _check_is_idle(call, cluster)
    _operate(call, "STOPPING", cluster, *_pools(call, cluster), cluster)


def _named_pool(call, cluster):
    for pool in _pools(call, cluster):
        if pool["name"] == call.get("--node-pool"):
            return pool
    missing = call.get("--node-pool")
    raise _command_error(call, f"No node pool named '{missing}' in {cluster['name']}.")


def resize(call):
    size = call.get("--num-nodes", call.get("--size"))
    if size is None:
        raise _command_error(call, "Exactly one of (--num-nodes | --size) must be specified.", 2)
    cluster = _cluster(call, _name(call))
    if not call.has("--node-pool") and len(_pools(call, cluster)) > 1:
        raise _command_error(call, "No node pool was given with --node-pool and there are several.")
    call.values.setdefault("--node-pool", _pools(call, cluster)[0]["name"])
    pool = _named_pool(call, cluster)
    _require_confirmation(call)
    _check_is_idle(call, cluster)
    pool["initialNodeCount"] = int(size)
    _operate(call, "RECONCILING", cluster, pool)


def upgrade(call):
    cluster = _cluster(call, _name(call))
    if not call.has("--master") and not call.has("--node-pool"):
        raise Unsupported("gcloud container clusters upgrade of every node pool")
    pool = _named_pool(call, cluster) if call.has("--node-pool") else None
    _require_confirmation(call)
    version = _version(call.get("--cluster-version", cluster["currentMasterVersion"]))
    _check_is_idle(call, cluster)
    if pool is None:
        cluster["currentMasterVersion"] = version
        return _operate(call, "RECONCILING", cluster, cluster)
    if call.has("--image-type"):
        pool["config"]["imageType"] = call.get("--image-type").upper()
    pool["version"] = version
    _operate(call, "RECONCILING", cluster, pool)


def get_credentials(call):
    cluster = _cluster(call, _name(call))
    context = f"gke_{_project(call)}_{cluster['location']}_{cluster['name']}"
    name = cluster.get("controlPlaneEndpointsConfig", {}).get("dnsEndpointConfig", {})
    if call.get("--dns-endpoint") and not name.get("allowExternalTraffic"):
        raise _command_error(call, "DNS endpoint is not enabled for external traffic.")
    server = name["endpoint"] if call.get("--dns-endpoint") else cluster["endpoint"]
    call.data["contexts"][context] = {"server": f"https://{server}"}
    call.data["currentContext"] = context


def describe_pool(call):
    _print_result(call, _described_pool(call, *_pool(call)))


def list_pools(call):
    cluster = _cluster(call, _cluster_name(call))
    _print_result(call, [_described_pool(call, cluster, each) for each in _pools(call, cluster)])


def create_pool(call):
    cluster = _cluster(call, _cluster_name(call))
    name = _name(call)
    stored = call.data["gke"]["pools"].get(name)
    if stored:
        if stored.get("_cluster", cluster["name"]) != cluster["name"]:
            raise Unsupported(f"two GKE node pools named {name}")
        raise _api_error(call, 409, f"Already exists: {cluster['_path']}/nodePools/{name}.")
    _check_is_idle(call, cluster)
    pool = _new_pool(call, cluster, name)
    _operate(call, "PROVISIONING", cluster, pool)
    _print_result(call, [_described_pool(call, cluster, pool)])


def update_pool(call):
    groups = gke_pool.settings(call)
    if len(groups) != 1:
        given = " | ".join(" ".join(sorted(each)) for each in groups)
        raise _command_error(call, f"Exactly one of ({given or 'the settings'}) must be specified.", 2)
    if any(call.has(each) for each in ("--node-labels", "--node-taints", "--tags")):
        _require_confirmation(call)
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster)
    gke_pool.write(pool, call, creating=False)
    _operate(call, "RECONCILING", cluster, pool)
    _print_result(call, _described_pool(call, cluster, pool))


def delete_pool(call):
    _require_confirmation(call)
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster)
    _operate(call, "STOPPING", cluster, pool)


def _unknown(name, arguments):
    names = " ".join(arguments)
    return CommandError(2, f"ERROR: (gcloud.{name.replace(' ', '.')}) unrecognized arguments: {names}")


_KINDS = {"bool": BOOL, "list": VALUE}


def _tables(name, command):
    """Return the real flags of a command with the kinds of this parser, and the aliases."""
    for each in (flag_table("gcloud_flags.json") or {"commands": []})["commands"]:
        if each["command"] == "gcloud " + name:
            found, aliases = {}, {}
            for flag, about in each["flags"].items():
                kind = REPEAT if about.get("repeat") else _KINDS.get(about["type"], VALUE)
                found[flag] = BOOL if flag == "--quiet" else kind
                aliases |= {alias: flag for alias in about.get("alias", [])}
            return found | gce.NEWER_FLAGS.get(name, {}), aliases
    return None


_GLOBAL = flags(
    "quiet log-http", "project format account configuration verbosity billing-project"
    " impersonate-service-account access-token-file flags-file flatten"
)
_WHERE = flags("", "location zone region")
_CLUSTER = flags(
    "async enable-ip-alias enable-private-nodes enable-managed-prometheus enable-shielded-nodes"
    " enable-dataplane-v2 enable-image-streaming enable-multi-networking enable-private-endpoint"
    " enable-dns-access enable-master-global-access enable-master-authorized-networks",
    "database-encryption-key security-group master-authorized-networks release-channel workload-pool logging monitoring addons"
    " autoscaling-profile timeout maintenance-window-start maintenance-window-end maintenance-window-recurrence",
)
# Flags of node pools that `clusters create` does not accept for its first pool.
_POOLS_ONLY = flags(
    "enable-blue-green-upgrade enable-surge-upgrade enable-fast-socket enable-queued-provisioning"
    " flex-start",
    "accelerator-network-profile additional-node-network additional-pod-network cluster max-run-duration"
    " node-pool-soak-duration"
    " standard-rollout-policy windows-os-version",
)
_FIRST_POOL = {f: kind for f, kind in gke_pool.CREATE_FLAGS.items() if f not in _POOLS_ONLY}
_CREATE = _CLUSTER | _FIRST_POOL | flags(
    "", "cluster-version network subnetwork cluster-ipv4-cidr cluster-secondary-range-name services-ipv4-cidr"
    " services-secondary-range-name")
_POOL = _WHERE | flags("", "cluster")
_COMMANDS = {
    "version": (version_command("gcloud", "Google Cloud SDK {}\nbq 2.1.18\ncore 2025.06.20", "528.0.0"), False, {}),
    "projects describe": (describe_project, False, {}),
    "container clusters describe": (describe_cluster, False, _WHERE),
    "container clusters list": (list_clusters, False, _WHERE),
    "container clusters create": (create_cluster, True, _WHERE | _CREATE),
    "container clusters update": (
        update_cluster,
        True,
        _WHERE | _CLUSTER | flags(
            "disable-workload-identity clear-maintenance-window add-maintenance-exclusion-until-end-of-support",
            "update-labels remove-labels update-addons add-maintenance-exclusion-name add-maintenance-exclusion-start"
            " add-maintenance-exclusion-end add-maintenance-exclusion-scope remove-maintenance-exclusion",
        ),
    ),
    "container clusters delete": (delete_cluster, True, _WHERE | flags("async", "timeout")),
    "container clusters resize": (
        resize, True, _WHERE | flags("async", "node-pool num-nodes size timeout")
    ),
    "container clusters upgrade": (
        upgrade, True, _WHERE | flags("async master", "node-pool cluster-version image-type timeout")
    ),
    "container clusters get-credentials": (
        get_credentials, False, _WHERE | flags("internal-ip dns-endpoint")
    ),
    "container node-pools describe": (describe_pool, False, _POOL),
    "container node-pools list": (list_pools, False, _POOL),
    "container node-pools create": (create_pool, True, _POOL | gke_pool.CREATE_FLAGS),
    "container node-pools update": (update_pool, True, _POOL | gke_pool.UPDATE_FLAGS),
    "container node-pools delete": (delete_pool, True, _POOL | flags("async", "timeout")),
    "container operations describe": (describe_operation, False, _WHERE),
    "container operations list": (list_operations, False, _WHERE | flags("", "filter sort-by limit")),
    "container operations wait": (wait_for_operation, False, _WHERE),
    **gce.commands(_print_result),
}

_LOGIN = ("ERROR: (gcloud) There was a problem refreshing your current auth tokens: ('invalid_grant: Bad Request',"
          " {'error': 'invalid_grant'})\nPlease run:\n\n  $ gcloud auth login\n\nto obtain new credentials.")


def _throttled(call):
    return _api_error(call, 429, "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service"
                                 " 'container.googleapis.com' for consumer 'project_number:1'.")


def _quota(call):
    return _api_error(call, 403, 'Insufficient regional quota to satisfy request: resource "NVIDIA_H100_GPUS": request'
                                 " requires '8.0' and is short '8.0'. project has a quota of '0.0' with '0.0'"
                                 " available.")


TOOL = Tool(
    name="gcloud",
    commands={name: Command(_with_error_prefix(run), *rest) for name, (run, *rest) in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={"-q": "--quiet", "-z": "--zone", "-m": "--machine-type"},
    unknown=_unknown,
    outage="ERROR: (gcloud) There was a problem refreshing your current auth tokens:"
    " HTTPSConnectionPool(host='oauth2.googleapis.com', port=443): Max retries exceeded",
    style="gcloud",
    tables=_tables,
    errors={"throttled": _throttled, "expired": lambda _: CommandError(1, _LOGIN), "quota": _quota, "busy": _busy},
    outcomes={
        "container clusters describe": "elsewhere",
        "container clusters create": "still_running stockout",
        "container clusters update": "still_running",
        "container clusters upgrade": "still_running partial",
        "container clusters resize": "still_running partial",
        "container clusters delete": "still_running",
        "container node-pools create": "still_running stockout partial",
        "container node-pools update": "still_running partial",
        "container node-pools delete": "still_running",
    },
)
