"""A fake of `aws eks`, and of the parts of `sts`, `cloudformation`, `ec2`, `ssm` and `autoscaling` that scripts use."""

import copy
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Callable

from . import eks
from .cli import Command, CommandError, Failure, Tool, Unsupported, flags, yaml
from .cli import print_json, query, version_command, without_internal_keys
from .eks import ACCOUNT


def _command_error(text, rc=252):
    return CommandError(rc, f"\naws: error: {text}\n" if rc == 252 else f"\n{text}\n")


def _api_error(call, kind, text, retries=""):
    operation = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    return _command_error(f"An error occurred ({kind}) when calling the {operation} operation{retries}: {text}", 254)


def _require(call, *names):
    missing = [name for name in names if not call.has(name)]
    if missing:
        raise _command_error(f"the following arguments are required: {', '.join(missing)}")
    return [call.get(name) for name in names]


def _region(call):
    stored = call.data["eks"].get("region")
    found = call.get("--region") or os.environ.get("AWS_REGION")
    found = found or os.environ.get("AWS_DEFAULT_REGION") or stored
    if not found:
        raise _command_error('You must specify a region. You can also configure your region by running "aws'
                             ' configure".', 253)
    return found


def _print_result(call, value):
    value = without_internal_keys(value)
    if call.has("--query"):
        value = query(value, call.get("--query"))
    output = call.get("--output", "json")
    if output == "json":
        print_json(value)
    elif output == "text":
        items = value if isinstance(value, list) else [value]
        if any(isinstance(each, (dict, list)) for each in items):
            raise Unsupported("aws --output text of an object: name one field with --query")
        print("\t".join(str(each) for each in items))
    else:
        raise Unsupported(f"aws --output {output}")


def _structure(flag, items, numbers=()):
    """Parse a structure argument: JSON, file://, or the shorthand `a=1,b=2`."""
    text = items if isinstance(items, str) else " ".join(items)
    if text.startswith("file://"):
        with open(text.removeprefix("file://"), encoding="utf-8") as file:
            text = file.read()
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise _command_error(f"Error parsing parameter '{flag}': Invalid JSON: {error}\nJSON received:"
                                 f" {text}") from error
    if any(each in text for each in "{}[]"):
        raise Unsupported(f"the nested shorthand of {flag}: write JSON")
    found = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not equals:
            raise _command_error(f"Error parsing parameter '{flag}': Expected: '=', received: 'EOF' for"
                                 f" input: {text}")
        found[key] = value
    for key in numbers:
        if key in found:
            try:
                found[key] = int(found[key])
            except ValueError as error:
                raise _command_error(f"invalid literal for int() with base 10: '{found[key]}'") from error
    return found


def _check_keys(flag, found, keys):
    for key in found:
        if key not in keys:
            raise _command_error(f'Parameter validation failed:\nUnknown parameter in {flag[2:]}: "{key}",'
                                 f" must be one of: {', '.join(keys)}")
    return found


def identity(call):
    stored = call.data["eks"].get("account", ACCOUNT)
    _print_result(call, {"UserId": "AIDASTANDIN", "Account": stored, "Arn": f"arn:aws:iam::{stored}:user/stand-in"})


def _cluster(call, name):
    found = call.data["eks"]["clusters"].get(name)
    if not found or found["_region"] != _region(call):
        raise _api_error(call, "ResourceNotFoundException", f"No cluster found for name: {name}.")
    return found


def _nodegroup(call):
    cluster, name = _require(call, "--cluster-name", "--nodegroup-name")
    _cluster(call, cluster)
    found = call.data["eks"]["nodegroups"].get(name)
    if not found or found["clusterName"] != cluster:
        raise _api_error(call, "ResourceNotFoundException", f"No node group found for name: {name}.")
    return found


def describe_cluster(call):
    _print_result(call, {"cluster": _cluster(call, *_require(call, "--name"))})


def describe_nodegroup(call):
    _print_result(call, {"nodegroup": _nodegroup(call)})


def describe_addon(call):
    _print_result(call, {"addon": _addon(call)})


def list_addons(call):
    (name,) = _require(call, "--cluster-name")
    _cluster(call, name)
    _print_result(call, {"addons": sorted(call.data["eks"].get("addons", {}).get(name, {}))})


def describe_addon_versions(call):
    name, kubernetes = call.get("--addon-name"), call.get("--kubernetes-version")
    _region(call)
    if not name:
        raise Unsupported("aws eks describe-addon-versions without --addon-name")
    found = eks.addon_versions(name)
    if kubernetes:
        found = [each for each in found if eks.supports(each, kubernetes)]
    _print_result(call, {"addons": [{"addonName": name, "addonVersions": found}] if found else []})


def create_addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    stored = call.data["eks"].setdefault("addons", {}).setdefault(cluster, {})
    if name in stored and stored[name]["status"] != "CREATE_FAILED":
        raise _api_error(call, "ResourceInUseException", "Addon already exists.")
    stored[name] = eks.addon(call, cluster, name) | {"status": "CREATING"}
    _configure(call, stored[name])
    keys = ["eks", "addons", cluster, name]
    if call.how == "create_failed":
        issue = {"code": "ConfigurationConflict", "message": _CONFLICT, "resourceIds": []}
        call.data.later(call.delay, ["set", [*keys, "status"], "CREATE_FAILED"],
                        ["set", [*keys, "health"], {"issues": [issue]}])
    else:
        call.data.later(call.delay, ["set", [*keys, "status"], "ACTIVE"])
    if call.how == "degraded":
        call.data.later(call.delay + 1, ["set", [*keys, "status"], "DEGRADED"],
                        ["set", [*keys, "health"], {"issues": [_TOO_FEW_REPLICAS]}])
    _print_result(call, {"addon": stored[name]})


