"""Tests of the fakes' clock, of operations that take time, and of each failure that a state can require."""

import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from test_standins import CONFIG, Case  # noqa: E402

OIDC = "iam: {withOIDC: true}\n"


class Failing(Case):
    """A test case whose operations take time and fail."""

    def delay(self, ticks):
        self.run_tool(f"standin-state set behavior.delay {ticks}")

    def fail(self, tool, match, how, **more):
        rule = {"tool": tool, "match": match, "how": how} | more
        self.run_tool("standin-state set behavior.fail", json.dumps([rule]))

    def get(self, path):
        return self.read("standin-state get", path)

    def tick(self, ticks):
        self.run_tool(f"standin-state tick {ticks}")

    def assert_absent(self, path):
        self.run_tool("standin-state get", path, rc=1)

    def status(self, *paths):
        return [self.get(path) for path in paths]


class Rules(Failing):
    CALLS = {
        "aws": ("aws eks list-clusters", 254),
        "eksctl": ("eksctl get cluster --region=us-east-1", 1),
        "gcloud": ("gcloud container clusters list --project=p", 1),
        "az": ("az group show -n g", 1),
        "kubectl": ("kubectl get nodes -o json", 1),
    }

    def assert_errors(self, how, texts):
        for tool, text in texts.items():
            line, rc = self.CALLS[tool]
            self.fail(tool, "", how)
            self.run_tool(line, rc=rc)
            self.assertIn(text, self.error)

    def test_throttled(self):
        self.assert_errors("throttled", {
            "aws": "An error occurred (ThrottlingException) when calling the ListClusters operation"
                   " (reached max retries: 4): Rate exceeded",
            "eksctl": "ThrottlingException: Rate exceeded",
            "gcloud": "ResponseError: code=429, message=Quota exceeded for quota metric 'Requests'",
            "az": "(TooManyRequestsReceived)", "kubectl": "TooManyRequests"})

    def test_expired(self):
        self.assert_errors("expired", {
            "aws": "The security token included in the request is expired", "eksctl": "ExpiredToken",
            "gcloud": "gcloud auth login", "az": "az login", "kubectl": "Unauthorized"})

    def test_quota(self):
        self.assert_errors("quota", {
            "aws": "ResourceLimitExceededException", "eksctl": "ResourceLimitExceededException",
            "gcloud": "Insufficient regional quota to satisfy request", "az": "(ErrCode_InsufficientVCPUQuota)",
            "kubectl": "exceeded quota"})

    def test_unreachable(self):
        self.assert_errors("unreachable", {"kubectl": "Unable to connect to the server: dial tcp"})

    def test_wrong_outputs(self):
        for how, text in (("garbled", "<html>"), ("misshapen", '["unexpected"]'), ("silent", "")):
            self.fail("aws", "list-clusters", how)
            self.assertIn(text, self.run_tool("aws eks list-clusters"))

    def test_hang(self):
        self.fail("aws", "list-clusters", "hang")
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run(["aws", "eks", "list-clusters"], env=self.env, timeout=1, check=False)
        # The state is not locked meanwhile, and the rule is used up.
        self.run_tool("aws eks list-clusters")
        rcs = [json.loads(line)["rc"] for line in self.log.read_text().splitlines()]
        self.assertEqual([137, 0], rcs)

    def test_rules_are_used_up_in_order(self):
        self.run_tool("standin-state set behavior.fail", json.dumps([
            {"tool": "aws", "match": "eks list", "how": "throttled", "times": 2},
            {"tool": "aws", "match": "", "how": "expired"}]))
        before = Path(self.env["GPUC_STANDIN_STATE"]).read_text()
        for text in ("Rate exceeded", "Rate exceeded", "is expired"):
            self.run_tool("aws eks list-clusters", rc=254)
            self.assertIn(text, self.error)
        self.run_tool("aws eks list-clusters")
        self.assertEqual(before, Path(self.env["GPUC_STANDIN_STATE"]).read_text())

    def test_outcome_that_a_command_cannot_have_is_an_error(self):
        self.fail("aws", "list-clusters", "rollback")
        self.run_tool("aws eks list-clusters", rc=64)

    def test_clock_is_not_in_the_state(self):
        self.run_tool("aws eks list-clusters")
        self.run_tool("eksctl version")
        self.run_tool("kubectl version -o json")
        self.assertEqual(2, self.read("standin-state time")["clock"])
        stored = json.loads(Path(self.env["GPUC_STANDIN_STATE"]).read_text())
        self.assertEqual([], [key for key in stored if key.startswith("_")])


