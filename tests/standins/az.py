"""A fake of `az aks`, `az group` and `az account` with the AKS part of the state."""

import re
import sys

from .cli import BOOL, LIST, VALUE, Command, CommandError, Failure, Tool, Unsupported, flags
from .cli import flag_table, print_json, query, version_command, without_internal_keys

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
DEFAULT_VERSION = "1.33.5"
SPOT = "kubernetes.azure.com/scalesetpriority"
# The validator of azure-cli 2.91.0 (acs/_validators.py): a taint must have a value.
_TAINT = re.compile(
    r"^[a-zA-Z\d][\w\-\.\/]{0,252}=[a-zA-Z\d][\w\-\.]{0,62}:(NoSchedule|PreferNoSchedule|NoExecute)$"
)
_UNSET = (
    "artifactStreamingProfile capacityReservationGroupId creationData enableEncryptionAtHost"
    " enableFips enableUltraSsd gatewayProfile gpuInstanceProfile gpuProfile hostGroupId"
    " kubeletConfig linuxOsConfig localDnsProfile maxCount messageOfTheDay minCount networkProfile"
    " nodeLabels nodePublicIpPrefixId nodeTaints podSubnetId proximityPlacementGroupId"
    " scaleSetEvictionPolicy scaleSetPriority spotMaxPrice tags virtualMachinesProfile"
    " vnetSubnetId windowsProfile workloadRuntime availabilityZones upgradeSettingsBlueGreen"
).split()


def _command_error(text, rc=1):
    return CommandError(rc, f"ERROR: {text}")


def _not_found(code, message):
    return CommandError(3, f"ERROR: ({code}) {message}\nCode: {code}\nMessage: {message}")


def _require(call, *names):
    missing = [name for name in names if not call.has(name)]
    if missing:
        raise _command_error(f"the following arguments are required: {', '.join(missing)}", 2)
    return [call.get(name) for name in names]


def _print_result(call, value):
    value = without_internal_keys(value)
    if call.has("--query"):
        value = query(value, call.get("--query"))
    output = call.get("--output", "json")
    if output == "none":
        return
    if output == "json":
        print_json(value)
    elif output == "tsv":
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, (dict, list)):
                raise Unsupported("az --output tsv of an object: name one field with --query")
            if isinstance(each, bool):
                each = str(each).lower()
            if each is not None:
                print(each)
    else:
        raise Unsupported(f"az --output {output}")


_FINAL = ("Succeeded", "Failed", "Canceled")
_VCPUS = "Insufficient vcpu quota requested 96, remaining 0 for family standardNDSH100v5Family for region westeurope."
_PROBLEMS = {
    "failed": ("ReconcileVMSSAgentPoolFailed", "VMSSAgentPoolReconciler retry failed: the pool was not reconciled."),
    "capacity": ("ErrCode_InsufficientVCPUQuota", _VCPUS),
}


def _pending(resource):
    return f"Another operation ({resource['provisioningState']}) is in progress"


def _busy(text="Another operation (Updating) is in progress"):
    return _command_error(f"(OperationNotAllowed) Operation is not allowed: {text}, please wait for it to finish before"
                          " starting a new operation. See https://aka.ms/aks-pending-operation for more details.\n"
                          "Code: OperationNotAllowed")


def _check_is_idle(call, cluster, *pools):
    """Refuse a change while AKS changes the cluster or the pool."""
    for each in [cluster, *pools]:
        if each.get("provisioningState", "Succeeded") not in _FINAL:
            raise _busy(_pending(each))


def _keys(resource):
    return ["aks", "clusters" if "_flags" in resource else "pools", resource["name"]]


def _operate(call, during, *resources):
    """Run an operation that creates, changes or deletes resources, and wait for it."""
    problem, done = _PROBLEMS.get(call.how), []
    for each in resources:
        keys = _keys(each)
        call.data.cancel(*keys)
        each["provisioningState"] = during
        if during == "Deleting":
            done.append(["del", keys])
            continue
        state = {"canceled": "Canceled"}.get(call.how, "Failed" if problem else "Succeeded")
        done.append(["set", [*keys, "provisioningState"], state])
        if problem:
            error = {"code": problem[0], "message": problem[1], "details": []}
            done.append(["set", [*keys, "status"], {"provisioningError": error}])
        else:
            done.append(["del", [*keys, "status"]])
        if call.how == "capacity":
            done.append(["set", [*keys, "count"], 0])
        if call.how == "stopped" or during == "Starting":
            code = "Running" if during == "Starting" else "Stopped"
            done.append(["set", [*keys, "powerState"], {"code": code}])
    call.data.later(call.delay, *done)
    if call.has("--no-wait") and not call.is_killed:
        return
    call.wait(call.delay)
    if problem:
        raise Failure(1, f"ERROR: ({problem[0]}) {problem[1]}\nCode: {problem[0]}\nMessage: {problem[1]}")
    if call.how == "canceled":
        raise Failure(1, "ERROR: (Canceled) The operation was canceled.\nCode: Canceled")


def _integer(call, name):
    try:
        return int(call.get(name))
    except ValueError as error:
        raise _command_error(f"argument {name}: invalid int value: '{call.get(name)}'", 2) from error