def update_addon(call):
    addon = _addon(call)
    changed, changes = copy.deepcopy(addon), {}
    _configure(call, changed)
    if call.has("--addon-version"):
        version, kubernetes = call.get("--addon-version"), _cluster(call, addon["clusterName"])["version"]
        known = [each["addonVersion"] for each in eks.addon_versions(addon["addonName"]) if eks.supports(each, kubernetes)]
        if version not in known:
            raise _api_error(call, "InvalidParameterException", "Addon version specified is not supported, AddonName:"
                             f' "{addon["addonName"]}", ClusterVersion: "{kubernetes}"')
        changed["addonVersion"] = changes["AddonVersion"] = version
    _update(call, "AddonUpdate", addon, changed, changes)
    if call.how == "degraded":
        keys = ["eks", "addons", addon["clusterName"], addon["addonName"]]
        call.data.later(call.delay and call.delay + 2, ["set", [*keys, "status"], "DEGRADED"],
                        ["set", [*keys, "health"], {"issues": [_TOO_FEW_REPLICAS]}])


def _addon(call):
    cluster, name = _require(call, "--cluster-name", "--addon-name")
    _cluster(call, cluster)
    found = call.data["eks"].get("addons", {}).get(cluster, {}).get(name)
    if not found:
        raise _api_error(call, "ResourceNotFoundException", f"No addon: {name} found in cluster: {cluster}")
    return found


def _configure(call, addon):
    """Set the configuration and the role. The API removes values that a call omits."""
    for flag, key in (("--configuration-values", "configurationValues"),
                      ("--service-account-role-arn", "serviceAccountRoleArn")):
        addon.pop(key, None)
        if call.has(flag):
            addon[key] = call.get(flag)
    if "configurationValues" in addon:
        json.loads(addon["configurationValues"])


def _stack(call, name):
    _region(call)
    found = call.data["eks"].get("stacks", {}).get(name)
    if not found:
        raise _api_error(call, "ValidationError", f"Stack with id {name} does not exist")
    return found


def describe_stacks(call):
    _print_result(call, {"Stacks": [_stack(call, *_require(call, "--stack-name"))]})


def describe_stack_events(call):
    found = _stack(call, *_require(call, "--stack-name"))
    own = {"LogicalResourceId": found["StackName"], "ResourceStatus": found["StackStatus"]}
    if "StackStatusReason" in found:
        own["ResourceStatusReason"] = found["StackStatusReason"]
    events = [{"StackName": found["StackName"]} | each for each in [own, *found.get("_events", [])]]
    _print_result(call, {"StackEvents": events})


def protect_stack(call):
    found = _stack(call, *_require(call, "--stack-name"))
    given = [flag for flag in ("--enable-termination-protection", "--no-enable-termination-protection")
             if call.has(flag)]
    if len(given) != 1:
        raise _command_error("the following arguments are required: --enable-termination-protection |"
                             " --no-enable-termination-protection")
    found["EnableTerminationProtection"] = given[0].startswith("--enable")
    _print_result(call, {"StackId": found["StackName"]})


def deploy_stack(call):
    """Create or update a stack, and wait for it. Invalid templates are errors as in CloudFormation."""
    name, path = _require(call, "--stack-name", "--template-file")
    with open(path, encoding="utf-8") as file:
        template = yaml().safe_load(file)
    resources = template.get("Resources")
    if not resources:
        raise _api_error(call, "ValidationError",
                         "Template format error: At least one Resources member must be defined.")
    named = any("InstanceProfileName" in each.get("Properties", {}) for each in resources.values())
    if named and "CAPABILITY_NAMED_IAM" not in call.get("--capabilities", []):
        raise _api_error(call, "InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]")
    cluster = resources.get("NodeAccess", {}).get("Properties", {}).get("ClusterName")
    if cluster:
        _cluster(call, cluster)
    tags = [dict(zip(("Key", "Value"), each.split("=", 1))) for each in call.get("--tags", [])]
    stored, keys = eks.stacks(call), ["eks", "stacks", name]
    previous = stored.get(name)
    status = previous["StackStatus"] if previous else ""
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED") or (
            status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS"):
        raise _command_error("An error occurred (ValidationError) when calling the CreateChangeSet operation:"
                             f" Stack:arn:aws:cloudformation:{_region(call)}:{ACCOUNT}:stack/{name} is in {status}"
                             " state and can not be updated.", 254)
    desired = {"StackName": name, "StackStatus": "CREATE_COMPLETE", "Tags": tags, "_cluster": cluster,
               "_template": template}
    verb = "UPDATE" if previous else "CREATE"
    stored[name] = (previous or desired) | {"StackStatus": f"{verb}_IN_PROGRESS"}
    if call.how == "rollback":
        rollback = "UPDATE_ROLLBACK" if previous else "ROLLBACK"
        reason = 'Resource handler returned message: "User is not authorized to perform this action"'
        changes = eks.stack_changes(name, f"{rollback}_COMPLETE", sorted(resources)[0], reason, f"{verb}_FAILED")
    else:
        changes = [["set", keys, desired]]
    call.data.later(call.delay, *changes)
    call.wait(call.delay)
    if call.how == "rollback":
        raise Failure(255, "\nFailed to create/update the stack. Run the following command\nto fetch the list of events"
                           " leading up to the failure\n"
                           f"aws cloudformation describe-stack-events --stack-name {name}\n")
    print(f"Successfully created/updated stack - {name}")


def delete_stack(call):
    (name,) = _require(call, "--stack-name")
    stored = call.data["eks"].get("stacks", {})
    if name not in stored or stored[name]["StackStatus"] == "DELETE_IN_PROGRESS":
        return
    if stored[name].get("EnableTerminationProtection"):
        raise _api_error(call, "ValidationError",
                         f"Stack [{name}] cannot be deleted while TerminationProtection is enabled")
    eks.delete_stack(call, name)


