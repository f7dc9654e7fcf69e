"""The GKE NodePool object: the fields that the flags of gcloud set, and the output of describe."""

from pathlib import Path

from .cli import CommandError, flags, yaml

# Settings that one call of `node-pools update` can combine. Every other flag requires its own call.
TOGETHER = [
    {"--machine-type", "--disk-type", "--disk-size"},
    {
        "--enable-autoscaling",
        "--min-nodes",
        "--max-nodes",
        "--total-min-nodes",
        "--total-max-nodes",
        "--location-policy",
        "--enable-autoprovisioning",
    },
    {"--enable-autorepair", "--enable-autoupgrade"},
    {
        "--enable-surge-upgrade",
        "--max-surge-upgrade",
        "--max-unavailable-upgrade",
        "--enable-blue-green-upgrade",
        "--standard-rollout-policy",
        "--node-pool-soak-duration",
    },
]

UPDATE_FLAGS = flags(
    "async enable-autorepair enable-autoupgrade enable-autoscaling enable-autoprovisioning"
    " enable-surge-upgrade enable-blue-green-upgrade enable-gvnic enable-image-streaming"
    " enable-private-nodes enable-fast-socket enable-confidential-nodes flex-start"
    " enable-queued-provisioning enable-insecure-kubelet-readonly-port",
    "cluster timeout node-locations accelerator min-nodes max-nodes total-min-nodes"
    " total-max-nodes location-policy workload-metadata max-surge-upgrade"
    " max-unavailable-upgrade standard-rollout-policy node-pool-soak-duration labels node-labels"
    " node-taints tags logging-variant max-run-duration machine-type disk-type disk-size"
    " confidential-node-type system-config-from-file containerd-config-from-file storage-pools"
    " resource-manager-tags windows-os-version",
    repeats="network-performance-configs",
)

CREATE_FLAGS = UPDATE_FLAGS | flags(
    "spot preemptible shielded-secure-boot shielded-integrity-monitoring",
    "num-nodes image-type node-version max-pods-per-node placement-type placement-policy"
    " reservation-affinity reservation local-nvme-ssd-block ephemeral-storage-local-ssd"
    " local-ssd-count scopes service-account metadata min-cpu-platform boot-disk-kms-key"
    " accelerator-network-profile",
    repeats="additional-node-network additional-pod-network",
)

_DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
_SHARING = {"time-sharing": "TIME_SHARING", "mps": "MPS"}
_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
_AFFINITY = {"any": "ANY_RESERVATION", "none": "NO_RESERVATION", "specific": "SPECIFIC_RESERVATION"}
QUEUED_TAINT = {"effect": "NO_SCHEDULE", "key": "cloud.google.com/gke-queued", "value": "true"}
AUTOMATIC_TAINT = {"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"}