def show_account(call):
    stored = call.data["aks"].get("account") or {"id": SUBSCRIPTION, "name": "stand-in"}
    requested = call.get("--subscription")
    if requested and requested not in (stored["id"], stored["name"]):
        known = call.data["aks"].get("subscriptions")
        if known is not None and requested not in known:
            raise _command_error(f"Subscription '{requested}' not found. Check the spelling and casing and"
                                 " try again.")
        stored = stored | {"id": requested}
    _print_result(call, {"isDefault": True, "state": "Enabled", "tenantId": SUBSCRIPTION} | stored)


def set_account(call):
    _require(call, "--subscription")


def _group(call, name):
    stored = call.data["aks"]["groups"]
    if name not in stored:
        raise _not_found("ResourceGroupNotFound", f"Resource group '{name}' could not be found.")
    return stored[name]


def show_group(call):
    _print_result(call, _group(call, *_require(call, "--name")))


def group_exists(call):
    _print_result(call, _require(call, "--name")[0] in call.data["aks"]["groups"])


def create_group(call):
    name, location = _require(call, "--name", "--location")
    stored = call.data["aks"]["groups"].get(name)
    if stored and stored["location"] != location:
        raise _command_error(f"(InvalidResourceGroupLocation) Invalid resource group location '{location}'."
                             f" The Resource group already exists in location '{stored['location']}'.")
    group = stored or {
        "id": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}",
        "location": location,
        "managedBy": None,
        "name": name,
        "properties": {"provisioningState": "Succeeded"},
        "tags": None,
    }
    if call.has("--tags"):
        group["tags"] = _pairs(call.get("--tags"))
    call.data["aks"]["groups"][name] = group
    _print_result(call, group)


def _pairs(items):
    """Parse `k=v k=v`. An empty string removes all pairs."""
    return dict((each.split("=", 1) + [""])[:2] for each in items if each)


def _labels(items):
    for each in items:
        if each and "=" not in each:
            raise _command_error(f"Invalid label: {each}. Label definition must be of format name=value.")
    return _pairs(items)


def _taints(text):
    found = [each.strip() for each in text.split(",") if each.strip()]
    for each in found:
        if not _TAINT.match(each):
            raise _command_error(f"Invalid node taint: {each}")
    return found


def _cluster(call, flag):
    group, name = _require(call, "--resource-group", flag)
    _group(call, group)
    found = call.data["aks"]["clusters"].get(name)
    if not found or found["resourceGroup"] != group:
        kind = "Microsoft.ContainerService/managedClusters"
        raise _not_found("ResourceNotFound", f"The Resource '{kind}/{name}' under resource group"
                         f" '{group}' was not found.")
    return found


def _pools(call, cluster):
    stored = call.data["aks"]["pools"].values()
    return [each for each in stored if each.get("_cluster", cluster["name"]) == cluster["name"]]


def _pool(call):
    cluster = _cluster(call, "--cluster-name")
    (name,) = _require(call, "--name")
    for pool in _pools(call, cluster):
        if pool["name"] == name:
            return cluster, pool
    raise _not_found("NotFound", f"Could not find the agent pool '{name}' in managed cluster"
                     f" '{cluster['name']}'.")


def _set_bounds(call, pool, enabling):
    if enabling and not (call.has("--min-count") and call.has("--max-count")):
        raise _command_error("Please specify both min-count and max-count when --enable-cluster-autoscaler"
                             " enabled")
    minimum, maximum = _integer(call, "--min-count"), _integer(call, "--max-count")
    if minimum > maximum:
        raise _command_error("Value of min-count should be less than or equal to value of max-count.")
    pool |= {"enableAutoScaling": True, "minCount": minimum, "maxCount": maximum}


# Flags that set one key of the pool: the first table for add, the second for update.
_ADD = {
    "--node-vm-size": "vmSize", "--os-type": "osType", "--os-sku": "osSku",
    "--vnet-subnet-id": "vnetSubnetId", "--pod-subnet-id": "podSubnetId",
    "--kubernetes-version": "orchestratorVersion", "--node-osdisk-type": "osDiskType",
    "--eviction-policy": "scaleSetEvictionPolicy", "--ppg": "proximityPlacementGroupId",
    "--crg-id": "capacityReservationGroupId", "--gpu-instance-profile": "gpuInstanceProfile",
    "--host-group-id": "hostGroupId", "--mode": "mode", "--scale-down-mode": "scaleDownMode",
    "--workload-runtime": "workloadRuntime",
}
_UPDATE = {"--os-sku": "osSku", "--mode": "mode", "--scale-down-mode": "scaleDownMode"}
_UPGRADE = {
    "--max-surge": "maxSurge", "--max-unavailable": "maxUnavailable",
    "--drain-timeout": "drainTimeoutInMinutes", "--node-soak-duration": "nodeSoakDurationInMinutes",
    "--undrainable-node-behavior": "undrainableNodeBehavior",
}


def _check_upgrade(pool, call):
    """The settings that AKS refuses. Sources: hashicorp/terraform-provider-azurerm#19355 and #31129;
    MicrosoftDocs/azure-aks-docs articles/aks/upgrade-aks-node-pools-rolling.md@32892028."""
    surge, unavailable = (pool["upgradeSettings"][key] for key in ("maxSurge", "maxUnavailable"))
    for flag, key, text in (("--max-surge", "maxSurge", "max surge"),
                            ("--max-unavailable", "maxUnavailable", "maxUnavailable")):
        if call.has(flag) and pool["scaleSetPriority"] == "Spot":
            raise _command_error(f"(InvalidParameter) The value of parameter agentPoolProfile.upgrade.{key} is"
                                 f" invalid. Error details: Spot pools can't set {text}.")
    if (surge in ("0", "0%")) == (unavailable in ("0", "0%")):
        raise _command_error("(InvalidParameter) Exactly one of maxSurge and maxUnavailable must be above 0, not"
                             f" {surge} and {unavailable}.")