def describe_instances(call):
    """List instances outside of node groups, filtered by tags and state."""
    stored = call.data["eks"].get("instances", {})
    for each in call.get("--filters", []):
        name, equals, values = each.removeprefix("Name=").partition(",Values=")
        if not equals:
            raise Unsupported(f"aws ec2 --filters {each}")
        values = values.split(",")
        if name.startswith("tag:"):
            stored = {key: it for key, it in stored.items() if it["tags"].get(name[4:]) in values}
        elif name == "instance-state-name":
            stored = {key: it for key, it in stored.items() if it["state"] in values}
        else:
            raise Unsupported(f"aws ec2 --filters {each}")
    _print_result(call, {"Reservations": [{"Instances": [{"InstanceId": key}]} for key in sorted(stored)]})


def terminate_instances(call):
    (names,) = _require(call, "--instance-ids")
    for name in names:
        found = call.data["eks"].get("instances", {}).get(name)
        if found is None:
            raise _api_error(call, "InvalidInstanceID.NotFound", f"The instance ID '{name}' does not exist")
        found["state"] = "terminated"
    _print_result(call, {"TerminatingInstances": [{"InstanceId": name} for name in names]})


def wait_for_instances(call):
    (names,) = _require(call, "--instance-ids")
    if any(call.data["eks"]["instances"][name]["state"] != "terminated" for name in names):
        raise _command_error("Waiter InstanceTerminated failed: Max attempts exceeded", 255)


def list_nodegroups(call):
    (name,) = _require(call, "--cluster-name")
    _cluster(call, name)
    stored = call.data["eks"]["nodegroups"].values()
    _print_result(call, {"nodegroups": [each["nodegroupName"] for each in stored if each["clusterName"] == name]})


def list_clusters(call):
    stored = call.data["eks"]["clusters"].values()
    _print_result(call, {"clusters": [each["name"] for each in stored if each["_region"] == _region(call)]})


_TOO_FEW_REPLICAS = {"code": "InsufficientNumberOfReplicas", "resourceIds": [],
                     "message": "The add-on is unhealthy because it doesn't have the desired number of replicas."}
_CONFLICT = "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode."
_UPDATE_ERRORS = {
    "cluster": {"errorCode": "InsufficientFreeAddresses", "resourceIds": ["subnet-0a0a0a0a0a0a0a0a0"],
                "errorMessage": "The subnets of the cluster do not have enough free addresses"},
    "nodegroup": {"errorCode": "PodEvictionFailure", "resourceIds": ["ip-10-0-0-1"]},
    "addon": {"errorCode": "ConfigurationConflict", "errorMessage": _CONFLICT, "resourceIds": []},
}


def _place(resource):
    """Return (kind of resource, its name, its keys in the state)."""
    cluster = resource.get("clusterName")
    if "nodegroupName" in resource:
        return "nodegroup", resource["nodegroupName"], ["eks", "nodegroups", resource["nodegroupName"]]
    if "addonName" in resource:
        return "addon", resource["addonName"], ["eks", "addons", cluster, resource["addonName"]]
    return "cluster", resource["name"], ["eks", "clusters", resource["name"]]


def _update(call, type_name, resource, changed, changes):
    """Begin the update of a resource. EKS shows the status UPDATING late, and the changed fields at the end."""
    kind, name, keys = _place(resource)
    owner = [resource.get("clusterName", resource.get("name")), kind, name]
    updates = call.data.time["updates"]
    for other, each in updates.items():
        if each["_on"] == owner and each["status"] == "InProgress":
            text = {"nodegroup": _NOT_ACTIVE,
                    "addon": f"Addon {name} cannot be updated as it is currently in UPDATING state",
                    "cluster": f"Cannot update because cluster {name} currently has update {other} in progress"}[kind]
            raise _api_error(call, "ResourceInUseException", text)
    status = resource.get("status", "ACTIVE")
    refused = {"nodegroup": status != "ACTIVE", "addon": status in ("CREATING", "DELETING"),
               "cluster": status != "ACTIVE"}
    if refused[kind]:
        text = _NOT_ACTIVE if kind == "nodegroup" else f"The {kind} {name} is currently in {status} state"
        raise _api_error(call, "ResourceInUseException", text)
    params = [{"type": key, "value": json.dumps(value)} for key, value in changes.items()]
    number = f"00000000-0000-0000-0000-{call.data.clock:012d}"
    updates[number] = {"id": number, "status": "InProgress", "type": type_name, "params": params, "errors": [],
                       "_on": owner}
    _print_result(call, {"update": updates[number]})
    update = ["_time", "updates", number]
    if call.how == "update_failed":
        error = {"errorMessage": "Reached max retries while trying to evict pods from nodes in node group"
                 f" {name}"} | _UPDATE_ERRORS[kind]
        done = [["set", [*keys, "status"], "UPDATE_FAILED" if kind == "addon" else "ACTIVE"],
                ["set", [*update, "status"], "Failed"], ["set", [*update, "errors"], [error]]]
    else:
        fields = {key: value for key, value in changed.items() if resource.get(key) != value} | {"status": "ACTIVE"}
        done = [["set", [*keys, key], value] for key, value in fields.items()]
        done += [["del", [*keys, key]] for key in resource if key not in changed]
        done.append(["set", [*update, "status"], "Successful"])
    if call.delay:
        call.data.later(2, ["set", [*keys, "status"], "UPDATING"])
    call.data.later(call.delay and call.delay + 1, *done)


_NOT_ACTIVE = "Nodegroup cannot be updated as it is currently not in Active State"


def _updated_owner(call):
    (cluster,) = _require(call, "--name")
    _cluster(call, cluster)
    for kind in ("nodegroup", "addon"):
        if call.has(f"--{kind}-name"):
            return [cluster, kind, call.get(f"--{kind}-name")]
    return [cluster, "cluster", cluster]


def describe_update(call):
    owner, number = _updated_owner(call), _require(call, "--update-id")[0]
    found = call.data.time["updates"].get(number)
    if not found or found["_on"] != owner:
        raise _api_error(call, "ResourceNotFoundException", f"No update found for ID: {number}")
    _print_result(call, {"update": found})