# Flags that set one field of the pool.
_TEXT = {
    "--machine-type": "config.machineType",
    "--disk-type": "config.diskType",
    "--node-version": "version",
    "--placement-type": "placementPolicy.type",
    "--placement-policy": "placementPolicy.policyName",
    "--accelerator-network-profile": "networkConfig.acceleratorNetworkProfile",
    "--service-account": "config.serviceAccount",
    "--min-cpu-platform": "config.minCpuPlatform",
    "--boot-disk-kms-key": "config.bootDiskKmsKey",
    "--workload-metadata": "config.workloadMetadataConfig.mode",
    "--logging-variant": "config.loggingConfig.variantConfig.variant",
    "--max-run-duration": "config.maxRunDuration",
    "--location-policy": "autoscaling.locationPolicy",
}
_SWITCHES = {
    "--spot": "config.spot",
    "--preemptible": "config.preemptible",
    "--flex-start": "config.flexStart",
    "--enable-gvnic": "config.gvnic.enabled",
    "--enable-fast-socket": "config.fastSocket.enabled",
    "--enable-image-streaming": "config.gcfsConfig.enabled",
    "--enable-confidential-nodes": "config.confidentialNodes.enabled",
    "--shielded-secure-boot": "config.shieldedInstanceConfig.enableSecureBoot",
    "--shielded-integrity-monitoring": "config.shieldedInstanceConfig.enableIntegrityMonitoring",
    "--enable-queued-provisioning": "queuedProvisioning.enabled",
    "--enable-private-nodes": "networkConfig.enablePrivateNodes",
    "--enable-autorepair": "management.autoRepair",
    "--enable-autoupgrade": "management.autoUpgrade",
    "--enable-autoprovisioning": "autoscaling.autoprovisioned",
}
_NUMBERS = {
    "--num-nodes": "initialNodeCount",
    "--local-ssd-count": "config.localSsdCount",
    "--min-nodes": "autoscaling.minNodeCount",
    "--max-nodes": "autoscaling.maxNodeCount",
    "--total-min-nodes": "autoscaling.totalMinNodeCount",
    "--total-max-nodes": "autoscaling.totalMaxNodeCount",
    "--max-surge-upgrade": "upgradeSettings.maxSurge",
    "--max-unavailable-upgrade": "upgradeSettings.maxUnavailable",
}
_SSD = {
    "--local-nvme-ssd-block": "config.localNvmeSsdBlockConfig.localSsdCount",
    "--ephemeral-storage-local-ssd": "config.ephemeralStorageLocalSsdConfig.localSsdCount",
}


def _set(pool, path, value):
    *parents, last = path.split(".")
    for name in parents:
        pool = pool.setdefault(name, {})
    pool[last] = value


def parse_list(text):
    """Parse a list flag of gcloud. `^;^a;b` sets another delimiter."""
    delimiter = ","
    if text.startswith("^") and "^" in text[1:]:
        delimiter, text = text[1:].split("^", 1)
    return text.split(delimiter) if text else []


def parse_dict(flag, text):
    """Parse a dict flag of gcloud."""
    for item in parse_list(text):
        if "=" not in item:
            raise CommandError(2, f"argument {flag}: Bad syntax for dict arg: [{item}].")
    return dict(item.split("=", 1) for item in parse_list(text))


def _number(flag, text):
    try:
        return int(text)
    except ValueError as error:
        raise CommandError(2, f"argument {flag}: invalid int value: '{text}'") from error


def _accelerators(text, creating):
    given = parse_dict("--accelerator", text)
    if "type" not in given:
        raise CommandError(2, "argument --accelerator: Key [type] required in dict arg but not provided")
    known = {"type", "count", "gpu-driver-version", "gpu-partition-size", "gpu-sharing-strategy"}
    for key in given.keys() - known - {"max-shared-clients-per-gpu"}:
        raise CommandError(2, f"argument --accelerator: valid keys are {sorted(known)}; received: {key}")
    count = _number("--accelerator", given.get("count", "1"))
    found = {"acceleratorCount": str(count), "acceleratorType": given["type"]}
    if size := given.get("gpu-partition-size"):
        found["gpuPartitionSize"] = size
    strategy, clients = given.get("gpu-sharing-strategy"), given.get("max-shared-clients-per-gpu")
    if strategy or clients:
        if strategy and strategy not in _SHARING:
            raise CommandError(1, f"Invalid gpu sharing strategy [{strategy}]")
        found["gpuSharingConfig"] = {
            "gpuSharingStrategy": _SHARING[strategy or "time-sharing"],
            "maxSharedClientsPerGpu": clients or "2",
        }
    driver = given.get("gpu-driver-version") or ("default" if creating else None)
    if driver:
        if driver not in _DRIVERS:
            raise CommandError(1, f"Invalid gpu driver version [{driver}]")
        found["gpuDriverInstallationConfig"] = {"gpuDriverVersion": _DRIVERS[driver]}
    return [found]