def _write(pool, call, texts):
    for flag, key in texts.items():
        if call.has(flag):
            pool[key] = call.get(flag)
    for flag, key in _UPGRADE.items():
        if call.has(flag):
            text = call.get(flag)
            pool["upgradeSettings"][key] = int(text) if key.endswith("Minutes") else text
    _check_upgrade(pool, call)
    if call.has("--labels"):
        pool["nodeLabels"] = _labels(call.get("--labels")) or None
    if call.has("--node-taints"):
        pool["nodeTaints"] = _taints(call.get("--node-taints")) or None
    if call.has("--tags"):
        pool["tags"] = _pairs(call.get("--tags")) or None
    if call.has("--gpu-driver"):
        driver = call.get("--gpu-driver").capitalize()
        if driver not in ("Install", "None"):
            raise _command_error(f"argument --gpu-driver: invalid choice: '{driver}'", 2)
        pool["gpuProfile"] = {"driver": driver}
    # AKS always restores its own taint and label of spot pools.
    if pool["scaleSetPriority"] == "Spot":
        pool["nodeLabels"] = (pool["nodeLabels"] or {}) | {SPOT: "spot"}
        taint = f"{SPOT}=spot:NoSchedule"
        pool["nodeTaints"] = [each for each in pool["nodeTaints"] or [] if each != taint] + [taint]


def _new_pool(call, cluster, name):
    if not name.isalnum() or len(name) > 12:
        raise _command_error("--nodepool-name can contain at most 12 characters and should contain only"
                             " alphanumeric characters")
    pool = dict.fromkeys(_UNSET) | {
        "_cluster": cluster["name"],
        "count": _integer(call, "--node-count") if call.has("--node-count") else 3,
        "enableAutoScaling": False, "enableNodePublicIp": False, "kubeletDiskType": "OS",
        "id": f"{cluster['id']}/agentPools/{name}", "maxPods": 250, "mode": "User", "name": name,
        "orchestratorVersion": cluster["kubernetesVersion"], "osDiskSizeGb": 128,
        "osDiskType": "Managed", "osSku": "Ubuntu", "osType": "Linux",
        "powerState": {"code": "Running"}, "provisioningState": "Succeeded",
        "resourceGroup": cluster["resourceGroup"], "scaleDownMode": "Delete",
        "securityProfile": {"enableSecureBoot": False, "enableVtpm": False},
        "type": "Microsoft.ContainerService/managedClusters/agentPools",
        "typePropertiesType": "VirtualMachineScaleSets",
        "upgradeSettings": {
            "drainTimeoutInMinutes": None, "maxSurge": "10%", "maxUnavailable": "0",
            "nodeSoakDurationInMinutes": None, "undrainableNodeBehavior": None,
        },
        "vmSize": "Standard_D4s_v5",
    }
    del pool["upgradeSettingsBlueGreen"]
    if call.has("--spot-max-price") and call.get("--priority") != "Spot":
        raise _command_error("--spot_max_price can only be set when --priority is Spot")
    if call.get("--priority") == "Spot":
        pool |= {"scaleSetPriority": "Spot", "scaleSetEvictionPolicy": "Delete"}
        pool["spotMaxPrice"] = float(call.get("--spot-max-price", "-1"))
    if call.has("--enable-cluster-autoscaler"):
        _set_bounds(call, pool, enabling=True)
        if not pool["minCount"] <= pool["count"] <= pool["maxCount"]:
            raise _command_error("node-count is not in the range of min-count and max-count")
    elif call.has("--min-count") or call.has("--max-count"):
        raise _command_error("min-count and max-count are required for --enable-cluster-autoscaler, please"
                             " use the flag")
    for flag, key in (("--max-pods", "maxPods"), ("--node-osdisk-size", "osDiskSizeGb")):
        if call.has(flag):
            pool[key] = _integer(call, flag)
    if call.has("--zones"):
        pool["availabilityZones"] = call.get("--zones")
    for flag, key in (("--enable-ultra-ssd", "enableUltraSsd"), ("--enable-fips-image", "enableFips"),
                      ("--enable-encryption-at-host", "enableEncryptionAtHost"),
                      ("--enable-node-public-ip", "enableNodePublicIp")):
        if call.has(flag):
            pool[key] = True
    _write(pool, call, _ADD)
    call.data["aks"]["pools"][name] = pool
    return pool


def _described(call, cluster):
    return without_internal_keys(cluster) | {"agentPoolProfiles": _pools(call, cluster)}


def show_cluster(call):
    _print_result(call, _described(call, _cluster(call, "--name")))