class EksFailures(Failing):
    GROUP = "--cluster-name lab --nodegroup-name train"
    STACK = 'eks.stacks."eksctl-lab-nodegroup-train"'
    STACK_FLAG = "--stack-name eksctl-lab-nodegroup-train"
    STATUS = "eks.nodegroups.train.status"

    def setUp(self):
        super().setUp()
        self.file = self.folder / "cluster.yaml"
        self.file.write_text(CONFIG + OIDC)

    def create_cluster(self, **more):
        return self.run_tool(f"eksctl create cluster -f {self.file} --without-nodegroup", **more)

    def create(self, flags="", **more):
        return self.run_tool(f"eksctl create nodegroup -f {self.file} --include=train {flags}", **more)

    def lab(self, *, delay=0):
        self.create_cluster()
        self.create()
        self.delay(delay)

    def aws(self, line, *more, **options):
        return self.run_tool(f"aws {line}", *more, **options)

    def update(self, **more):
        sizes = "--scaling-config minSize=1,maxSize=4,desiredSize=1"
        return self.aws(f"eks update-nodegroup-config {self.GROUP} {sizes}", **more)

    def describe_update(self, number, flags="--nodegroup-name train"):
        return self.read(f"aws eks describe-update --name lab --update-id {number} {flags}")["update"]

    def test_defaults_of_a_new_cluster(self):
        self.create_cluster()
        self.assertEqual(["coredns", "kube-proxy", "metrics-server", "vpc-cni"],
                         self.read("aws eks list-addons --cluster-name lab")["addons"])
        self.aws("eks create-addon --cluster-name lab --addon-name vpc-cni", rc=254)
        (found,) = self.read("aws iam list-open-id-connect-providers")["OpenIDConnectProviderList"]
        issuer = self.aws("eks describe-cluster --name lab --query cluster.identity.oidc.issuer --output text")
        self.assertTrue(found["Arn"].endswith(issuer.strip().removeprefix("https://")))
        stack = self.read("aws cloudformation describe-stacks --stack-name eksctl-lab-cluster")["Stacks"][0]
        self.assertEqual((True, "CREATE_COMPLETE"), (stack["EnableTerminationProtection"], stack["StackStatus"]))
        self.create()
        self.run_tool("eksctl delete cluster --name lab --region us-east-1 --wait")
        self.assertEqual([{}, {}, []], self.status("eks.stacks", "eks.addons", "eks.oidcProviders"))

    def test_coredns_stays_on_the_last_nodes(self):
        self.lab()
        line = "eksctl delete nodegroup --cluster lab --name train --wait"
        self.run_tool(line, rc=1)
        self.assertIn("disruption budget: kube-system/coredns", self.error)
        self.assertEqual("ACTIVE", self.get(self.STATUS))
        self.run_tool(f"{line} --disable-eviction")

    def test_operations_of_eksctl_take_time(self):
        self.delay(3)
        for what, path in (("cluster", "eks.clusters.lab.status"), ("nodegroup", self.STATUS)):
            before = self.read("standin-state time")["clock"]
            self.create_cluster() if what == "cluster" else self.create()
            self.assertEqual(["ACTIVE", before + 4], [self.get(path), self.read("standin-state time")["clock"]])
        self.run_tool("eksctl delete nodegroup --cluster lab --name train --drain=false")
        self.assertEqual(["DELETING", "DELETE_IN_PROGRESS"], self.status(self.STATUS, self.STACK + ".StackStatus"))
        self.aws(f"eks wait nodegroup-deleted {self.GROUP}")
        self.assert_absent(self.STACK)

    def test_rollback_of_a_node_group_leaves_a_stack(self):
        self.create_cluster()
        self.delay(2)
        self.fail("eksctl", "create nodegroup", "rollback")
        self.create(rc=1)
        self.assertIn("InsufficientInstanceCapacity", self.error)
        self.assertIn("p5.48xlarge", self.error)
        self.aws(f"eks describe-nodegroup {self.GROUP}", rc=254)
        self.assertEqual({}, self.get("eks.autoScalingGroups"))
        # eksctl skips the pool because of its stack.
        self.assertIn("1 existing nodegroup(s) (train) will be excluded", self.create())
        self.aws(f"eks wait nodegroup-active {self.GROUP}", rc=255)
        self.assertIn("Waiter NodegroupActive failed: An error occurred (ResourceNotFoundException)", self.error)
        output = self.run_tool("eksctl delete nodegroup --cluster lab --name train --drain=false --wait")
        self.assertIn("deleted 1 nodegroup(s)", output)
        self.assertEqual("ROLLBACK_COMPLETE", self.get(self.STACK + ".StackStatus"))
        events = self.read(f"aws cloudformation describe-stack-events {self.STACK_FLAG}")["StackEvents"]
        failed = [each["LogicalResourceId"] for each in events if each["ResourceStatus"] == "CREATE_FAILED"]
        self.assertEqual(["ManagedNodeGroup"], failed)
        text = self.aws(f"cloudformation describe-stack-events {self.STACK_FLAG} --output text",
                        "--query", "StackEvents[?contains(ResourceStatus, 'FAILED')].ResourceStatusReason")
        self.assertIn("InsufficientInstanceCapacity", text)
        self.aws(f"cloudformation wait stack-create-complete {self.STACK_FLAG}", rc=255)
        self.assertIn('matched expected path: "ROLLBACK_COMPLETE"', self.error)
        self.aws(f"cloudformation delete-stack {self.STACK_FLAG}", rc=254)
        self.assertIn("cannot be deleted while TerminationProtection is enabled", self.error)
        self.aws(f"cloudformation update-termination-protection --no-enable-termination-protection {self.STACK_FLAG}")
        self.aws(f"cloudformation delete-stack {self.STACK_FLAG}")
        self.assertEqual("DELETE_IN_PROGRESS", self.get(self.STACK + ".StackStatus"))
        self.aws(f"cloudformation wait stack-delete-complete {self.STACK_FLAG}")
        self.create()
        self.assertEqual("ACTIVE", self.get(self.STATUS))

    def test_quota_rolls_a_node_group_back(self):
        self.create_cluster()
        self.fail("eksctl", "create nodegroup", "quota")
        self.create(rc=1)
        self.assertIn("VcpuLimitExceeded", self.error)
        self.assertEqual("ROLLBACK_COMPLETE", self.get(self.STACK + ".StackStatus"))

    def test_rollback_of_a_cluster_leaves_a_stack(self):
        self.fail("eksctl", "create cluster", "rollback")
        self.create_cluster(rc=1)
        self.aws("eks describe-cluster --name lab", rc=254)
        self.create_cluster(rc=1)
        self.assertIn("AlreadyExistsException", self.error)
        self.run_tool("eksctl delete cluster --name lab --region us-east-1 --wait")
        self.create_cluster()

    def test_create_failed(self):
        self.create_cluster()
        self.fail("eksctl", "create nodegroup", "create_failed")
        self.create(rc=1)
        group = self.get("eks.nodegroups.train")
        self.assertEqual(("CREATE_FAILED", "NodeCreationFailure"),
                         (group["status"], group["health"]["issues"][0]["code"]))
        self.aws(f"eks wait nodegroup-active {self.GROUP}", rc=255)
        self.assertIn('matched expected path: "CREATE_FAILED"', self.error)
        self.assertEqual("CREATE_FAILED", self.get(self.STACK + ".StackStatus"))
        self.run_tool("eksctl delete nodegroup --cluster lab --name train --drain=false --wait")
        self.create()

    def test_degraded(self):
        self.create_cluster()
        self.fail("eksctl", "create nodegroup", "degraded")
        self.create()
        self.assertEqual("ACTIVE", self.get(self.STATUS))
        self.aws(f"eks wait nodegroup-active {self.GROUP}", rc=255)
        self.assertIn("Max attempts exceeded", self.error)
        self.assertEqual("AsgInstanceLaunchFailures", self.get("eks.nodegroups.train.health.issues.0.code"))
        self.update(rc=254)
        self.assertIn("ResourceInUseException", self.error)

    def test_timeout_of_eksctl(self):
        self.fail("eksctl", "create", "timeout", times=3)
        self.create_cluster(rc=1)
        self.assertEqual(["CREATING", "CREATE_IN_PROGRESS"], self.status(
            "eks.clusters.lab.status", 'eks.stacks."eksctl-lab-cluster".StackStatus'))
        self.create(rc=1)
        self.assertIn('due to status "CREATING"', self.error)
        self.aws("eks wait cluster-active --name lab")
        self.assert_absent("eks.addons")
        self.create(rc=1)
        self.assertIn("exceeded max wait time", self.error)
        self.aws(f"cloudformation wait stack-create-complete {self.STACK_FLAG}")
        self.assertEqual("ACTIVE", self.get(self.STATUS))

    def test_no_addons(self):
        self.fail("eksctl", "create cluster", "no_addons")
        self.create_cluster(rc=1)
        self.assertEqual("ACTIVE", self.get("eks.clusters.lab.status"))
        self.assertEqual([], self.read("aws eks list-addons --cluster-name lab")["addons"])
        self.assertEqual([], self.read("aws iam list-open-id-connect-providers")["OpenIDConnectProviderList"])
        for name in ("vpc-cni", "kube-proxy", "coredns", "metrics-server", "vpc-cni"):
            self.run_tool(f"eksctl create addon --cluster lab --region us-east-1 --name {name} --force")
        line = "eksctl utils associate-iam-oidc-provider --cluster lab --region us-east-1"
        self.run_tool(line)
        self.assert_absent("eks.oidcProviders")
        self.run_tool(line + " --approve")
        repaired = self.get("eks")
        self.run_tool("eksctl delete cluster --name lab --region us-east-1")
        self.create_cluster()
        self.assertEqual(repaired, self.get("eks"))

    def test_update_takes_time_and_is_seen_late(self):
        self.lab(delay=3)
        number = json.loads(self.update())["update"]["id"]
        # The waiter can see the old status.
        self.aws(f"eks wait nodegroup-active {self.GROUP}")
        self.update(rc=254)
        self.assertIn("Nodegroup cannot be updated as it is currently not in Active State", self.error)
        self.assertEqual(["UPDATING", 0], self.status(self.STATUS, "eks.nodegroups.train.scalingConfig.minSize"))
        self.assertEqual("InProgress", self.describe_update(number)["status"])
        self.aws(f"eks wait nodegroup-active {self.GROUP}")
        self.assertEqual("Successful", self.describe_update(number)["status"])
        self.assertEqual(1, self.get("eks.nodegroups.train.scalingConfig.minSize"))
        self.assertEqual([number], self.read("aws eks list-updates --name lab --nodegroup-name train")["updateIds"])
        self.aws(f"eks describe-update --name lab --update-id {number}", rc=254)
        self.assertIn("ResourceNotFoundException", self.error)

    def test_update_without_delay_is_done_at_once(self):
        self.lab()
        update = json.loads(self.aws("eks update-cluster-version --name lab --kubernetes-version 1.35"))["update"]
        self.assertEqual("InProgress", update["status"])
        self.assertEqual("Successful", self.describe_update(update["id"], "")["status"])
        self.assertEqual("1.35", self.get("eks.clusters.lab.version"))

    def test_update_failed(self):
        self.lab(delay=2)
        self.fail("aws", "eks update-", "update_failed", times=3)
        number = json.loads(self.update())["update"]["id"]
        self.tick(3)
        found = self.describe_update(number)
        self.assertEqual(("Failed", "PodEvictionFailure"), (found["status"], found["errors"][0]["errorCode"]))
        self.assertEqual(["ACTIVE", 0], self.status(self.STATUS, "eks.nodegroups.train.scalingConfig.minSize"))
        self.aws("eks update-cluster-version --name lab --kubernetes-version 1.35")
        self.aws("eks update-addon --cluster-name lab --addon-name vpc-cni --configuration-values {}")
        self.tick(3)
        self.assertEqual(["ACTIVE", "1.34", "UPDATE_FAILED"], self.status(
            "eks.clusters.lab.status", "eks.clusters.lab.version", "eks.addons.lab.vpc-cni.status"))
        self.aws("eks wait addon-active --cluster-name lab --addon-name vpc-cni", rc=255)
        self.assertIn("Max attempts exceeded", self.error)

    def test_delete_failed(self):
        self.lab()
        self.fail("eksctl", "delete nodegroup", "delete_failed")
        line = "eksctl delete nodegroup --cluster lab --name train --drain=false --wait"
        self.run_tool(line, rc=1)
        group = self.get("eks.nodegroups.train")
        self.assertEqual(("DELETE_FAILED", "Ec2SecurityGroupDeletionFailure"),
                         (group["status"], group["health"]["issues"][0]["code"]))
        self.assertIn("deleted 1 nodegroup(s) from cluster", self.run_tool(line))
        self.aws(f"eks wait nodegroup-deleted {self.GROUP}", rc=255)
        self.assertIn('matched expected path: "DELETE_FAILED"', self.error)
        self.aws(f"cloudformation update-termination-protection --no-enable-termination-protection {self.STACK_FLAG}")
        self.fail("aws", "delete-stack", "delete_failed")
        self.aws(f"cloudformation delete-stack {self.STACK_FLAG}")
        self.aws(f"cloudformation wait stack-delete-complete {self.STACK_FLAG}", rc=255)
        self.aws(f"cloudformation delete-stack {self.STACK_FLAG}")
        self.aws(f"eks describe-nodegroup {self.GROUP}", rc=254)

    def test_addons_fail(self):
        self.create_cluster()
        self.delay(2)
        self.fail("aws", "create-addon", "create_failed")
        line = "--cluster-name lab --addon-name eks-node-monitoring-agent"
        self.aws(f"eks create-addon {line}")
        self.assertEqual("CREATING", self.get("eks.addons.lab.eks-node-monitoring-agent.status"))
        self.aws(f"eks wait addon-active {line}", rc=255)
        self.run_tool("eksctl create addon --cluster lab --region us-east-1 --name eks-node-monitoring-agent")
        self.aws(f"eks wait addon-active {line}")
        self.fail("aws", "create-addon", "degraded")
        self.aws("eks create-addon --cluster-name lab --addon-name other")
        self.tick(3)
        self.aws("eks wait addon-active --cluster-name lab --addon-name other", rc=255)
        self.fail("eksctl", "create addon", "create_failed")
        self.run_tool("eksctl create addon --cluster lab --region us-east-1 --name eks-pod-identity-agent", rc=1)

    def test_addon_versions(self):
        self.lab(delay=2)
        line = "--cluster-name lab --addon-name coredns"
        versions = "eks describe-addon-versions --addon-name coredns --kubernetes-version"
        found = self.read(f"aws {versions} 1.34")["addons"][0]["addonVersions"]
        default = [each["addonVersion"] for each in found
                   if any(it["clusterVersion"] == "1.34" and it["defaultVersion"] for it in each["compatibilities"])]
        self.assertEqual([self.get("eks.addons.lab.coredns.addonVersion")], default)
        self.assertEqual([], self.read(f"aws {versions} 1.9")["addons"])
        newer, supported = found[0]["addonVersion"], {each["addonVersion"] for each in found}
        future = [each["addonVersion"] for each in self.read(f"aws {versions} 1.37")["addons"][0]["addonVersions"]]
        self.aws(f"eks update-addon {line} --addon-version {future[0]}", rc=254)
        self.assertIn("Addon version specified is not supported", self.error)
        self.assertNotIn(future[0], supported)
        self.aws(f"eks update-addon {line} --addon-version {newer}")
        self.assertEqual(default[0], self.get("eks.addons.lab.coredns.addonVersion"))
        self.tick(3)
        self.assertEqual(newer, self.get("eks.addons.lab.coredns.addonVersion"))
        self.fail("aws", "update-addon", "degraded")
        self.aws(f"eks update-addon {line} --addon-version {default[0]}")
        self.tick(4)
        self.assertEqual([default[0], "DEGRADED"], self.status(
            "eks.addons.lab.coredns.addonVersion", "eks.addons.lab.coredns.status"))

    def test_rollback_of_a_deployment(self):
        template = self.folder / "stack.yaml"
        template.write_text("Resources: {Queue: {Type: 'AWS::SQS::Queue'}}")
        line = f"cloudformation deploy --stack-name s --template-file {template}"
        self.fail("aws", "deploy", "rollback")
        self.aws(line, rc=255)
        self.assertIn("Failed to create/update the stack", self.error)
        self.aws(line, rc=254)
        self.assertIn("is in ROLLBACK_COMPLETE state and can not be updated.", self.error)
        self.aws("cloudformation delete-stack --stack-name s")
        self.aws(line)
        self.fail("aws", "deploy", "rollback")
        self.aws(f"{line} --tags a=b", rc=255)
        self.assertEqual(["UPDATE_ROLLBACK_COMPLETE", []], self.status("eks.stacks.s.StackStatus", "eks.stacks.s.Tags"))
        self.aws(f"{line} --tags a=b")

    def test_cluster_waiters(self):
        self.lab()
        self.aws("eks wait cluster-deleted --name lab", rc=255)
        self.assertIn('matched expected path: "ACTIVE"', self.error)
        self.delay(2)
        self.run_tool("eksctl delete cluster --name lab --region us-east-1")
        self.aws("eks wait cluster-active --name lab", rc=255)
        self.assertIn('matched expected path: "DELETING"', self.error)
        self.aws("eks wait cluster-deleted --name lab")

    def test_waiter_gives_up(self):
        self.lab(delay=50)
        self.run_tool("eksctl delete nodegroup --cluster lab --name train --drain=false")
        self.aws(f"eks wait nodegroup-deleted {self.GROUP}", rc=255)
        self.assertIn("Max attempts exceeded", self.error)
        self.aws(f"eks wait nodegroup-deleted {self.GROUP}")

    def test_crash_kills_the_script(self):
        script = self.folder / "script.sh"
        script.write_text(f"#!/bin/bash\n(eksctl create cluster -f {self.file} --without-nodegroup)\n"
                          f"touch {self.folder}/after\n")
        script.chmod(0o755)
        process = subprocess.run(["bash", "-c", f"{script}; touch {self.folder}/after"], check=False,
                                 env=self.env | {"GPUC_STANDIN_KILL": "eksctl:create cluster"})
        self.assertEqual(-9, process.returncode)
        for _ in range(50):
            if self.log.exists():
                break
            time.sleep(0.1)
        self.assertFalse((self.folder / "after").exists())
        (call,) = map(json.loads, self.log.read_text().splitlines())
        self.assertEqual(137, call["rc"])
        self.assertEqual("CREATING", self.get("eks.clusters.lab.status"))
        self.aws("eks wait cluster-active --name lab")
        self.assert_absent("eks.addons")


