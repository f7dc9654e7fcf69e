"""A fake of `gcloud container` and `gcloud projects` with the GKE part of the state."""

import os

from . import gke_pool
from .cli import BOOL, REPEAT, VALUE, Command, CommandError, Tool, Unsupported, flags
from .cli import flag_table, print_json, query, without_internal_keys

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
    _print_result(call, [_described_cluster(call, cluster)])


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
    if call.has("--clear-maintenance-window"):
        cluster.pop("maintenancePolicy", None)
    given = {key: call.get(flag) for flag, key in _WINDOW.items() if call.has(flag)}
    if not given:
        return
    if len(given) != len(_WINDOW):
        raise _command_error(call, f"argument {' '.join(sorted(_WINDOW))}: must be specified together", 2)
    recurrence = given.pop("recurrence")
    window = {"recurringWindow": {"recurrence": recurrence, "window": given}}
    cluster["maintenancePolicy"] = {"resourceVersion": "a1", "window": window}


def update_cluster(call):
    cluster = _cluster(call, _name(call))
    common = {*_LOCATION, *_GLOBAL, "--async", "--timeout"}
    settings = {flag: value for flag, value in call.values.items() if flag not in common}
    # The flags of a maintenance window are one setting.
    groups = {"--maintenance-window" if flag in _WINDOW else flag for flag in settings}
    if len(groups) != 1:
        raise _command_error(call, "Exactly one of the settings of the cluster must be specified.", 2)
    _cluster_settings(call, cluster)
    cluster["_flags"] |= settings
    _print_result(call, _described_cluster(call, cluster))


def delete_cluster(call):
    _require_confirmation(call)
    cluster = _cluster(call, _name(call))
    for pool in _pools(call, cluster):
        del call.data["gke"]["pools"][pool["name"]]
    del call.data["gke"]["clusters"][cluster["name"]]


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
    pool["initialNodeCount"] = int(size)


def upgrade(call):
    cluster = _cluster(call, _name(call))
    if not call.has("--master") and not call.has("--node-pool"):
        raise Unsupported("gcloud container clusters upgrade of every node pool")
    pool = _named_pool(call, cluster) if call.has("--node-pool") else None
    _require_confirmation(call)
    version = _version(call.get("--cluster-version", cluster["currentMasterVersion"]))
    if pool is None:
        cluster["currentMasterVersion"] = version
        return
    if call.has("--image-type"):
        pool["config"]["imageType"] = call.get("--image-type").upper()
    pool["version"] = version


def get_credentials(call):
    cluster = _cluster(call, _name(call))
    context = f"gke_{_project(call)}_{cluster['location']}_{cluster['name']}"
    call.data["contexts"][context] = {"server": f"https://{cluster['endpoint']}"}
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
    pool = _new_pool(call, cluster, name)
    _print_result(call, [_described_pool(call, cluster, pool)])


def update_pool(call):
    groups = gke_pool.settings(call)
    if len(groups) != 1:
        given = " | ".join(" ".join(sorted(each)) for each in groups)
        raise _command_error(call, f"Exactly one of ({given or 'the settings'}) must be specified.", 2)
    if any(call.has(each) for each in ("--node-labels", "--node-taints", "--tags")):
        _require_confirmation(call)
    cluster, pool = _pool(call)
    gke_pool.write(pool, call, creating=False)
    _print_result(call, _described_pool(call, cluster, pool))


def delete_pool(call):
    _require_confirmation(call)
    _, pool = _pool(call)
    del call.data["gke"]["pools"][pool["name"]]


def version(_call):
    print("Google Cloud SDK 528.0.0")


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
            return found, aliases
    return None


_GLOBAL = flags(
    "quiet log-http", "project format account configuration verbosity billing-project"
    " impersonate-service-account access-token-file flags-file flatten"
)
_WHERE = flags("", "location zone region")
_CLUSTER = flags(
    "async enable-ip-alias enable-private-nodes enable-managed-prometheus enable-shielded-nodes"
    " enable-dataplane-v2 enable-image-streaming enable-multi-networking",
    "release-channel workload-pool logging monitoring addons autoscaling-profile timeout"
    " maintenance-window-start maintenance-window-end maintenance-window-recurrence",
)
# Flags of node pools that `clusters create` does not accept for its first pool.
_POOLS_ONLY = flags(
    "enable-blue-green-upgrade enable-surge-upgrade enable-fast-socket enable-queued-provisioning"
    " flex-start",
    "additional-node-network additional-pod-network cluster max-run-duration node-pool-soak-duration"
    " standard-rollout-policy windows-os-version",
)
_FIRST_POOL = {f: kind for f, kind in gke_pool.CREATE_FLAGS.items() if f not in _POOLS_ONLY}
_CREATE = _CLUSTER | _FIRST_POOL | flags("", "cluster-version network subnetwork")
_POOL = _WHERE | flags("", "cluster")
_COMMANDS = {
    "version": (version, False, {}),
    "projects describe": (describe_project, False, {}),
    "container clusters describe": (describe_cluster, False, _WHERE),
    "container clusters list": (list_clusters, False, _WHERE),
    "container clusters create": (create_cluster, True, _WHERE | _CREATE),
    "container clusters update": (
        update_cluster,
        True,
        _WHERE | _CLUSTER | flags(
            "disable-workload-identity clear-maintenance-window",
            "update-labels remove-labels update-addons",
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
}

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
)