def create_cluster(call):
    group, name = _require(call, "--resource-group", "--name")
    location = call.get("--location", _group(call, group)["location"])
    if name in call.data["aks"]["clusters"]:
        raise _command_error(f"The cluster '{name}' under resource group '{group}' already exists. Please"
                             " use command 'az aks update' to update the existing cluster.")
    base = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"
    cluster = {
        "_flags": dict(call.values), "fqdn": f"{name}.hcp.{location}.azmk8s.io",
        "id": f"{base}/providers/Microsoft.ContainerService/managedClusters/{name}",
        "kubernetesVersion": call.get("--kubernetes-version", DEFAULT_VERSION),
        "location": location, "name": name, "provisioningState": "Succeeded",
        "powerState": {"code": "Running"}, "resourceGroup": group,
        "nodeResourceGroup": call.get("--node-resource-group", f"MC_{group}_{name}_{location}"),
        "apiServerAccessProfile": None, "aadProfile": None, "disableLocalAccounts": False, "identity": {"type": "SystemAssigned", "userAssignedIdentities": None},
        "securityProfile": {"workloadIdentity": None},
        "networkProfile": {
            "networkPlugin": call.get("--network-plugin", "azure"),
            "networkPluginMode": call.get("--network-plugin-mode", "overlay"),
            "networkPolicy": call.get("--network-policy", "none"),
            "podCidr": call.get("--pod-cidr", "10.244.0.0/16"),
            "serviceCidr": call.get("--service-cidr", "10.0.0.0/16"),
            "dnsServiceIP": call.get("--dns-service-ip", "10.0.0.10"),
            "outboundType": "loadBalancer",
        },
        "diskEncryptionSetId": call.get("--node-osdisk-diskencryptionset-id"),
        "identityProfile": {"kubeletidentity": {"resourceId": f"/subscriptions/{SUBSCRIPTION}/resourcegroups/MC_{group}"
                            f"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}-agentpool"}},
        "oidcIssuerProfile": {"enabled": False, "issuerUrl": None},
        "storageProfile": {"blobCsiDriver": None},
        "sku": {"name": "Base", "tier": "Free"}, "supportPlan": "KubernetesOfficial", "tags": None,
    }
    if call.has("--enable-private-cluster"):
        cluster["apiServerAccessProfile"] = {"enablePrivateCluster": True, "enablePrivateClusterPublicFqdn": True,
                                             "privateDnsZone": call.get("--private-dns-zone", "system")}
    elif call.has("--private-dns-zone"):
        raise _command_error("Invalid private dns zone for public cluster. It should always be empty for public cluster")
    _write_cluster(cluster, call)
    call.data["aks"]["clusters"][name] = cluster
    # The flags of `aks create` for the first pool have different names.
    renamed = {"--nodepool-labels": "--labels", "--nodepool-taints": "--node-taints",
               "--nodepool-tags": "--tags"}
    cluster_values, pool_values = call.values, {}
    for flag, value in cluster_values.items():
        if flag not in ("--tags", "--name", "--mode"):
            pool_values[renamed.get(flag, flag)] = value
    call.values = pool_values | {"--mode": "System"}
    _check_identity(cluster, _new_pool(call, cluster, cluster_values.get("--nodepool-name", "nodepool1")))
    call.values = cluster_values
    _operate(call, "Creating", cluster, *_pools(call, cluster))
    _print_result(call, _described(call, cluster))


def _write_access(cluster, call):
    """Apply who can reach the API server and log in, with the checks of acs/managed_cluster_decorator.py."""
    profile = cluster["apiServerAccessProfile"] or {}
    is_private = profile.get("enablePrivateCluster", False)
    if call.has("--api-server-authorized-ip-ranges"):
        if is_private:
            raise _command_error("--api-server-authorized-ip-ranges is not supported for private cluster")
        ranges = call.get("--api-server-authorized-ip-ranges")
        profile = profile | {"authorizedIpRanges": ranges.split(",") if ranges else []}
    for flag, enabled in (("--enable-public-fqdn", True), ("--disable-public-fqdn", False)):
        if call.has(flag):
            if not is_private:
                raise _command_error(f"{flag} can only be used for private cluster")
            profile = profile | {"enablePrivateClusterPublicFqdn": enabled}
    cluster["apiServerAccessProfile"] = profile or None
    aad = cluster.get("aadProfile")
    if call.has("--enable-aad"):
        if aad and aad["managed"]:
            raise _command_error('Cannot specify "--enable-aad" if managed AAD is already enabled')
        aad = {"managed": True, "adminGroupObjectIDs": None, "enableAzureRbac": False, "tenantId": SUBSCRIPTION}
    for flag in ("--aad-admin-group-object-ids", "--aad-tenant-id", "--enable-azure-rbac", "--disable-azure-rbac"):
        if call.has(flag) and not aad:
            raise _command_error(f'Cannot specify "{flag}" if managed AAD is not enabled')
    if call.has("--aad-admin-group-object-ids"):
        groups = call.get("--aad-admin-group-object-ids")
        aad = aad | {"adminGroupObjectIDs": groups.split(",") if groups else None}
    if call.has("--aad-tenant-id"):
        aad = aad | {"tenantId": call.get("--aad-tenant-id")}
    for flag, enabled in (("--enable-azure-rbac", True), ("--disable-azure-rbac", False)):
        if call.has(flag):
            aad = aad | {"enableAzureRbac": enabled}
    cluster["aadProfile"] = aad
    for flag, disabled in (("--enable-local-accounts", False), ("--disable-local-accounts", True)):
        if call.has(flag):
            if disabled and not aad:
                raise _command_error("(BadRequest) Disabling local accounts requires AAD to be enabled")
            cluster["disableLocalAccounts"] = disabled