def list_updates(call):
    owner = _updated_owner(call)
    found = [key for key, each in sorted(call.data.time["updates"].items()) if each["_on"] == owner]
    _print_result(call, {"updateIds": found})


def update_nodegroup(call):
    stored = _nodegroup(call)
    group, changes = copy.deepcopy(stored), {}
    if call.has("--scaling-config"):
        names = ("minSize", "maxSize", "desiredSize")
        given = _structure("--scaling-config", call.get("--scaling-config"), names)
        sizes = group["scalingConfig"] | _check_keys("--scaling-config", given, names)
        for low, high, text in (("minSize", "desiredSize", "Minimum capacity {} can't be greater than"
                                 " desired size {}"), ("desiredSize", "maxSize", "desired capacity {}"
                                 " can't be greater than max size {}")):
            if sizes[low] > sizes[high]:
                raise _api_error(call, "InvalidParameterException", text.format(sizes[low], sizes[high]))
        group["scalingConfig"] = changes["ScalingConfig"] = sizes
    if call.has("--labels"):
        names = ("addOrUpdateLabels", "removeLabels")
        given = _check_keys("--labels", _structure("--labels", call.get("--labels")), names)
        labels = group.get("labels", {}) | given.get("addOrUpdateLabels", {})
        removed = given.get("removeLabels", [])
        group["labels"] = {key: value for key, value in labels.items() if key not in removed}
        changes["LabelsToAdd"] = given
    if call.has("--taints"):
        names = ("addOrUpdateTaints", "removeTaints")
        given = _check_keys("--taints", _structure("--taints", call.get("--taints")), names)
        _taints(call, group, given)
        changes["TaintsToAdd"] = given
    if call.has("--update-config"):
        names = ("maxUnavailable", "maxUnavailablePercentage", "updateStrategy")
        given = _structure("--update-config", call.get("--update-config"), names[:2])
        group["updateConfig"] = changes["MaxUnavailable"] = _check_keys("--update-config", given, names)
    if call.has("--node-repair-config"):
        text = _structure("--node-repair-config", call.get("--node-repair-config"))
        group["nodeRepairConfig"] = changes["NodeRepairEnabled"] = text
    _update(call, "ConfigUpdate", stored, group, changes)


def _taints(call, group, given):
    """Apply a delta. A taint is identified by its key and effect."""
    stored = {(each["key"], each["effect"]): each for each in group.get("taints", [])}
    for each in [*given.get("removeTaints", []), *given.get("addOrUpdateTaints", [])]:
        if each.get("effect") not in ("NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"):
            raise _api_error(call, "InvalidParameterException", f"Unknown taint effect: {each.get('effect')}")
    for each in given.get("removeTaints", []):
        stored.pop((each["key"], each["effect"]), None)
    for each in given.get("addOrUpdateTaints", []):
        stored[each["key"], each["effect"]] = each
    group["taints"] = list(stored.values())
    if not stored:
        del group["taints"]


def update_nodegroup_version(call):
    stored = _nodegroup(call)
    group = copy.deepcopy(stored)
    cluster = call.data["eks"]["clusters"][group["clusterName"]]
    if group["capacityType"] == "CAPACITY_BLOCK" and group["scalingConfig"]["desiredSize"] > 0:
        raise _api_error(call, "InvalidParameterException", "The desired size of a node group with capacity type"
                         " CAPACITY_BLOCK must be 0 for an update of its version")
    group["version"] = call.get("--kubernetes-version", cluster["version"])
    group["releaseVersion"] = call.get("--release-version", f"{group['version']}.1-20261101")
    _update(call, "VersionUpdate", stored, group, {"Version": group["version"]})


def update_cluster_version(call):
    name, version = _require(call, "--name", "--kubernetes-version")
    cluster = _cluster(call, name)
    if version == cluster["version"]:
        raise _api_error(call, "InvalidParameterException", f"Cluster is already at version {version}")
    _update(call, "VersionUpdate", cluster, cluster | {"version": version}, {"Version": version})


_MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")


def _update_authentication(call, cluster):
    """Change the authentication mode, which only moves forward."""
    given = _structure("--access-config", call.get("--access-config"))
    mode = _check_keys("--access-config", given, ("authenticationMode",))["authenticationMode"]
    stored = cluster["accessConfig"]
    now = stored["authenticationMode"]
    if mode not in _MODES or _MODES.index(mode) <= _MODES.index(now):
        raise _api_error(call, "InvalidParameterException",
                         f"Unsupported authentication mode update from {now} to {mode}")
    changed = cluster | {"accessConfig": stored | {"authenticationMode": mode}}
    _update(call, "AccessConfigUpdate", cluster, changed, given)


_LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def _update_logging(call, cluster):
    """Enable and disable logs of the control plane."""
    given = _check_keys("--logging", json.loads(call.get("--logging")), ("clusterLogging",))
    enabled = {log for setup in cluster["logging"]["clusterLogging"] if setup["enabled"] for log in setup["types"]}
    before = set(enabled)
    for setup in given["clusterLogging"]:
        for log in setup["types"]:
            if log not in _LOG_TYPES:
                raise _api_error(call, "InvalidParameterException", f"Unsupported log type {log}")
        enabled = enabled | set(setup["types"]) if setup["enabled"] else enabled - set(setup["types"])
    if enabled == before:
        raise _api_error(call, "InvalidParameterException", "No changes needed for the logging config provided")
    changed = cluster | {"logging": eks.logging(enabled)}
    _update(call, "LoggingUpdate", cluster, changed, given)


def _update_protection(call, cluster):
    """Enable or disable the deletion protection. Nothing to change is no error."""
    is_protected = call.has("--deletion-protection")
    changed = cluster | {"deletionProtection": is_protected}
    _update(call, "DeletionProtectionUpdate", cluster, changed, {"deletionProtection": is_protected})