class GkeFailures(Failing):
    WHERE = ("--project=p", "--zone=us-central1-a")
    POOL = "gke.pools.train"

    def setUp(self):
        super().setUp()
        self.gcloud("clusters create c --num-nodes=1")

    def gcloud(self, line, *more, **options):
        return self.run_tool(f"gcloud container {line}", *self.WHERE, *more, **options)

    def create(self, flags="", **more):
        return self.gcloud(f"node-pools create train --cluster=c --node-labels=a=b {flags}", **more)

    def test_operations_take_time(self):
        self.delay(2)
        self.create("--async")
        self.assertEqual("PROVISIONING", self.get(self.POOL + ".status"))
        self.gcloud("node-pools delete train --cluster=c --quiet", rc=1)
        self.assertIn("is currently creating cluster c. Please wait and try again once it is done.", self.error)
        self.tick(2)
        self.assertEqual("RUNNING", self.get(self.POOL + ".status"))
        self.gcloud("node-pools update train --cluster=c --tags=t --quiet --async")
        self.assertEqual("RECONCILING", self.get(self.POOL + ".status"))
        self.tick(2)
        self.gcloud("clusters delete c --quiet --async")
        self.assertEqual(["STOPPING", "STOPPING"], self.status(self.POOL + ".status", "gke.clusters.c.status"))
        self.tick(2)
        self.assertEqual([{}, {}], self.status("gke.pools", "gke.clusters"))

    def test_still_running(self):
        self.fail("gcloud", "create train", "still_running")
        self.create(rc=1)
        self.assertIn("is still running, check its status via 'gcloud container operations describe", self.error)
        self.assertEqual("PROVISIONING", self.get(self.POOL + ".status"))
        (found,) = json.loads(self.gcloud("operations list --format=json",
                                          "--filter=status!=DONE AND targetLink~/clusters/c(/|$)"))
        self.assertEqual(("RUNNING", "CREATE_NODE_POOL"), (found["status"], found["operationType"]))
        self.gcloud(f"operations wait {found['name']}")
        self.assertEqual("RUNNING", self.get(self.POOL + ".status"))
        self.assertIn("DONE", self.gcloud(f"operations describe {found['name']}", "--format=value(status)"))

    def test_stockout(self):
        self.fail("gcloud", "create train", "stockout")
        self.create(rc=1)
        self.assertRegex(self.error, r"Operation \[operation-.*\] finished with error: .*\[GCE_STOCKOUT\]")
        pool = json.loads(self.gcloud("node-pools describe train --cluster=c --format=json"))
        self.assertEqual(("ERROR", "GCE_STOCKOUT", {"a": "b"}),
                         (pool["status"], pool["conditions"][0]["code"], pool["config"]["labels"]))
        self.assertIn("GCE_STOCKOUT", pool["statusMessage"])
        self.gcloud("node-pools delete train --cluster=c --quiet")
        self.create()
        self.assert_absent(self.POOL + ".conditions")

    def test_partial(self):
        self.fail("gcloud", "create train", "partial")
        self.create(rc=1)
        self.assertEqual("RUNNING_WITH_ERROR", self.get(self.POOL + ".status"))
        self.gcloud("clusters resize c --node-pool=train --num-nodes=2 --quiet")
        self.assertEqual("RUNNING", self.get(self.POOL + ".status"))
        self.assert_absent(self.POOL + ".conditions")

    def test_busy(self):
        self.fail("gcloud", "update", "busy")
        self.gcloud("clusters update c --update-labels=a=b", rc=1)
        self.assertRegex(self.error, "code=400, message=Operation operation-.* is currently upgrading cluster c.")

    def test_elsewhere(self):
        self.fail("gcloud", "clusters describe", "elsewhere")
        self.gcloud("clusters describe c", rc=1)
        self.assertIn("Did you mean [c] in [us-east4-b]?", self.error)
        self.gcloud("clusters describe c")

    def test_crash_leaves_the_operation(self):
        self.run_tool("gcloud container node-pools create train --cluster=c", *self.WHERE, rc=-9,
                      GPUC_STANDIN_KILL="gcloud:create")
        self.assertEqual("PROVISIONING", self.get(self.POOL + ".status"))
        self.tick(2)
        self.assertEqual("RUNNING", self.get(self.POOL + ".status"))