def _write_control_plane(cluster, call):
    """Apply the identity of nodes, the outbound type and the key, with the checks of acs/managed_cluster_decorator.py."""
    if call.has("--assign-kubelet-identity"):
        if cluster["identity"]["type"] != "UserAssigned" and not call.has("--assign-identity"):
            raise _command_error("--assign-kubelet-identity can only be specified when --assign-identity is specified")
        if call.command == "aks update":
            _require_confirmation(call)
        cluster["identityProfile"]["kubeletidentity"]["resourceId"] = call.get("--assign-kubelet-identity")
    if call.has("--outbound-type"):
        outbound = call.get("--outbound-type")
        if outbound in ("userDefinedRouting", "userAssignedNATGateway") and call.command == "aks create" \
                and not call.has("--vnet-subnet-id"):
            raise _command_error(f"--vnet-subnet-id must be specified for {outbound} and it must be pre-configured.")
        cluster["networkProfile"]["outboundType"] = outbound
    if call.has("--azure-keyvault-kms-key-id") and not call.has("--enable-azure-keyvault-kms"):
        raise _command_error('"--azure-keyvault-kms-key-id" requires "--enable-azure-keyvault-kms".')
    if call.has("--enable-azure-keyvault-kms"):
        if not call.has("--azure-keyvault-kms-key-vault-network-access"):
            raise _command_error('"--azure-keyvault-kms-key-vault-network-access" is required.')
        cluster["securityProfile"]["azureKeyVaultKms"] = {
            "enabled": True, "keyId": call.get("--azure-keyvault-kms-key-id"), "keyVaultNetworkAccess": "Public"}


def _write_cluster(cluster, call):
    """Apply the settings that create and update have in common."""
    _write_access(cluster, call)
    _write_control_plane(cluster, call)
    if call.has("--tags"):
        cluster["tags"] = _pairs(call.get("--tags")) or None
    if call.has("--assign-identity"):
        cluster["identity"] = {"type": "UserAssigned", "userAssignedIdentities": {call.get("--assign-identity"): {}}}
    if call.has("--tier"):
        cluster["sku"]["tier"] = call.get("--tier").capitalize()
    if call.has("--k8s-support-plan"):
        cluster["supportPlan"] = call.get("--k8s-support-plan")
    if call.has("--enable-blob-driver"):
        cluster["storageProfile"]["blobCsiDriver"] = {"enabled": True}
    if call.has("--enable-oidc-issuer"):
        cluster["oidcIssuerProfile"]["enabled"] = True
    for flag, key in (("--auto-upgrade-channel", "upgradeChannel"),
                      ("--node-os-upgrade-channel", "nodeOsUpgradeChannel")):
        if call.has(flag):
            profile = cluster.get("autoUpgradeProfile") or {}
            cluster["autoUpgradeProfile"] = profile | {key: call.get(flag)}
    for flag, enabled in (("--enable-workload-identity", True), ("--disable-workload-identity", False)):
        if call.has(flag):
            if enabled and not cluster["oidcIssuerProfile"]["enabled"]:
                raise _command_error("Enabling workload identity requires enabling OIDC issuer"
                                     " (--enable-oidc-issuer).")
            cluster["securityProfile"]["workloadIdentity"] = {"enabled": enabled}


def _schedules(call):
    cluster = _cluster(call, "--cluster-name")
    (name,) = _require(call, "--name")
    return cluster, cluster.setdefault("_schedules", {}), name


def show_schedule(call):
    _, stored, name = _schedules(call)
    if name not in stored:
        raise _not_found("NotFound", f"The maintenance configuration '{name}' was not found.")
    _print_result(call, stored[name])


def write_schedule(call):
    cluster, stored, name = _schedules(call)
    if call.get("--schedule-type") != "Weekly":
        raise Unsupported("az aks maintenanceconfiguration without --schedule-type Weekly")
    if (name in stored) == call.command.endswith(" add"):
        state = "already exists" if name in stored else "does not exist"
        raise _command_error(f"Maintenance configuration '{name}' {state} in cluster '{cluster['name']}'.")
    day, start = _require(call, "--day-of-week", "--start-time")
    stored[name] = {
        "id": f"{cluster['id']}/maintenanceConfigurations/{name}", "name": name,
        "maintenanceWindow": {
            "schedule": {"daily": None, "weekly": {
                "dayOfWeek": day, "intervalWeeks": _integer(call, "--interval-weeks")}},
            "durationHours": _integer(call, "--duration"), "startTime": start,
            "utcOffset": call.get("--utc-offset", "+00:00"), "startDate": "2026-11-21",
        },
        "notAllowedTime": None, "timeInWeek": None,
    }
    _print_result(call, stored[name])


def update_cluster(call):
    cluster = _cluster(call, "--name")
    if call.has("--assign-identity"):
        if not call.has("--enable-managed-identity"):
            raise _command_error("--assign-identity can only be specified when --enable-managed-identity is specified")
        _require_confirmation(call)
    _check_is_idle(call, cluster, *_pools(call, cluster))
    _write_cluster(cluster, call)
    if call.has("--network-policy"):
        cluster["networkProfile"]["networkPolicy"] = call.get("--network-policy")
    cluster["_flags"] |= call.values
    _operate(call, "Updating", cluster)
    _print_result(call, _described(call, cluster))


def upgrade_cluster(call):
    cluster = _cluster(call, "--name")
    _require_confirmation(call)
    _check_is_idle(call, cluster, *_pools(call, cluster))
    cluster["kubernetesVersion"] = call.get("--kubernetes-version", cluster["kubernetesVersion"])
    pools = [] if call.has("--control-plane-only") else _pools(call, cluster)
    for pool in pools:
        pool["orchestratorVersion"] = cluster["kubernetesVersion"]
    _operate(call, "Upgrading", cluster, *pools)
    _print_result(call, _described(call, cluster))