def _update_support(call, cluster):
    """Change the support of versions. Nothing to change is no error."""
    given = _structure("--upgrade-policy", call.get("--upgrade-policy"))
    if given.get("supportType") not in ("STANDARD", "EXTENDED"):
        raise _api_error(call, "InvalidParameterException", f"Unsupported support type {given.get('supportType')}")
    _update(call, "UpgradePolicyUpdate", cluster, cluster | {"upgradePolicy": given}, given)


_CLUSTER_SETTINGS = ("--resources-vpc-config", "--access-config", "--logging", "--deletion-protection",
                     "--no-deletion-protection", "--upgrade-policy")


def update_cluster_config(call):
    cluster = _cluster(call, *_require(call, "--name"))
    given = [flag for flag in _CLUSTER_SETTINGS if call.has(flag)]
    if len(given) != 1:
        raise Unsupported("aws eks update-cluster-config without one of its settings")
    if given == ["--logging"]:
        return _update_logging(call, cluster)
    if given == ["--upgrade-policy"]:
        return _update_support(call, cluster)
    if "deletion-protection" in given[0]:
        return _update_protection(call, cluster)
    if given == ["--access-config"]:
        return _update_authentication(call, cluster)
    given = _structure("--resources-vpc-config", call.get("--resources-vpc-config"))
    for key in ("endpointPublicAccess", "endpointPrivateAccess"):
        if isinstance(given.get(key), str):
            given[key] = given[key] == "true"
    if isinstance(given.get("publicAccessCidrs"), str):
        given["publicAccessCidrs"] = given["publicAccessCidrs"].split(",")
    stored = cluster["resourcesVpcConfig"]
    if all(stored.get(key) == value for key, value in given.items()):
        raise _api_error(call, "InvalidParameterException", "Cluster is already at the desired configuration with"
                         f" endpointPrivateAccess: {stored['endpointPrivateAccess']} , endpointPublicAccess:"
                         f" {stored['endpointPublicAccess']}, and Public Endpoint Restrictions:"
                         f" {stored['publicAccessCidrs']}")
    changed = cluster | {"resourcesVpcConfig": stored | given}
    return _update(call, "EndpointAccessUpdate", cluster, changed, given)