class AksFailures(Failing):
    POOL = "-g g --cluster-name c -n gpu1"
    STATE = "aks.pools.gpu1.provisioningState"

    def setUp(self):
        super().setUp()
        self.run_tool("az group create -n g -l westeurope")
        self.run_tool("az aks create -g g -n c --node-count 1 --no-ssh-key")

    def add(self, flags="", **more):
        return self.run_tool(f"az aks nodepool add {self.POOL} --node-count 2 {flags}", **more)

    def pool(self):
        return self.read(f"az aks nodepool show {self.POOL}")

    def test_operations_take_time(self):
        self.delay(2)
        for line, state in (("nodepool add {} --node-count 1", "Creating"),
                            ("nodepool update {} --labels a=b", "Updating"),
                            ("nodepool scale {} --node-count 3", "Scaling"), ("nodepool upgrade {}", "Upgrading")):
            self.run_tool(f"az aks {line.format(self.POOL)} --no-wait")
            self.assertEqual(state, self.get(self.STATE))
            self.run_tool(f"az aks nodepool delete {self.POOL}", rc=1)
            self.assertIn(f"Another operation ({state}) is in progress", self.error)
            self.tick(2)
            self.assertEqual("Succeeded", self.get(self.STATE))
        self.run_tool(f"az aks nodepool delete {self.POOL} --no-wait")
        self.assertEqual("Deleting", self.get(self.STATE))
        self.run_tool(f"az aks nodepool wait {self.POOL} --deleted")
        self.assert_absent("aks.pools.gpu1")
        self.run_tool("az aks update -g g -n c --tier standard --no-wait")
        self.run_tool("az aks wait -g g -n c --custom", "provisioningState=='Succeeded'")
        self.assertEqual("Succeeded", self.get("aks.clusters.c.provisioningState"))

    def test_failed(self):
        self.fail("az", "nodepool add", "failed")
        self.add(rc=1)
        pool = self.pool()
        self.assertEqual(("Failed", 2), (pool["provisioningState"], pool["count"]))
        self.assertEqual({"code", "message", "details"}, pool["status"]["provisioningError"].keys())
        self.run_tool(f"az aks nodepool wait {self.POOL} --updated", rc=1)
        self.assertIn("The operation failed", self.error)
        self.run_tool(f"az resource update --ids {pool['id']}")
        self.assertEqual("Succeeded", self.get(self.STATE))
        self.assert_absent("aks.pools.gpu1.status")
        self.fail("az", "aks update", "failed")
        self.run_tool("az aks update -g g -n c --tier standard", rc=1)
        self.run_tool("az aks update -g g -n c")
        self.assertEqual("Succeeded", self.get("aks.clusters.c.provisioningState"))

    def test_canceled(self):
        self.add()
        self.fail("az", "nodepool update", "canceled")
        self.run_tool(f"az aks nodepool update {self.POOL} --labels a=b", rc=1)
        self.assertEqual("Canceled", self.get(self.STATE))
        # The wait polls until its timeout, and then succeeds.
        self.assertEqual("{}\n", self.run_tool(f"az aks nodepool wait {self.POOL} --updated --timeout 60"))
        self.run_tool(f"az aks nodepool update {self.POOL} --labels a=b")
        self.assertEqual("Succeeded", self.get(self.STATE))

    def test_wait_gives_up_without_an_error(self):
        self.delay(9)
        self.add("--no-wait")
        line = f"az aks nodepool wait {self.POOL} --created --interval 30 --timeout 90"
        self.assertEqual("{}\n", self.run_tool(line))
        self.assertEqual("Creating", self.get(self.STATE))

    def test_busy(self):
        self.fail("az", "nodepool add", "busy")
        self.add(rc=1)
        self.assertIn("(OperationNotAllowed) Operation is not allowed: Another operation (Updating) is", self.error)
        self.assertIn("aka.ms/aks-pending-operation", self.error)
        self.assert_absent("aks.pools.gpu1")

    def test_capacity(self):
        self.fail("az", "nodepool add", "capacity")
        self.add(rc=1)
        self.assertIn("(ErrCode_InsufficientVCPUQuota) Insufficient vcpu quota requested 96, remaining 0", self.error)
        self.assertEqual(["Failed", 0], self.status(self.STATE, "aks.pools.gpu1.count"))

    def test_reservation(self):
        flags = "--crg-id /group"
        self.add(flags, rc=1)
        self.run_tool("az aks update -g g -n c --assign-identity /me --yes", rc=1)
        self.assertIn("--assign-identity can only be specified when --enable-managed-identity is", self.error)
        self.run_tool("az aks update -g g -n c --enable-managed-identity --assign-identity /me", rc=1)
        self.run_tool("az aks update -g g -n c --enable-managed-identity --assign-identity /me --yes")
        self.assertEqual({"/me": {}}, self.get("aks.clusters.c.identity.userAssignedIdentities"))
        self.fail("az", "nodepool add", "unreserved")
        self.add(flags)
        self.assertIn("WARNING", self.error)
        self.assertIsNone(self.get("aks.pools.gpu1.capacityReservationGroupId"))
        self.run_tool(f"az aks nodepool delete {self.POOL}")
        self.add(flags)
        self.assertEqual("/group", self.get("aks.pools.gpu1.capacityReservationGroupId"))

    def test_stopped(self):
        self.fail("az", "nodepool add", "stopped")
        self.add()
        self.assertEqual(["Succeeded", "Stopped"], self.status(self.STATE, "aks.pools.gpu1.powerState.code"))
        self.run_tool(f"az aks nodepool start {self.POOL}")
        self.assertEqual("Running", self.get("aks.pools.gpu1.powerState.code"))
        self.fail("az", "aks update", "stopped")
        self.run_tool("az aks update -g g -n c --tier standard")
        self.assertEqual("Stopped", self.get("aks.clusters.c.powerState.code"))
        self.run_tool("az aks start -g g -n c")
        self.assertEqual("Running", self.get("aks.clusters.c.powerState.code"))

    def test_crash_leaves_the_operation(self):
        self.run_tool(f"az aks nodepool add {self.POOL}", rc=-9, GPUC_STANDIN_KILL="az:nodepool add")
        self.assertEqual("Creating", self.get(self.STATE))
        self.run_tool(f"az aks nodepool wait {self.POOL} --created")
        self.assertEqual("Succeeded", self.get(self.STATE))


if __name__ == "__main__":
    unittest.main()