def _require_confirmation(call):
    if not call.has("--yes"):
        raise _command_error("Unable to prompt for confirmation as no tty available. Use --yes.")


def delete_cluster(call):
    cluster = _cluster(call, "--name")
    _require_confirmation(call)
    pools = _pools(call, cluster)
    _check_is_idle(call, cluster, *pools)
    _operate(call, "Deleting", cluster, *pools)


def start_cluster(call):
    cluster = _cluster(call, "--name")
    _check_is_idle(call, cluster)
    _operate(call, "Starting", cluster)


def start_pool(call):
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster, pool)
    _operate(call, "Starting", pool)
    _print_result(call, pool)


def update_resource(call):
    """Write a cluster or a pool as it is, which reconciles it."""
    (ids,) = _require(call, "--ids")
    (wanted,) = ids
    for each in [*call.data["aks"]["clusters"].values(), *call.data["aks"]["pools"].values()]:
        if each["id"].lower() == wanted.lower():
            _check_is_idle(call, each)
            _operate(call, "Updating", each)
            return _print_result(call, each)
    raise _not_found("ResourceNotFound", f"The Resource '{wanted}' was not found.")


def wait(call):
    """Poll a cluster or a pool. At the timeout, the real tool prints {} with rc 0 (azure-cli#34004)."""
    conditions = [each for each in ("--created", "--updated", "--deleted", "--exists", "--custom") if call.has(each)]
    if len(conditions) != 1:
        raise _command_error("incorrect usage: --created | --updated | --deleted | --exists | --custom JMESPATH", 2)
    find = (lambda: _pool(call)[1]) if "nodepool" in call.command else (lambda: _cluster(call, "--name"))
    interval, timeout = int(call.get("--interval", "30")), int(call.get("--timeout", "3600"))
    for left in reversed(range(max(1, timeout // interval))):
        try:
            found = find()
        except CommandError as error:
            if error.rc != 3 or call.has("--updated"):
                raise
            if call.has("--deleted"):
                return
            found = {}
        state = found.get("provisioningState")
        if found and (call.has("--exists") or _matches(call.get("--custom"), found)):
            return
        if state == "Succeeded" and (call.has("--created") or call.has("--updated")):
            return
        if state == "Failed":
            raise Failure(1, "ERROR: The operation failed")
        # Without pending changes, every further poll has the same result.
        if not left or not call.data.time["pending"]:
            break
        call.wait(1)
    print("{}")


def _matches(condition, found):
    """Return whether a resource meets a condition of the form PATH=='TEXT' or PATH!='TEXT'."""
    if not condition:
        return False
    parts = re.fullmatch(r"\s*([\w.]+)\s*(==|!=)\s*['`\"]+([^'`\"]*)['`\"]+\s*", condition)
    if not parts:
        raise Unsupported(f"az --custom {condition}")
    path, operator, text = parts.groups()
    return (query(found, path) == text) == (operator == "==")


def get_credentials(call):
    cluster = _cluster(call, "--name")
    if call.has("--admin") and cluster["disableLocalAccounts"]:
        raise _command_error("(BadRequest) Getting static credential is not allowed because this cluster is set to"
                             " disable local accounts.")
    name = call.get("--context", cluster["name"] + ("-admin" if call.has("--admin") else ""))
    if name in call.data["contexts"] and not call.has("--overwrite-existing"):
        stored = call.data["contexts"][name]
        if stored.get("server") != f"https://{cluster['fqdn']}:443":
            raise _command_error(f"A different object named {name} already exists in your kubeconfig file.")
    call.data["contexts"][name] = {"server": f"https://{cluster['fqdn']}:443"}
    # Releases before 2.91.0 do not run kubelogin.
    if cluster["aadProfile"] and not call.has("--admin"):
        call.data["contexts"][name]["login"] = "devicecode"
    call.data["currentContext"] = name


def show_pool(call):
    _print_result(call, _pool(call)[1])


def list_pools(call):
    _print_result(call, _pools(call, _cluster(call, "--cluster-name")))


def _check_identity(cluster, pool):
    """Only a user-assigned identity can use a capacity reservation group. The code of the real error is not known."""
    if pool["capacityReservationGroupId"] and cluster["identity"]["type"] != "UserAssigned":
        raise _command_error("(BadRequest) The identity of the cluster cannot use capacity reservation group"
                             f" {pool['capacityReservationGroupId']}.")


def _leave_reservation(call, pool):
    """Create the pool without the group, as AKS does if the group has no reservation."""
    if call.how == "unreserved":
        print("WARNING: The capacity reservation group has no reservation for this pool. The pool does not use it.",
              file=sys.stderr)
        pool["capacityReservationGroupId"] = None


def add_pool(call):
    cluster = _cluster(call, "--cluster-name")
    (name,) = _require(call, "--name")
    stored = call.data["aks"]["pools"].get(name)
    if stored and stored.get("_cluster", cluster["name"]) != cluster["name"]:
        raise Unsupported(f"two AKS node pools named {name}")
    if stored:
        raise _command_error(f"Node pool {name} already exists, please try a different name, use 'aks"
                             " nodepool list' to get current list of node pool")
    _check_is_idle(call, cluster)
    pool = _new_pool(call, cluster, name)
    _check_identity(cluster, pool)
    _leave_reservation(call, pool)
    _operate(call, "Creating", pool)
    _print_result(call, pool)


def update_pool(call):
    _require(call, "--resource-group", "--cluster-name", "--name")
    switches = ["--enable-cluster-autoscaler", "--disable-cluster-autoscaler",
                "--update-cluster-autoscaler"]
    given = [each for each in switches if call.has(each)]
    common = {"--resource-group", "--cluster-name", "--name", "--no-wait", *_GLOBAL}
    if not call.values.keys() - common:
        raise _command_error("Please specify one or more of the settings of the node pool to update", 2)
    if len(given) > 1:
        raise _command_error("Can only specify one of --enable-cluster-autoscaler,"
                             " --update-cluster-autoscaler and --disable-cluster-autoscaler", 2)
    if not given and (call.has("--min-count") or call.has("--max-count")):
        raise _command_error("min-count and max-count need --enable-cluster-autoscaler or"
                             " --update-cluster-autoscaler")
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster, pool)
    if given[:1] == switches[:1]:
        if pool["enableAutoScaling"]:
            raise _command_error("Cluster autoscaler is already enabled for this node pool. Please run"
                                 " \"az aks nodepool update --update-cluster-autoscaler\".")
        _set_bounds(call, pool, enabling=True)
    elif given[:1] == switches[2:]:
        if not pool["enableAutoScaling"]:
            raise _command_error("Cluster autoscaler is not enabled for this node pool. Run \"az aks"
                                 " nodepool update --enable-cluster-autoscaler\" to enable cluster with"
                                 " min-count and max-count.")
        _set_bounds(call, pool, enabling=True)
    elif given:
        pool |= {"enableAutoScaling": False, "minCount": None, "maxCount": None}
    _write(pool, call, _UPDATE)
    _operate(call, "Updating", pool)
    _print_result(call, pool)


def scale_pool(call):
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster, pool)
    count = _integer(call, "--node-count") if call.has("--node-count") else 3
    if pool["enableAutoScaling"]:
        raise _command_error("Cannot scale cluster autoscaler enabled node pool.")
    if count == pool["count"]:
        raise _command_error("The new node count is the same as the current node count.")
    pool["count"] = count
    _operate(call, "Scaling", pool)
    _print_result(call, pool)


def upgrade_pool(call):
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster, pool)
    pool["orchestratorVersion"] = call.get("--kubernetes-version", pool["orchestratorVersion"])
    _operate(call, "Upgrading", pool)
    _print_result(call, pool)