def _taints(text):
    found = []
    for key, rest in parse_dict("--node-taints", text).items():
        value, _, effect = rest.rpartition(":")
        if effect not in _EFFECTS:
            raise CommandError(1, f"Invalid taint effect [{effect}] for argument --node-taints")
        found.append({"effect": _EFFECTS[effect], "key": key, "value": value})
    return found


def _reservation(call):
    affinity, name = call.get("--reservation-affinity"), call.get("--reservation")
    if affinity not in _AFFINITY:
        raise CommandError(2, f"argument --reservation-affinity: Invalid choice: '{affinity}'.")
    if affinity == "specific" and not name:
        raise CommandError(1, "Must specify --reservation for --reservation-affinity=specific")
    if affinity != "specific" and name:
        raise CommandError(1, f"Cannot specify --reservation for --reservation-affinity={affinity}")
    found = {"consumeReservationType": _AFFINITY[affinity]}
    if name:
        found |= {"key": "compute.googleapis.com/reservation-name", "values": [name]}
    return found


def write(pool, call, creating):
    """Set the fields of a pool from the flags of a call. Other fields do not change."""
    for known, convert in ((_TEXT, str), (_SWITCHES, bool)):
        for flag, path in known.items():
            if call.has(flag):
                _set(pool, path, convert(call.get(flag)))
    for flag, path in _NUMBERS.items():
        if call.has(flag):
            _set(pool, path, _number(flag, call.get(flag)))
    for flag, path in _SSD.items():
        if call.has(flag):
            _set(pool, path, _number(flag, parse_dict(flag, call.get(flag)).get("count", "1")))
    config = pool.setdefault("config", {})
    for flag, key in (("--node-labels", "labels"), ("--labels", "resourceLabels")):
        if call.has(flag):
            retained = {k: v for k, v in config.get(key, {}).items() if k.startswith("goog-")}
            config[key] = retained | parse_dict(flag, call.get(flag))
    if call.has("--metadata"):
        config["metadata"] = config.get("metadata", {}) | parse_dict("--metadata", call.get("--metadata"))
    if call.has("--node-taints"):
        config["taints"] = _taints(call.get("--node-taints"))
    if call.has("--accelerator"):
        config["accelerators"] = _accelerators(call.get("--accelerator"), creating)
    for flag, key in (("--tags", "tags"), ("--scopes", "oauthScopes")):
        if call.has(flag):
            config[key] = parse_list(call.get(flag))
    if call.has("--node-locations"):
        pool["locations"] = sorted(parse_list(call.get("--node-locations")))
    if call.has("--disk-size"):
        config["diskSizeGb"] = _number("--disk-size", call.get("--disk-size").removesuffix("GB"))
    if call.has("--image-type"):
        config["imageType"] = call.get("--image-type").upper()
    if call.has("--max-pods-per-node"):
        pool["maxPodsConstraint"] = {"maxPodsPerNode": call.get("--max-pods-per-node")}
    if call.has("--reservation-affinity") or call.has("--reservation"):
        config["reservationAffinity"] = _reservation(call)
    for networks, key in (
        ("--additional-node-network", "additionalNodeNetworkConfigs"),
        ("--additional-pod-network", "additionalPodNetworkConfigs"),
    ):
        if call.has(networks):
            found = [parse_dict(networks, each) for each in call.get(networks)]
            _set(pool, "networkConfig." + key, [_network(each) for each in found])
    if call.has("--system-config-from-file"):
        _system_config(config, call.get("--system-config-from-file"))
    _upgrades(pool, call)
    _autoscaling(pool, call)
    if creating:
        _flex_start(pool)