def _entries(call):
    """Return the access entries of a cluster."""
    (name,) = _require(call, "--cluster-name")
    if _cluster(call, name)["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
        raise _api_error(call, "InvalidRequestException", "The cluster's authentication mode must be set to one of"
                         " [API, API_AND_CONFIG_MAP] to perform this operation.")
    return call.data["eks"].setdefault("accessEntries", {}).setdefault(name, {})


def _entry(call):
    entries, (principal,) = _entries(call), _require(call, "--principal-arn")
    if principal not in entries:
        raise _api_error(call, "ResourceNotFoundException", "The specified principalArn could not be found. You can view"
                         " your available access entries with 'list-access-entries'.")
    return entries[principal]


def _configure_entry(call, entry):
    """Set the groups and the user, if they are given."""
    if call.has("--kubernetes-groups"):
        groups = call.get("--kubernetes-groups")
        groups = json.loads(groups[0]) if groups[0].startswith("[") else groups
        for group in groups:
            if group.startswith("system:"):
                raise _api_error(call, "InvalidParameterException",
                                 f"The kubernetes group name {group} is invalid, it cannot start with system:")
        entry["kubernetesGroups"] = groups
    if call.has("--username"):
        if call.get("--username").startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
            raise _api_error(call, "InvalidParameterException", "The username must not begin with system:")
        entry["username"] = call.get("--username")


def create_entry(call):
    cluster, principal = _require(call, "--cluster-name", "--principal-arn")
    entries = _entries(call)
    if principal in entries:
        raise _api_error(call, "ResourceInUseException",
                         "The specified access entry resource is already in use on this cluster.")
    if not re.fullmatch(r"arn:aws:iam::[0-9]{12}:(role|user)/.+", principal):
        raise _api_error(call, "InvalidParameterException", "The principalArn parameter format is not valid")
    tags = call.get("--tags", [])
    entry = eks.access_entry(cluster, principal, _region(call), _structure("--tags", ",".join(tags)) if tags else {})
    _configure_entry(call, entry)
    entries[principal] = entry
    _print_result(call, {"accessEntry": entry})


def update_entry(call):
    entry = _entry(call)
    _configure_entry(call, entry)
    _print_result(call, {"accessEntry": entry})


def describe_entry(call):
    _print_result(call, {"accessEntry": _entry(call)})


def list_entries(call):
    _print_result(call, {"accessEntries": sorted(_entries(call))})


def delete_entry(call):
    principal = _entry(call)["principalArn"]
    del _entries(call)[principal]


def associate_policy(call):
    entry, (policy, scope) = _entry(call), _require(call, "--policy-arn", "--access-scope")
    if not re.fullmatch(r"arn:aws:eks::aws:cluster-access-policy/AmazonEKS[A-Za-z]+Policy", policy):
        raise _api_error(call, "InvalidParameterException", f"The policyArn {policy} is not valid")
    scope = _check_keys("--access-scope", _structure("--access-scope", scope), ("type", "namespaces"))
    if (scope["type"] == "namespace") != bool(scope.get("namespaces")):
        raise _api_error(call, "InvalidParameterException", "The accessScope is not valid")
    kept = [each for each in entry["_policies"] if each["policyArn"] != policy]
    added = {"policyArn": policy, "accessScope": {"namespaces": []} | scope}
    entry["_policies"] = [*kept, added]
    _print_result(call, {"associatedAccessPolicy": added})


def disassociate_policy(call):
    entry, (policy,) = _entry(call), _require(call, "--policy-arn")
    kept = [each for each in entry["_policies"] if each["policyArn"] != policy]
    if kept == entry["_policies"]:
        raise _api_error(call, "ResourceNotFoundException", f"The policy {policy} is not associated")
    entry["_policies"] = kept


def list_policies(call):
    _print_result(call, {"associatedAccessPolicies": _entry(call)["_policies"]})


def delete_nodegroup(call):
    group = _nodegroup(call)
    eks.delete_group(call, group["clusterName"], group["nodegroupName"])
    _print_result(call, {"nodegroup": group | {"status": "DELETING"}})


def _tagged_resource(call):
    (arn,) = _require(call, "--resource-arn")
    stored = call.data["eks"]
    entries = [each for entries in stored.get("accessEntries", {}).values() for each in entries.values()]
    for found in [*stored["clusters"].values(), *stored["nodegroups"].values(), *entries]:
        if arn in (found.get("arn"), found.get("nodegroupArn"), found.get("accessEntryArn")):
            return found
    raise _api_error(call, "NotFoundException", f"Resource was not found: {arn}")


def tag(call):
    found = _tagged_resource(call)
    (items,) = _require(call, "--tags")
    found["tags"] = found.get("tags", {}) | _structure("--tags", ",".join(items))


def untag(call):
    found = _tagged_resource(call)
    (keys,) = _require(call, "--tag-keys")
    # A list can be one JSON array instead of several arguments (awscli/argprocess.py).
    if len(keys) == 1 and keys[0].lstrip().startswith("["):
        keys = json.loads(keys[0])
    for key in keys:
        found["tags"].pop(key, None)


def list_tags(call):
    _print_result(call, {"tags": _tagged_resource(call)["tags"]})


def update_kubeconfig(call):
    (name,) = _require(call, "--name")
    cluster = _cluster(call, name)
    context = call.get("--alias", cluster["arn"])
    call.data["contexts"][context] = {"server": cluster["endpoint"]}
    call.data["currentContext"] = context
    print(f"Updated context {context} in {os.environ.get('KUBECONFIG', '~/.kube/config')}")


@dataclass
class _Waiter:
    """A waiter of botocore (waiters-2.json): the states in which it succeeds and in which it fails at once."""

    find: Callable
    path: str
    tries: int
    success: tuple = ()
    failure: tuple = ()
    is_gone: bool = False  # whether the absence of the resource is a success


def _find_cluster(call):
    return _cluster(call, *_require(call, "--name"))["status"]


def _find_stack(call):
    return _stack(call, *_require(call, "--stack-name"))["StackStatus"]


def _find_group(call):
    return _nodegroup(call)["status"]


def _find_addon(call):
    return _addon(call)["status"]


_UPDATED = ("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE", "UPDATE_FAILED",
            "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED", "UPDATE_ROLLBACK_COMPLETE",
            "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS")
_WAITERS = {
    "ClusterActive": _Waiter(_find_cluster, "cluster.status", 40, ("ACTIVE",), ("DELETING", "FAILED")),
    "ClusterDeleted": _Waiter(_find_cluster, "cluster.status", 40, (), ("ACTIVE", "CREATING", "PENDING"), True),
    "NodegroupActive": _Waiter(_find_group, "nodegroup.status", 80, ("ACTIVE",), ("CREATE_FAILED",)),
    "NodegroupDeleted": _Waiter(_find_group, "nodegroup.status", 40, (), ("DELETE_FAILED",), True),
    "AddonActive": _Waiter(_find_addon, "addon.status", 60, ("ACTIVE",), ("CREATE_FAILED", "DEGRADED")),
    "AddonDeleted": _Waiter(_find_addon, "addon.status", 60, (), ("DELETE_FAILED",), True),
    "StackCreateComplete": _Waiter(
        _find_stack, "Stacks[].StackStatus", 120, ("CREATE_COMPLETE", *_UPDATED),
        ("CREATE_FAILED", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE", "DELETE_COMPLETE", "DELETE_FAILED")),
    "StackUpdateComplete": _Waiter(
        _find_stack, "Stacks[].StackStatus", 120, ("UPDATE_COMPLETE",),
        ("UPDATE_FAILED", "UPDATE_ROLLBACK_FAILED", "UPDATE_ROLLBACK_COMPLETE")),
    "StackDeleteComplete": _Waiter(
        _find_stack, "Stacks[].StackStatus", 120, ("DELETE_COMPLETE",),
        ("DELETE_FAILED", "CREATE_FAILED", "ROLLBACK_FAILED", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_IN_PROGRESS",
         "UPDATE_ROLLBACK_FAILED", "UPDATE_ROLLBACK_COMPLETE"), True),
}


def wait(call):
    """Poll a resource, once in each tick, until the waiter succeeds, fails, or has no tries left."""
    name = "".join(each.capitalize() for each in call.command.split()[-1].split("-"))
    waiter = _WAITERS[name]
    for left in reversed(range(waiter.tries)):
        try:
            status = waiter.find(call)
        except CommandError as failure:
            if failure.rc != 254:
                raise
            if waiter.is_gone:
                return
            raise Failure(255, f"\nWaiter {name} failed: {failure.text.strip()}\n") from failure
        if status in waiter.success:
            return
        if status in waiter.failure:
            raise Failure(255, f"\nWaiter {name} failed: Waiter encountered a terminal failure state: For expression"
                               f' "{waiter.path}" we matched expected path: "{status}"\n')
        # Without pending changes, every further poll has the same result.
        if not left or not call.data.time["pending"]:
            raise Failure(255, f"\nWaiter {name} failed: Max attempts exceeded\n")
        call.wait(1)


def list_providers(call):
    found = call.data["eks"].get("oidcProviders", [])
    _print_result(call, {"OpenIDConnectProviderList": [{"Arn": each} for each in found]})


def _describe_ec2(call, flag, section, result_key, kind):
    stored = call.data["eks"][section]
    ids = call.get(flag)
    for each in ids or []:
        if each not in stored:
            raise _api_error(call, kind, f"The ID '{each}' does not exist")
    found = [stored[each] for each in ids or stored]
    for each in call.get("--filters", []):
        given = _structure("--filters", each)
        if given.get("Name") != "vpc-id":
            raise Unsupported(f"aws ec2 --filters {each}")
        found = [subnet for subnet in found if subnet["VpcId"] == given["Values"]]
    _print_result(call, {result_key: found})


def describe_subnets(call):
    _describe_ec2(call, "--subnet-ids", "subnets", "Subnets", "InvalidSubnetID.NotFound")


def describe_reservations(call):
    _describe_ec2(call, "--capacity-reservation-ids", "capacityReservations", "CapacityReservations",
                  "InvalidCapacityReservationId.NotFound")


def describe_groups(call):
    stored, found = call.data["eks"], []
    for name in call.get("--auto-scaling-group-names", list(stored["autoScalingGroups"])):
        group = stored["autoScalingGroups"].get(name)
        if group is None:
            continue
        owner = stored["nodegroups"].get(group["_nodegroup"]) or stored["unmanaged"][group["_nodegroup"]]
        sizes = owner["scalingConfig"]
        tags = [{"ResourceId": name, "ResourceType": "auto-scaling-group", "Key": key, "Value": value,
                 "PropagateAtLaunch": True} for key, value in sorted(group["_tags"].items())]
        found.append({"AutoScalingGroupName": name, "MinSize": sizes["minSize"],
                      "MaxSize": sizes["maxSize"], "DesiredCapacity": sizes["desiredSize"], "Tags": tags})
    _print_result(call, {"AutoScalingGroups": found})


def put_action(call):
    name, action = _require(call, "--auto-scaling-group-name", "--scheduled-action-name")
    group = call.data["eks"]["autoScalingGroups"].get(name)
    if group is None:
        raise _api_error(call, "ValidationError", f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
    start = call.get("--start-time")
    if not start or datetime.fromisoformat(start.replace("Z", "+00:00")) <= datetime.now(timezone.utc):
        raise _api_error(call, "ValidationError", "Given start time is in the past")
    sizes = {"MinSize": "--min-size", "MaxSize": "--max-size", "DesiredCapacity": "--desired-capacity"}
    found = {key: int(call.get(flag)) for key, flag in sizes.items() if call.has(flag)}
    if not found:
        raise _api_error(call, "ValidationError", "At least one of min size, max size or desired capacity is required")
    group.setdefault("actions", {})[action] = {"StartTime": start} | found


def get_parameter(call):
    """Return a parameter of AWS: the newest release of a node image. The numbers are made up."""
    (name,) = _require(call, "--name")
    amazon = re.fullmatch(r"/aws/service/eks/optimized-ami/(1\.\d+)/amazon-linux-2023/(x86_64|arm64)/"
                          r"(nvidia|standard|neuron)/recommended/release_version", name)
    bottlerocket = re.fullmatch(r"/aws/service/bottlerocket/aws-k8s-1\.\d+(-nvidia)?(-fips)?/(x86_64|arm64)/latest/"
                                r"image_version", name)
    if not amazon and not bottlerocket:
        raise _api_error(call, "ParameterNotFound", "")
    value = call.data["eks"].get("newestRelease") or (
        f"{amazon[1]}.1-20261101" if amazon else "1.66.0-7b8c9d0e")
    _print_result(call, {"Parameter": {"Name": name, "Type": "String", "Value": value, "Version": 1}})


def describe_zones(call):
    """Return zones with the IDs that they have in this account. The order of the IDs differs between accounts."""
    region = _region(call)
    prefix = {"us-east-1": "use1", "us-west-1": "usw1", "ca-central-1": "cac1"}.get(region, "xxx1")
    ids = dict(zip("abcdef", (1, 2, 4, 6, 3, 5), strict=True))
    names = call.get("--zone-names") or [region + letter for letter in ids]
    found = []
    for name in names:
        if name[:-1] != region or name[-1] not in ids:
            raise _api_error(call, "InvalidParameterValue", f"Invalid availability zone: [{name}]")
        found.append({"ZoneName": name, "ZoneId": f"{prefix}-az{ids[name[-1]]}", "State": "available"})
    _print_result(call, {"AvailabilityZones": found})


def tag_groups(call):
    (items,) = _require(call, "--tags")
    joined = " ".join(items)
    tags = json.loads(joined) if joined.startswith("[") else [_structure("--tags", each) for each in items]
    for each in tags:
        group = call.data["eks"]["autoScalingGroups"].get(each.get("ResourceId"))
        if group is None:
            raise _api_error(call, "ValidationError", "AutoScalingGroup name not found -"
                             f" AutoScalingGroup '{each.get('ResourceId')}' not found")
        if call.command.endswith("delete-tags"):
            group["_tags"].pop(each["Key"], None)
        else:
            group["_tags"][each["Key"]] = each.get("Value", "")


def _unknown(_name, arguments):
    return _command_error(f"Unknown options: {', '.join(arguments)}")


_GLOBAL = flags("no-cli-pager no-paginate debug no-verify-ssl",
                "region profile output query endpoint-url color cli-connect-timeout cli-read-timeout")
_GROUP = flags("", "cluster-name nodegroup-name")
_NAME = flags("", "name client-request-token")
_ENTRY = flags("", "cluster-name principal-arn")
_ADDON = flags("", "cluster-name addon-name addon-version configuration-values resolve-conflicts"
                   " service-account-role-arn")
_ASG = flags("", "", "tags")
_COMMANDS = {
    "--version": (version_command("aws", "aws-cli/{} Python/3.14.3 Linux/6.8.0 exe/x86_64", "2.31.0"), False, {}),
    "sts get-caller-identity": (identity, False, {}),
    "eks describe-cluster": (describe_cluster, False, _NAME),
    "eks list-clusters": (list_clusters, False, {}),
    "eks describe-nodegroup": (describe_nodegroup, False, _GROUP),
    "eks describe-addon": (describe_addon, False, flags("", "cluster-name addon-name")),
    "eks describe-addon-versions": (describe_addon_versions, False, flags("", "addon-name kubernetes-version")),
    "eks create-addon": (create_addon, True, _ADDON),
    "eks update-addon": (update_addon, True, _ADDON),
    "eks wait addon-active": (wait, False, flags("", "cluster-name addon-name")),
    "eks wait addon-deleted": (wait, False, flags("", "cluster-name addon-name")),
    "eks list-addons": (list_addons, False, flags("", "cluster-name")),
    "eks describe-update": (describe_update, False, flags("", "name update-id nodegroup-name addon-name")),
    "eks list-updates": (list_updates, False, flags("", "name nodegroup-name addon-name")),
    "iam list-open-id-connect-providers": (list_providers, False, {}),
    "cloudformation describe-stack-events": (describe_stack_events, False, flags("", "stack-name")),
    "cloudformation update-termination-protection": (protect_stack, True, flags(
        "enable-termination-protection no-enable-termination-protection", "stack-name")),
    "cloudformation wait stack-create-complete": (wait, False, flags("", "stack-name")),
    "cloudformation wait stack-update-complete": (wait, False, flags("", "stack-name")),
    "cloudformation describe-stacks": (describe_stacks, False, flags("", "stack-name")),
    "cloudformation deploy": (deploy_stack, True, flags(
        "no-fail-on-empty-changeset", "stack-name template-file", "capabilities tags")),
    "cloudformation delete-stack": (delete_stack, True, flags("", "stack-name")),
    "cloudformation wait stack-delete-complete": (wait, False, flags("", "stack-name")),
    "ec2 describe-instances": (describe_instances, False, flags("", "", "filters")),
    "ec2 terminate-instances": (terminate_instances, True, flags("", "", "instance-ids")),
    "ec2 wait instance-terminated": (wait_for_instances, False, flags("", "", "instance-ids")),
    "eks list-nodegroups": (list_nodegroups, False, flags("", "cluster-name")),
    "eks update-nodegroup-config": (update_nodegroup, True, _GROUP | flags(
        "", "client-request-token", "labels taints scaling-config update-config node-repair-config")),
    "eks update-nodegroup-version": (update_nodegroup_version, True, _GROUP | flags(
        "force", "kubernetes-version release-version client-request-token")),
    "eks update-cluster-version": (update_cluster_version, True, _NAME | flags("", "kubernetes-version")),
    "eks update-cluster-config": (update_cluster_config, True, _NAME | flags(
        "deletion-protection no-deletion-protection", "access-config logging upgrade-policy", "resources-vpc-config")),
    "eks create-access-entry": (create_entry, True, _ENTRY | flags("", "username type", "kubernetes-groups tags")),
    "eks update-access-entry": (update_entry, True, _ENTRY | flags("", "username", "kubernetes-groups")),
    "eks describe-access-entry": (describe_entry, False, _ENTRY),
    "eks delete-access-entry": (delete_entry, True, _ENTRY),
    "eks list-access-entries": (list_entries, False, flags("", "cluster-name")),
    "eks associate-access-policy": (associate_policy, True, _ENTRY | flags("", "policy-arn access-scope")),
    "eks disassociate-access-policy": (disassociate_policy, True, _ENTRY | flags("", "policy-arn")),
    "eks list-associated-access-policies": (list_policies, False, _ENTRY),
    "eks delete-nodegroup": (delete_nodegroup, True, _GROUP),
    "eks tag-resource": (tag, True, flags("", "resource-arn", "tags")),
    "eks untag-resource": (untag, True, flags("", "resource-arn", "tag-keys")),
    "eks list-tags-for-resource": (list_tags, False, flags("", "resource-arn")),
    "eks update-kubeconfig": (update_kubeconfig, False, flags("", "name alias kubeconfig role-arn")),
    "eks wait cluster-active": (wait, False, _NAME),
    "eks wait cluster-deleted": (wait, False, _NAME),
    "eks wait nodegroup-active": (wait, False, _GROUP),
    "eks wait nodegroup-deleted": (wait, False, _GROUP),
    "ec2 describe-subnets": (describe_subnets, False, flags("", "", "subnet-ids filters")),
    "ec2 describe-capacity-reservations": (describe_reservations, False, flags(
        "", "", "capacity-reservation-ids")),
    "autoscaling describe-auto-scaling-groups": (describe_groups, False, flags(
        "", "", "auto-scaling-group-names")),
    "autoscaling create-or-update-tags": (tag_groups, True, _ASG),
    "autoscaling put-scheduled-update-group-action": (put_action, True, flags(
        "", "auto-scaling-group-name scheduled-action-name start-time min-size max-size desired-capacity")),
    "ssm get-parameter": (get_parameter, False, flags("", "name")),
    "ec2 describe-availability-zones": (describe_zones, False, flags("", "", "zone-names")),
    "autoscaling delete-tags": (tag_groups, True, _ASG),
}

TOOL = Tool(
    name="aws",
    commands={name: Command(*definition) for name, definition in _COMMANDS.items()},
    flags=_GLOBAL,
    aliases={},
    unknown=_unknown,
    outage="\nError when retrieving token from sso: Token has expired and refresh failed",
    style="aws",
    errors={
        "throttled": lambda call: _api_error(
            call, "ThrottlingException", "Rate exceeded", " (reached max retries: 4)"),
        "expired": lambda call: _api_error(
            call, "ExpiredTokenException", "The security token included in the request is expired"),
        "quota": lambda call: _api_error(
            call, "ResourceLimitExceededException", "The limit of resources in this account is exceeded"),
    },
    outcomes={
        "eks create-addon": "create_failed degraded",
        "eks update-addon": "update_failed degraded",
        "eks update-nodegroup-config": "update_failed",
        "eks update-nodegroup-version": "update_failed",
        "eks update-cluster-config": "update_failed",
        "eks update-cluster-version": "update_failed",
        "eks delete-nodegroup": "delete_failed",
        "cloudformation deploy": "rollback",
        "cloudformation delete-stack": "delete_failed",
    },
)