def delete_pool(call):
    cluster, pool = _pool(call)
    _check_is_idle(call, cluster, pool)
    _operate(call, "Deleting", pool)


def _unknown(_name, arguments):
    return CommandError(2, f"ERROR: unrecognized arguments: {' '.join(arguments)}")


_ALIASES = {"-g": "--resource-group", "-n": "--name", "-o": "--output", "-y": "--yes"}
_AKS_ALIASES = {"-k": "--kubernetes-version", "-c": "--node-count", "-s": "--node-vm-size",
                "-z": "--zones", "-m": "--max-pods", "-e": "--enable-cluster-autoscaler",
                "-l": "--location"}
_POOL_ALIASES = _AKS_ALIASES | {"--nodepool-name": "--name", "-u": "--update-cluster-autoscaler",
                                "-d": "--disable-cluster-autoscaler"}
_GROUP_ALIASES = {"-l": "--location", "-g": "--name", "--resource-group": "--name"}


def _tables(name, command):
    """Return the real flags of a command with the kinds of this parser, and the aliases."""
    for each in (flag_table("az_flags.json") or {"commands": []})["commands"]:
        if each["command"] == "az " + name:
            kinds = {"bool": BOOL, "list": LIST}
            found = {flag: kinds.get(about["type"], VALUE) for flag, about in each["flags"].items()}
            aliases = {a: flag for flag, about in each["flags"].items() for a in about.get("alias", [])}
            return found, aliases
    return None


_GLOBAL = flags("only-show-errors verbose debug", "subscription output query")
_NAMED = flags("", "resource-group name")
_WAITED = _NAMED | flags("no-wait")
_CONFIRMED = _WAITED | flags("yes")
_INPOOL = _WAITED | flags("", "cluster-name")
_AUTOSCALING = flags("enable-cluster-autoscaler disable-cluster-autoscaler"
                     " update-cluster-autoscaler", "min-count max-count")
_POOL_UPDATE = _AUTOSCALING | flags("", " ".join(
    each[2:] for each in [*_UPDATE, *_UPGRADE, "--node-taints", "--gpu-driver"]), "labels tags")
_POOL_ADD = {**_POOL_UPDATE, **flags(
    "enable-ultra-ssd enable-fips-image enable-encryption-at-host enable-node-public-ip",
    " ".join(each[2:] for each in _ADD) + " node-count priority spot-max-price node-osdisk-size"
    " max-pods", "zones")}
for _flag in ("--disable-cluster-autoscaler", "--update-cluster-autoscaler"):
    del _POOL_ADD[_flag]
_AKS = flags("enable-azure-keyvault-kms enable-blob-driver enable-oidc-issuer enable-workload-identity enable-managed-identity enable-aad"
             " enable-azure-rbac disable-public-fqdn disable-local-accounts",
             "api-server-authorized-ip-ranges aad-admin-group-object-ids aad-tenant-id"
             " assign-identity assign-kubelet-identity outbound-type azure-keyvault-kms-key-id"
             " azure-keyvault-kms-key-vault-network-access tier k8s-support-plan auto-upgrade-channel node-os-upgrade-channel network-policy", "tags")