def _flex_start(pool):
    """Reject what flex-start machines do not support.

    Source: GoogleCloudPlatform/cluster-toolkit modules/compute/gke-node-pool/main.tf (preconditions), 2026-11-28.
    """
    config, name = pool["config"], "flex-start"
    if duration := config.get("maxRunDuration"):
        _duration("--max-run-duration", duration)
    if pool.get("queuedProvisioning", {}).get("enabled"):
        name = "queued provisioning"
        if pool.get("placementPolicy", {}).get("type") == "COMPACT":
            raise CommandError(1, "ResponseError: code=400, message=queued provisioning does not support COMPACT placement.")
    elif not config.get("flexStart"):
        return
    rejected = {
        "spot machines": config.get("spot") or config.get("preemptible"),
        "node autorepair": pool.get("management", {}).get("autoRepair"),
        "initial nodes": pool.get("initialNodeCount"),
        "a minimum number of nodes": pool.get("autoscaling", {}).get("totalMinNodeCount"),
        "a pool without autoscaling": not pool.get("autoscaling", {}).get("enabled"),
        "reservations":
            config.get("reservationAffinity", {}).get("consumeReservationType") != "NO_RESERVATION",
    }
    for words, is_set in rejected.items():
        if is_set:
            raise CommandError(1, f"ResponseError: code=400, message={name} does not support {words}.")


_HUGE_PAGES = {"hugepage_size2m": "hugepageSize2m", "hugepage_size1g": "hugepageSize1g"}


def _system_config(config, path):
    """Read a node system configuration. Source: api_lib/container/util.py, LoadSystemConfigFromYAML, SDK 528.0.0."""
    flag = "--system-config-from-file"
    try:
        given = yaml().safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(1, f"Failed to read {path}: {error}") from error
    linux = given.pop("linuxConfig", {})
    if given:
        raise CommandError(1, f"Invalid node config: unsupported key {sorted(given)[0]} of {flag}")
    pages = linux.pop("hugepageConfig", None)
    if linux:
        raise CommandError(1, f"Invalid node config: the fake does not know {sorted(linux)[0]} of {flag}")
    if pages is not None:
        found = {_HUGE_PAGES[key]: str(value) for key, value in pages.items()}
        config["linuxNodeConfig"] = {"hugepages": {key: int(value) for key, value in found.items()}}


def _network(given):
    names = {"pod-ipv4-range": "secondaryPodRange"}
    found = {names.get(key, key): value for key, value in given.items()}
    if maximum := found.pop("max-pods-per-node", None):
        found["maxPodsPerNode"] = {"maxPodsPerNode": maximum}
    return found


def _upgrades(pool, call):
    if call.has("--max-surge-upgrade") != call.has("--max-unavailable-upgrade"):
        raise CommandError(1, "Invalid value for [--max-surge-upgrade]: must be set together with"
                         " [--max-unavailable-upgrade]")
    if call.get("--enable-blue-green-upgrade") and call.get("--enable-surge-upgrade"):
        raise CommandError(1, "UpgradeSettings must contain only one of: --enable-surge-upgrade,"
                         " --enable-blue-green-upgrade")
    upgrades = pool.setdefault("upgradeSettings", {})
    if call.get("--enable-blue-green-upgrade"):
        upgrades["strategy"] = "BLUE_GREEN"
        upgrades.setdefault("blueGreenSettings", {
            "nodePoolSoakDuration": "3600s",
            "standardRolloutPolicy": {"batchNodeCount": 1, "batchSoakDuration": "0s"},
        })
    elif call.get("--enable-surge-upgrade"):
        upgrades["strategy"] = "SURGE"
        upgrades.pop("blueGreenSettings", None)
    _blue_green(upgrades, call)
    if upgrades.get("strategy") == "SURGE" and not (upgrades.get("maxSurge") or upgrades.get("maxUnavailable")):
        raise CommandError(1, "ResponseError: code=400, message=At least one of max_surge and max_unavailable"
                         " must be greater than 0.")


def _duration(flag, text):
    if not text.endswith("s") or not text[:-1].isdigit() or int(text[:-1]) > 7 * 24 * 3600:
        raise CommandError(1, f"ResponseError: code=400, message=Invalid duration {text} for {flag}.")
    return text


def _blue_green(upgrades, call):
    if not (call.has("--node-pool-soak-duration") or call.has("--standard-rollout-policy")):
        return
    settings = upgrades.setdefault("blueGreenSettings", {})
    if call.has("--node-pool-soak-duration"):
        flag = "--node-pool-soak-duration"
        settings["nodePoolSoakDuration"] = _duration(flag, call.get(flag))
    if call.has("--standard-rollout-policy"):
        flag = "--standard-rollout-policy"
        given = parse_dict(flag, call.get(flag))
        for key in given.keys() - {"batch-node-count", "batch-percent", "batch-soak-duration"}:
            raise CommandError(2, f"argument {flag}: valid keys are [batch-node-count, batch-percent,"
                             f" batch-soak-duration]; received: {key}")
        if "batch-node-count" in given and "batch-percent" in given:
            raise CommandError(1, "StandardRolloutPolicy must contain only one of: batch-node-count, batch-percent")
        policy = settings.setdefault("standardRolloutPolicy", {})
        policy.pop("batchNodeCount", None)
        policy.pop("batchPercentage", None)
        if "batch-node-count" in given:
            policy["batchNodeCount"] = _number(flag, given["batch-node-count"])
        elif "batch-percent" in given:
            policy["batchPercentage"] = float(given["batch-percent"])
        if "batch-soak-duration" in given:
            policy["batchSoakDuration"] = _duration(flag, given["batch-soak-duration"])


def _autoscaling(pool, call):
    enable = call.get("--enable-autoscaling")
    if enable is False:
        pool["autoscaling"] = {}
        return
    scaling = pool.get("autoscaling", {})
    for total, zonal in (("totalMinNodeCount", "minNodeCount"), ("totalMaxNodeCount", "maxNodeCount")):
        if scaling.get(total) and scaling.get(zonal):
            raise CommandError(1, "ResponseError: code=400, message=Total and per-zone node limits are"
                             " mutually exclusive.")
    if enable:
        scaling["enabled"] = True
        if not scaling.get("maxNodeCount") and not scaling.get("totalMaxNodeCount"):
            raise CommandError(1, "ResponseError: code=400, message=Max node count must be positive.")
        is_spot = pool["config"].get("spot") or pool["config"].get("preemptible")
        scaling.setdefault("locationPolicy", "ANY" if is_spot else "BALANCED")
    if scaling:
        pool["autoscaling"] = scaling


def settings(call):
    """Return the groups of settings in an update, of which GKE accepts exactly one."""
    common = {"--cluster", "--async", "--timeout"}
    alone = [flag for flag in call.values if flag in UPDATE_FLAGS and flag not in common]
    groups = {frozenset(next((each for each in TOGETHER if flag in each), {flag})) for flag in alone}
    return groups


# Maps with the user's keys. Protobuf JSON keeps map entries with empty values.
_MAPS = {"labels", "metadata", "resourceLabels"}


def _prune(value):
    """Return a value without the fields that protobuf JSON omits: false, zero and empty values."""
    if isinstance(value, list):
        return [_prune(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, each in sorted(value.items()):
        each = each if key in _MAPS else _prune(each)
        if each or (each == {} and key in ("autoscaling", "windowsNodeConfig")):
            found[key] = each
    return found


def describe(pool, siblings):
    """Return a pool in the format of describe, including GKE's automatic taint of GPU pools."""
    result = _prune({key: value for key, value in pool.items() if not key.startswith("_")})
    config = result.setdefault("config", {})
    has_cpu_pool = any(not each.get("config", {}).get("accelerators") for each in siblings)
    if config.get("accelerators") and has_cpu_pool:
        taints = config.setdefault("taints", [])
        if not any(each["key"] == AUTOMATIC_TAINT["key"] for each in taints):
            taints.append(dict(AUTOMATIC_TAINT))
    if result.get("queuedProvisioning", {}).get("enabled"):
        taints = config.setdefault("taints", [])
        if not any(each["key"] == QUEUED_TAINT["key"] for each in taints):
            taints.append(dict(QUEUED_TAINT))
    return result