# Flags of node pools that `aks create` does not accept for its first pool.
_POOLS_ONLY = flags("", "drain-timeout eviction-policy gpu-driver labels max-surge max-unavailable mode"
                    " node-soak-duration node-taints os-type priority scale-down-mode spot-max-price"
                    " undrainable-node-behavior")
_FIRST_POOL = {flag: kind for flag, kind in _POOL_ADD.items() if flag not in _POOLS_ONLY}
_AKS_ADD = _FIRST_POOL | _AKS | flags(
    "generate-ssh-keys no-ssh-key enable-private-cluster", "location nodepool-name"
    " node-resource-group nodepool-taints network-plugin network-plugin-mode network-dataplane"
    " pod-cidr service-cidr dns-service-ip private-dns-zone node-osdisk-diskencryptionset-id",
    "nodepool-labels nodepool-tags")
_SCHEDULE = _WAITED | flags("", "cluster-name")
_SCHEDULED = _SCHEDULE | flags("", "schedule-type day-of-week interval-weeks start-time start-date duration"
                               " utc-offset config-file")
_WAIT = flags("created updated deleted exists", "custom interval timeout")
_GROUP = flags("", "name location", "tags")
_COMMANDS = {
    "version": (version_command("az", "{}", "2.91.0"), False, {}, {}),
    "account show": (show_account, False, {}, {"-s": "--subscription", "-n": "--subscription"}),
    "account set": (set_account, False, {}, {"-s": "--subscription", "-n": "--subscription"}),
    "group show": (show_group, False, _GROUP, _GROUP_ALIASES),
    "group exists": (group_exists, False, _GROUP, _GROUP_ALIASES),
    "group create": (create_group, True, _GROUP, _GROUP_ALIASES),
    "aks show": (show_cluster, False, _NAMED, {}),
    "aks create": (create_cluster, True, _CONFIRMED | _AKS_ADD, _AKS_ALIASES),
    "aks update": (update_cluster, True, _CONFIRMED | _AKS | flags(
        "disable-azure-rbac enable-public-fqdn enable-local-accounts", ""), {}),
    "aks upgrade": (upgrade_cluster, True, _CONFIRMED | flags(
        "control-plane-only", "kubernetes-version"), _AKS_ALIASES),
    "aks delete": (delete_cluster, True, _CONFIRMED, {}),
    "aks start": (start_cluster, True, _WAITED, {}),
    "aks wait": (wait, False, _NAMED | _WAIT, {}),
    "aks nodepool start": (start_pool, True, _INPOOL, _POOL_ALIASES),
    "aks nodepool wait": (wait, False, _INPOOL | _WAIT, _POOL_ALIASES),
    "resource update": (update_resource, True, flags("", "api-version resource-type", "ids set remove add"), {}),
    "aks get-credentials": (get_credentials, False, _NAMED | flags(
        "admin overwrite-existing", "context file"), {"-a": "--admin", "-f": "--file"}),
    "aks maintenanceconfiguration show": (show_schedule, False, _SCHEDULE, {}),
    "aks maintenanceconfiguration add": (write_schedule, True, _SCHEDULED, {}),
    "aks maintenanceconfiguration update": (write_schedule, True, _SCHEDULED, {}),
    "aks nodepool show": (show_pool, False, _INPOOL, _POOL_ALIASES),
    "aks nodepool list": (list_pools, False, _INPOOL, _POOL_ALIASES),
    "aks nodepool add": (add_pool, True, _INPOOL | _POOL_ADD, _POOL_ALIASES),
    "aks nodepool update": (update_pool, True, _INPOOL | _POOL_UPDATE, _POOL_ALIASES),
    "aks nodepool scale": (scale_pool, True, _INPOOL | flags("", "node-count"), _POOL_ALIASES),
    "aks nodepool upgrade": (upgrade_pool, True, _INPOOL | flags(
        "yes", "kubernetes-version max-surge"), _POOL_ALIASES),
    "aks nodepool delete": (delete_pool, True, _INPOOL, _POOL_ALIASES),
}

_LOGIN = ("ERROR: AADSTS700082: The refresh token has expired due to inactivity. Interactive authentication is needed."
          " Please run: az login")
_THROTTLED = "(TooManyRequestsReceived) The request is throttled. Please retry after 60 seconds."
TOOL = Tool(
    name="az",
    commands={name: Command(*definition) for name, definition in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases=_ALIASES,
    unknown=_unknown,
    outage=_LOGIN,
    style="az",
    tables=_tables,
    errors={
        "throttled": lambda _: _command_error(_THROTTLED),
        "expired": lambda _: CommandError(1, _LOGIN),
        "quota": lambda _: _command_error("({0}) {1}\nCode: {0}".format(*_PROBLEMS["capacity"])),
        "busy": lambda _: _busy(),
    },
    outcomes={
        "aks create": "failed canceled stopped",
        "aks update": "failed canceled stopped",
        "aks upgrade": "failed canceled stopped",
        "aks nodepool add": "failed canceled stopped capacity unreserved",
        "aks nodepool update": "failed canceled stopped",
        "aks nodepool scale": "failed canceled stopped",
        "aks nodepool upgrade": "failed canceled stopped",
        "resource update": "failed canceled",
    },
)
