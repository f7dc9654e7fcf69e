"""Tests of the fakes: they behave like the real tools where generated scripts depend on it."""

import atexit
import functools
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIG = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: lab, region: us-east-1, version: "1.34", tags: {team: ml}}
managedNodeGroups:
  - name: train
    instanceType: p5.48xlarge
    minSize: 0
    maxSize: 4
    labels: {role: train}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
    volumeSize: 200
  - {name: serve, instanceTypes: [g6.xlarge, g5.xlarge], spot: true, desiredCapacity: 1}
"""


@functools.cache
def start_server():
    """Start the server of `calls.py`, which ends with this process. Return its port."""
    server = subprocess.Popen(["python3", HERE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()

    def stop():
        server.stdin.close()
        server.stdout.close()
        server.wait()

    atexit.register(stop)
    return port


class Case(unittest.TestCase):
    """A test case with its own state and log."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GPUC_", "CLOUDSDK", "AWS_"))}
        self.env = inherited | {
            "PATH": f"{HERE / 'bin'}:{os.environ['PATH']}",
            "GPUC_STANDIN_STATE": str(self.folder / "state.json"),
            "GPUC_STANDIN_LOG": str(self.log),
            "GPUC_STANDIN_SERVER": start_server(),
            "AWS_REGION": "us-east-1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run_tool(self, line, *more, rc=0, stdin=None, **env):
        process = subprocess.run(
            [*line.split(), *more], env=self.env | env, text=True, capture_output=True,
            input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL, check=False,
        )
        self.assertEqual(rc, process.returncode, f"{line} {more}\n{process.stdout}\n{process.stderr}")
        self.error = process.stderr
        return process.stdout

    def read(self, line, *more):
        return json.loads(self.run_tool(line, *more))

    def mutating(self):
        return [call for call in map(json.loads, self.log.read_text().splitlines()) if call["mutates"]]


class Shared(Case):
    def test_log_has_exact_arguments(self):
        self.run_tool("kubectl label node n1", "a=b c", "--overwrite", rc=1)
        (call,) = map(json.loads, self.log.read_text().splitlines())
        self.assertEqual(["label", "node", "n1", "a=b c", "--overwrite"], call["argv"])
        self.assertEqual(("kubectl", True, 1), (call["tool"], call["mutates"], call["rc"]))

    def test_unsupported_command_is_an_error(self):
        for line in ("gcloud container hubs list", "az vm list", "aws s3 ls", "eksctl anywhere", "kubectl exec p"):
            self.run_tool(line, rc=64)
            self.assertIn("stand-in: unsupported", self.error)

    def test_injected_outage_differs_from_not_found(self):
        fail = {"GPUC_STANDIN_FAIL": "az:nodepool show"}
        self.run_tool("az aks nodepool show -g g --cluster-name c -n p", rc=1, **fail)
        self.assertIn("AADSTS", self.error)
        self.run_tool("az aks nodepool show -g g --cluster-name c -n p", rc=3)

    def test_failed_call_does_not_change_the_state(self):
        self.run_tool("standin-state node n1 a=b")
        self.run_tool("kubectl label node n1 new=1 a=c", rc=1)
        self.assertNotIn("new", self.read("standin-state get nodes.n1.metadata.labels"))

    def test_quoted_keys_can_have_dots(self):
        self.run_tool("standin-state set", 'x."nvidia.com/gpu".list', "[1]")
        self.run_tool("standin-state set", 'x."nvidia.com/gpu".list.1', "two")
        self.assertEqual([1, "two"], self.read("standin-state get", 'x."nvidia.com/gpu".list'))
        self.run_tool("standin-state del", 'x."nvidia.com/gpu"')
        self.run_tool("standin-state get", 'x."nvidia.com/gpu"', rc=1)

    def test_parallel_calls_are_all_stored(self):
        names = [f"n{number}" for number in range(8)]
        running = [subprocess.Popen(["standin-state", "node", name], env=self.env) for name in names]
        self.assertEqual([0] * 8, [each.wait() for each in running])
        self.assertEqual(names, sorted(self.read("standin-state get nodes")))


class Gcloud(Case):
    WHERE = ("--project=p", "--zone=us-central1-a")

    def setUp(self):
        super().setUp()
        self.run_tool("gcloud container clusters create c --num-nodes=1", *self.WHERE)
        self.run_tool(
            "gcloud container node-pools create train --cluster=c --machine-type=g2-standard-4"
            " --accelerator=type=nvidia-l4,count=1,gpu-driver-version=latest,gpu-sharing-strategy=time-sharing"
            " --num-nodes=0 --enable-autoscaling --min-nodes=0 --max-nodes=4 --node-labels=a=b,c=d"
            " --node-taints=x=y:NoSchedule --tags=t", *self.WHERE)

    def pool(self):
        return self.read("gcloud container node-pools describe train --cluster=c --format=json", *self.WHERE)

    def update(self, *flags, rc=0):
        return self.run_tool("gcloud container node-pools update train --cluster=c", *self.WHERE, *flags, rc=rc)

    def test_describe_omits_zero_values(self):
        pool = self.pool()
        self.assertNotIn("initialNodeCount", pool)
        self.assertEqual({"enabled": True, "maxNodeCount": 4, "locationPolicy": "BALANCED"}, pool["autoscaling"])
        self.assertEqual({
            "acceleratorType": "nvidia-l4", "acceleratorCount": "1",
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
            "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": "2"},
        }, pool["config"]["accelerators"][0])
        self.assertNotIn("spot", pool["config"])
        self.assertEqual({"maxPodsPerNode": "110"}, pool["maxPodsConstraint"])

    def test_only_gpu_pools_have_the_automatic_taint(self):
        automatic = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
        self.assertEqual([{"key": "x", "value": "y", "effect": "NO_SCHEDULE"}, automatic], self.pool()["config"]["taints"])
        self.update("--node-taints=", "--quiet")
        self.assertEqual([automatic], self.pool()["config"]["taints"])
        self.update("--node-taints=nvidia.com/gpu=present:NoSchedule", "--quiet")
        self.assertEqual([automatic], self.pool()["config"]["taints"])
        cpu_pool = self.read("gcloud container node-pools describe default-pool --cluster=c --format=json", *self.WHERE)
        self.assertNotIn("taints", cpu_pool["config"])

    def test_flex_start_pool_starts_empty_without_repairs(self):
        create = "gcloud container node-pools create flex --cluster=c --machine-type=a2-highgpu-1g --flex-start"
        create += " --enable-queued-provisioning --num-nodes=0 --enable-autoscaling --total-max-nodes=4"
        self.run_tool(create + " --no-enable-autorepair", *self.WHERE, rc=1)
        self.assertIn("queued provisioning does not support reservations", self.error)
        create += " --reservation-affinity=none"
        self.run_tool(create + " --enable-autorepair", *self.WHERE, rc=1)
        self.run_tool(create + " --no-enable-autorepair --max-run-duration=604801s", *self.WHERE, rc=1)
        self.run_tool(create + " --no-enable-autorepair --spot", *self.WHERE, rc=1)
        self.run_tool(create + " --no-enable-autorepair --max-run-duration=86400s", *self.WHERE)
        pool = self.read("gcloud container node-pools describe flex --cluster=c --format=json", *self.WHERE)
        self.assertEqual((True, "86400s"), (pool["config"]["flexStart"], pool["config"]["maxRunDuration"]))
        self.assertIn("cloud.google.com/gke-queued", [taint["key"] for taint in pool["config"]["taints"]])

    def test_update_requires_exactly_one_group(self):
        self.update("--node-labels=a=b", "--node-taints=x=y:NoSchedule", "--quiet", rc=2)
        self.update("--enable-autoscaling", "--max-nodes=3", "--node-labels=a=b", "--quiet", rc=2)
        self.update("--quiet", rc=2)
        self.update("--machine-type=g2-standard-8", "--disk-size=200")
        self.assertEqual(200, self.pool()["config"]["diskSizeGb"])

    def test_update_rejects_flags_of_create(self):
        for flag in ("--spot", "--num-nodes=2", "--image-type=x", "--max-pods-per-node=8", "--placement-type=COMPACT",
                     "--reservation=r", "--local-nvme-ssd-block=count=1", "--node-version=1"):
            self.update(flag, "--quiet", rc=2)
            self.assertIn("unrecognized arguments", self.error)

    def test_replacement_of_sets_requires_quiet(self):
        for flag in ("--node-labels=z=1", "--node-taints=z=1:NoSchedule", "--tags=z"):
            self.update(flag, rc=1)
            self.assertIn("interactive session", self.error)
            self.update(flag, "--quiet")
        config = self.pool()["config"]
        self.assertEqual(({"z": "1"}, ["z"]), (config["labels"], config["tags"]))

    def test_autoscaling_is_merged_and_disabled(self):
        self.update("--enable-autoscaling", "--min-nodes=1")
        self.assertEqual((1, 4), (self.pool()["autoscaling"]["minNodeCount"], self.pool()["autoscaling"]["maxNodeCount"]))
        self.update("--no-enable-autoscaling")
        self.assertEqual({}, self.pool()["autoscaling"])

    def test_accelerator_update_unsets_omitted_keys(self):
        self.update("--accelerator=type=nvidia-l4,count=1")
        self.assertEqual({"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}, self.pool()["config"]["accelerators"][0])
        self.update("--accelerator=count=1", rc=2)
        self.update("--accelerator=type=nvidia-l4,gpu-driver-version=newest", rc=1)

    def test_missing_is_404_and_existing_is_409(self):
        self.run_tool("gcloud container node-pools describe no --cluster=c", *self.WHERE, rc=1)
        self.assertIn("code=404", self.error)
        self.assertIn("projects/p/zones/us-central1-a/clusters/c/nodePools/no.", self.error)
        self.run_tool("gcloud container clusters describe no", *self.WHERE, rc=1)
        self.run_tool("gcloud container clusters describe c --project=p --region=us-east1", rc=1)
        self.run_tool("gcloud container node-pools create train --cluster=c", *self.WHERE, rc=1)
        self.assertIn("code=409", self.error)

    def test_resize_and_delete_require_confirmation(self):
        line = "gcloud container clusters resize c --node-pool=train --num-nodes=2"
        self.run_tool(line, *self.WHERE, rc=1)
        self.run_tool(line + " --quiet", *self.WHERE)
        self.assertEqual(2, self.pool()["initialNodeCount"])
        self.run_tool("gcloud container clusters upgrade c --node-pool=train --image-type=ubuntu_containerd -q", *self.WHERE)
        self.assertEqual("UBUNTU_CONTAINERD", self.pool()["config"]["imageType"])
        self.run_tool("gcloud container node-pools delete train --cluster=c", *self.WHERE, rc=1)
        self.run_tool("gcloud container node-pools delete train --cluster=c --quiet", *self.WHERE)
        self.run_tool("gcloud container node-pools describe train --cluster=c", *self.WHERE, rc=1)

    def test_describe_shows_drift(self):
        self.run_tool("standin-state set gke.pools.train.config.labels.x y")
        self.assertEqual("y", self.pool()["config"]["labels"]["x"])

    def test_reads_do_not_mutate(self):
        before = len(self.mutating())
        self.pool()
        self.run_tool("gcloud projects describe p")
        self.run_tool("gcloud container clusters get-credentials c", *self.WHERE)
        self.assertEqual(before, len(self.mutating()))
        self.assertEqual("gke_p_us-central1-a_c\n", self.run_tool("kubectl config current-context"))

    def test_location_flags_are_mutually_exclusive(self):
        self.run_tool("gcloud container clusters describe c --project=p --zone=z --region=r", rc=2)


class Az(Case):
    WHERE = "-g g --cluster-name c -n gpu1"

    def setUp(self):
        super().setUp()
        self.run_tool("az group create -n g -l westeurope")
        self.run_tool("az aks create -g g -n c --node-count 1 --no-ssh-key")
        self.run_tool(f"az aks nodepool add {self.WHERE} --node-vm-size Standard_NC24ads_A100_v4 --node-count 1"
                      " --labels a=b c=d --node-taints sku=gpu:NoSchedule --zones 1 2 --gpu-driver none")

    def pool(self):
        return self.read(f"az aks nodepool show {self.WHERE} -o json")

    def update(self, flags, *more, rc=0):
        return self.run_tool(f"az aks nodepool update {self.WHERE} {flags}", *more, rc=rc)

    def test_show_prints_null_for_unset_keys(self):
        pool = self.pool()
        for key in ("minCount", "scaleSetPriority", "gpuInstanceProfile", "tags", "proximityPlacementGroupId"):
            self.assertIn(key, pool)
            self.assertIsNone(pool[key])
        self.assertEqual({"driver": "None"}, pool["gpuProfile"])
        self.assertEqual(["1", "2"], pool["availabilityZones"])
        self.assertEqual("Standard_NC24ads_A100_v4\n", self.run_tool(f"az aks nodepool show {self.WHERE} --query vmSize -o tsv"))

    def test_update_replaces_sets(self):
        self.update("--labels e=f --tags k=v", "--node-taints", "")
        pool = self.pool()
        self.assertEqual(({"e": "f"}, {"k": "v"}, None), (pool["nodeLabels"], pool["tags"], pool["nodeTaints"]))
        self.update("--labels", "")
        self.assertIsNone(self.pool()["nodeLabels"])

    def test_spot_pools_keep_the_automatic_taint_and_label(self):
        self.run_tool("az aks nodepool add -g g --cluster-name c -n spot1 --priority Spot --labels a=b")
        line = "az aks nodepool {} -g g --cluster-name c -n spot1"
        self.run_tool(line.format("update") + " --labels e=f --node-taints x=y:NoSchedule")
        pool = self.read(line.format("show"))
        self.assertEqual({"e": "f", "kubernetes.azure.com/scalesetpriority": "spot"}, pool["nodeLabels"])
        self.assertEqual(["x=y:NoSchedule", "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"], pool["nodeTaints"])
        self.assertEqual(("Spot", "Delete", -1), (pool["scaleSetPriority"], pool["scaleSetEvictionPolicy"], pool["spotMaxPrice"]))

    def test_taint_without_value_is_rejected(self):
        self.update("--node-taints sku:NoSchedule", rc=1)
        self.assertIn("Invalid node taint", self.error)

    def test_scale_to_the_current_count_is_an_error(self):
        self.run_tool(f"az aks nodepool scale {self.WHERE} --node-count 1", rc=1)
        self.run_tool(f"az aks nodepool scale {self.WHERE} --node-count 2")
        self.update("--enable-cluster-autoscaler --min-count 1 --max-count 3")
        self.run_tool(f"az aks nodepool scale {self.WHERE} --node-count 1", rc=1)
        self.assertIn("Cannot scale cluster autoscaler enabled node pool.", self.error)

    def test_autoscaler_flags_depend_on_its_state(self):
        self.update("--update-cluster-autoscaler --min-count 1 --max-count 3", rc=1)
        self.update("--enable-cluster-autoscaler --min-count 4 --max-count 3", rc=1)
        self.update("--enable-cluster-autoscaler --min-count 1 --max-count 3")
        self.update("--enable-cluster-autoscaler --min-count 1 --max-count 3", rc=1)
        self.update("--update-cluster-autoscaler --min-count 0 --max-count 5")
        self.assertEqual((0, 5), (self.pool()["minCount"], self.pool()["maxCount"]))
        self.update("--disable-cluster-autoscaler")
        self.assertIsNone(self.pool()["minCount"])

    def test_missing_resources_have_rc_3(self):
        self.run_tool("az group show -n no", rc=3)
        self.assertEqual("false\n", self.run_tool("az group exists -n no"))
        self.run_tool("az aks show -g g -n no", rc=3)
        self.assertIn("(ResourceNotFound)", self.error)
        self.run_tool("az aks nodepool show -g g --cluster-name c -n no", rc=3)
        self.assertIn("(NotFound)", self.error)

    def test_creation_of_existing_resources_is_an_error(self):
        self.run_tool(f"az aks nodepool add {self.WHERE}", rc=1)
        self.run_tool("az aks create -g g -n c --no-ssh-key", rc=1)

    def test_immutable_fields_have_no_flag(self):
        for flag in ("--node-vm-size x", "--max-pods 30", "--zones 1", "--gpu-instance-profile MIG1g"):
            self.update(flag, rc=2)
            self.assertIn("unrecognized arguments", self.error)

    def test_unambiguous_flag_prefixes_are_accepted(self):
        self.update("--node-tai x=y:NoSchedule")
        self.assertEqual(["x=y:NoSchedule"], self.pool()["nodeTaints"])

    def test_subscription_flag_selects_the_account(self):
        self.assertEqual("s1\n", self.run_tool("az account show --subscription s1 --query id -o tsv"))


class Eks(Case):
    GROUP = "--cluster-name lab --nodegroup-name train"

    def setUp(self):
        super().setUp()
        self.file = self.folder / "cluster.yaml"
        self.file.write_text(CONFIG)
        self.run_tool(f"eksctl create cluster -f {self.file} --without-nodegroup")

    def create(self, flags="", **more):
        return self.run_tool(f"eksctl create nodegroup -f {self.file} {flags}", **more)

    def group(self):
        return self.read(f"aws eks describe-nodegroup {self.GROUP}")["nodegroup"]

    def test_create_skips_existing_nodegroups(self):
        self.create("--include=train")
        self.assertEqual(["train"], self.read("aws eks list-nodegroups --cluster-name lab")["nodegroups"])
        self.file.write_text(CONFIG.replace("maxSize: 4", "maxSize: 9"))
        self.assertIn("train", self.create())
        self.assertEqual({"minSize": 0, "maxSize": 4, "desiredSize": 0}, self.group()["scalingConfig"])
        self.assertEqual(2, len(self.read("eksctl get nodegroup --cluster lab -o json")))

    def test_clusters_of_others_need_a_network(self):
        self.run_tool("standin-state del eks.stacks.eksctl-lab-cluster")
        self.create(rc=1)
        self.assertIn("not owned by eksctl: vpc.subnets, vpc.id, vpc.securityGroup", self.error)
        self.file.write_text(CONFIG + """vpc:
  id: vpc-0123456789abcdef0
  securityGroup: sg-0123456789abcdef0
  subnets: {private: {a: {id: subnet-0123456789abcdef0, az: us-east-1a}}}
""")
        self.create()

    def test_describe_has_eksctl_labels_and_no_disk(self):
        self.create()
        group = self.group()
        self.assertNotIn("diskSize", group)
        self.assertIn("launchTemplate", group)
        self.assertEqual("train", group["labels"]["alpha.eksctl.io/nodegroup-name"])
        self.assertEqual("managed", group["tags"]["alpha.eksctl.io/nodegroup-type"])
        self.assertEqual([{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}], group["taints"])
        self.assertEqual("AL2023_x86_64_NVIDIA", group["amiType"])

    def test_nvidia_plugin_is_installed_unless_disabled(self):
        self.create("--include=serve --install-nvidia-plugin=false")
        self.assertEqual([], self.read("kubectl get daemonset -A -o json")["items"])
        self.create("--include=train")
        (found,) = self.read("kubectl get daemonset -A -o json")["items"]
        self.assertEqual("nvidia-device-plugin-daemonset", found["metadata"]["name"])

    def test_labels_and_taints_are_deltas(self):
        self.create()
        self.run_tool(f"aws eks update-nodegroup-config {self.GROUP} --labels",
                      '{"addOrUpdateLabels":{"x":"y"},"removeLabels":["role"]}', "--taints",
                      '{"addOrUpdateTaints":[{"key":"a","value":"b","effect":"NO_EXECUTE"}],'
                      '"removeTaints":[{"key":"nvidia.com/gpu","value":"present","effect":"NO_SCHEDULE"}]}')
        group = self.group()
        self.assertEqual("y", group["labels"]["x"])
        self.assertNotIn("role", group["labels"])
        self.assertIn("alpha.eksctl.io/cluster-name", group["labels"])
        self.assertEqual([{"key": "a", "value": "b", "effect": "NO_EXECUTE"}], group["taints"])

    def test_aws_and_eksctl_change_sizes(self):
        self.create()
        self.run_tool(f"aws eks update-nodegroup-config {self.GROUP} --scaling-config minSize=1,maxSize=2,desiredSize=1")
        self.run_tool("eksctl scale nodegroup --cluster lab --name train --nodes 3 --nodes-max 5")
        self.assertEqual({"minSize": 1, "maxSize": 5, "desiredSize": 3}, self.group()["scalingConfig"])
        self.run_tool(f"aws eks update-nodegroup-config {self.GROUP} --scaling-config minSize=4", rc=254)

    def test_missing_resources_and_unknown_flags_are_errors(self):
        self.run_tool(f"aws eks describe-nodegroup {self.GROUP}", rc=254)
        self.assertIn("An error occurred (ResourceNotFoundException) when calling the DescribeNodegroup operation:"
                      " No node group found for name: train.", self.error)
        self.run_tool("aws eks describe-cluster --name lab --region eu-west-1", rc=254)
        self.create()
        for flag in ("--instance-types", "--subnets", "--disk-size", "--ami-type"):
            self.run_tool(f"aws eks update-nodegroup-config {self.GROUP} {flag} x", rc=252)
            self.assertIn("Unknown options", self.error)
        self.run_tool(f"aws eks update-nodegroup-config {self.GROUP} --labels", '{"add":{}}', rc=252)
        self.run_tool(f"eksctl create cluster -f {self.file}", rc=1)
        self.create("--region=us-east-1", rc=1)
        self.create("--bogus", rc=1)
        self.assertIn("unknown flag: --bogus", self.error)

    def test_tags_are_updated_and_waits_end(self):
        self.create()
        arn = self.run_tool(f"aws eks describe-nodegroup {self.GROUP} --query nodegroup.nodegroupArn --output text").strip()
        self.run_tool(f"aws eks tag-resource --resource-arn {arn} --tags a=b,c=d")
        self.run_tool(f"aws eks untag-resource --resource-arn {arn} --tag-keys a")
        self.assertEqual(("d", None), (self.group()["tags"]["c"], self.group()["tags"].get("a")))
        self.run_tool(f"aws eks wait nodegroup-active {self.GROUP}")
        self.run_tool(f"aws eks wait nodegroup-deleted {self.GROUP}", rc=255)
        self.run_tool("eksctl delete nodegroup --cluster lab --name train --drain=false --wait")
        self.run_tool(f"aws eks wait nodegroup-deleted {self.GROUP}")
        self.run_tool(f"aws eks wait nodegroup-active {self.GROUP}", rc=255)

    def test_autoscaling_group_tags_are_updated(self):
        self.create()
        name = self.group()["resources"]["autoScalingGroups"][0]["name"]
        key = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
        self.run_tool("aws autoscaling create-or-update-tags --tags", f"ResourceId={name},"
                      f"ResourceType=auto-scaling-group,Key={key},Value=8,PropagateAtLaunch=true")
        groups = self.read(f"aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names {name}")
        tags = {each["Key"]: each["Value"] for each in groups["AutoScalingGroups"][0]["Tags"]}
        self.assertEqual(("8", "owned"), (tags[key], tags["k8s.io/cluster-autoscaler/lab"]))

    def test_dry_run_changes_nothing(self):
        before = len(self.mutating())
        self.create("--dry-run")
        self.create("--dry-run --install-nvidia-plugin=false", rc=1)
        self.assertEqual(before + 1, len(self.mutating()))
        self.assertEqual([], self.read("aws eks list-nodegroups --cluster-name lab")["nodegroups"])


class Lifecycle(Case):
    """Add-ons of EKS, and roles of pods."""

    EKS = "--cluster=c --region=us-east-1"
    ROLE = f"{EKS} --namespace=kube-system --service-account-name=a"

    def setUp(self):
        super().setUp()
        (self.folder / "c.yaml").write_text(
            "{apiVersion: eksctl.io/v1alpha5, kind: ClusterConfig, metadata: {name: c, region: us-east-1}}")
        self.run_tool(f"eksctl create cluster -f {self.folder}/c.yaml --without-nodegroup")

    def test_roles_require_the_agent(self):
        addon = f"eksctl create addon {self.EKS} --auto-apply-pod-identity-associations --name"
        describe = "aws eks describe-addon --region us-east-1 --cluster-name c --addon-name aws-ebs-csi-driver"
        self.run_tool(f"{addon}=aws-ebs-csi-driver", rc=1)
        self.run_tool(f"eksctl create podidentityassociation {self.ROLE} --well-known-policies=autoScaler", rc=1)
        self.run_tool(describe, rc=254)
        self.assertIn("ResourceNotFoundException", self.error)
        self.run_tool(f"{addon}=eks-pod-identity-agent")
        self.run_tool(f"{addon}=aws-ebs-csi-driver")
        self.assertEqual("ACTIVE", self.read(describe)["addon"]["status"])

    def test_role_is_a_stack(self):
        describe = "aws cloudformation describe-stacks --region us-east-1 --stack-name eksctl-c-podidentityrole-kube-system-a"
        self.run_tool(describe, rc=254)
        self.assertIn("does not exist", self.error)
        self.run_tool(f"eksctl create addon {self.EKS} --name=eks-pod-identity-agent")
        self.run_tool(f"eksctl create podidentityassociation {self.ROLE}", rc=1)
        self.run_tool(f"eksctl create podidentityassociation {self.ROLE} --well-known-policies=autoScaler")
        self.read(describe)
        self.run_tool(f"eksctl delete podidentityassociation {self.ROLE}")
        self.run_tool(describe, rc=254)


class Helm(Case):
    UPGRADE = "helm upgrade --install jobset oci://registry.k8s.io/jobset/charts/jobset --version 0.12.0 --wait"

    def test_release_requires_its_namespace_and_has_revisions(self):
        values = self.folder / "values.yaml"
        values.write_text("a: 1\n", encoding="utf-8")
        upgrade = f"{self.UPGRADE} --values {values} --timeout 15m --namespace"
        self.run_tool(f"{upgrade} jobset-system", rc=1)
        self.assertIn('namespaces "jobset-system" not found', self.error)
        self.run_tool("standin-state set objects.namespace//jobset-system", "{}")
        self.run_tool(f"{upgrade} jobset-system")
        self.run_tool(f"{upgrade} jobset-system")
        release = self.read("standin-state get releases")["jobset-system/jobset"]
        self.assertEqual((2, {"a": 1}, "0.12.0"), (release["revision"], release["values"], release["version"]))
        self.run_tool("helm uninstall jobset --namespace jobset-system")
        self.run_tool("helm uninstall jobset --namespace jobset-system", rc=1)
        self.run_tool("helm uninstall jobset --ignore-not-found --namespace jobset-system")

    def test_crds_are_printed_and_can_be_applied(self):
        chart = "helm show crds jobset --repo https://charts.example.com --version 0.12.0"
        self.run_tool("kubectl apply --server-side --force-conflicts --filename -", stdin=self.run_tool(chart))
        self.assertEqual(["kubectl"], [call["tool"] for call in self.mutating()])
        self.run_tool("helm show crds jobset --version 0.12.0", rc=1)
        self.run_tool(f"{self.UPGRADE} --kube-context nope", rc=1)


class Kubectl(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("standin-state node n1 pool=train")
        self.run_tool("standin-state node n2 pool=serve")
        self.run_tool("standin-state set contexts.lab", '{"server": "https://192.0.2.7"}')

    def test_contexts_must_exist(self):
        self.run_tool("kubectl --context nope get nodes -o json", rc=1)
        self.assertEqual(2, len(self.read("kubectl get nodes -o json --context=lab")["items"]))
        self.run_tool("kubectl config current-context", rc=1)
        view = self.read("kubectl --context lab config view --minify -o json")
        self.assertEqual("https://192.0.2.7", view["clusters"][0]["cluster"]["server"])

    def test_nodes_are_patched_and_annotated(self):
        merge = '{"metadata": {"labels": {"pool": null, "rack": "a"}}}'
        self.run_tool("kubectl patch node n1 --type merge --patch", merge)
        taints = [{"key": "k", "effect": "NoSchedule"}]
        change = [{"op": "add", "path": "/spec/taints", "value": taints}]
        self.run_tool("kubectl patch node n1 --type json --patch", json.dumps(change))
        self.run_tool("kubectl annotate node n1 --overwrite gpuc.dev/taints=k:NoSchedule")
        node = self.read("kubectl get node n1 -o json")
        self.assertEqual("a", node["metadata"]["labels"]["rack"])
        self.assertNotIn("pool", node["metadata"]["labels"])
        self.assertEqual(taints, node["spec"]["taints"])
        self.assertEqual("k:NoSchedule", node["metadata"]["annotations"]["gpuc.dev/taints"])
        stale = [{"op": "test", "path": "/spec/taints", "value": []}, *change]
        self.run_tool("kubectl patch node n1 --type json --patch", json.dumps(stale), rc=1)
        self.run_tool("kubectl annotate node n1 gpuc.dev/taints=other", rc=1)

    def test_nodes_are_found_by_name_and_selector(self):
        self.assertEqual("n1", self.read("kubectl get node n1 -o json")["metadata"]["name"])
        (found,) = self.read("kubectl get nodes -l pool=serve,!absent -o json")["items"]
        self.assertEqual("n2", found["metadata"]["name"])
        self.run_tool("kubectl get node n3 -o json", rc=1)
        self.assertIn('nodes "n3" not found', self.error)
        self.assertEqual("", self.run_tool("kubectl get node n3 --ignore-not-found -o json"))

    def test_label_requires_overwrite(self):
        self.run_tool("kubectl label node n1 pool=other", rc=1)
        self.run_tool("kubectl label nodes n1 pool=other nvidia.com/mig.config=all-1g.10gb --overwrite")
        self.assertIn("not labeled", self.run_tool("kubectl label node n1 pool=other --overwrite"))
        self.run_tool("kubectl label node n1 pool-")
        labels = self.read("kubectl get node n1 -o json")["metadata"]["labels"]
        self.assertEqual((None, "all-1g.10gb"), (labels.get("pool"), labels["nvidia.com/mig.config"]))

    def test_taint_requires_overwrite(self):
        self.run_tool("kubectl taint nodes n1 nvidia.com/gpu=present:NoSchedule --overwrite")
        self.run_tool("kubectl taint nodes n1 nvidia.com/gpu=x:NoSchedule", rc=1)
        spec = self.read("kubectl get node n1 -o json")["spec"]
        self.assertEqual([{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}], spec["taints"])
        self.run_tool("kubectl taint nodes n1 nvidia.com/gpu:NoSchedule-")
        self.run_tool("kubectl taint nodes n1 nvidia.com/gpu:NoSchedule-", rc=1)

    def test_objects_are_applied_and_deleted(self):
        text = "{apiVersion: v1, kind: Namespace, metadata: {name: gpu}}"
        self.assertEqual("namespace/gpu created\n", self.run_tool("kubectl apply -f -", stdin=text))
        self.assertEqual("namespace/gpu unchanged\n", self.run_tool("kubectl apply -f -", stdin=text))
        self.run_tool("kubectl get ns gpu")
        self.run_tool(f"kubectl apply -k {self.folder}", rc=1)
        (self.folder / "kustomization.yaml").write_text("resources: []\n")
        self.run_tool(f"kubectl apply -k {self.folder}")
        self.assertEqual(3, len(self.read("standin-state get applied")))
        self.run_tool("kubectl delete namespace gpu")
        self.run_tool("kubectl delete namespace gpu", rc=1)
        self.run_tool("kubectl delete namespace gpu --ignore-not-found")

    def test_wait_without_matching_object_is_an_error(self):
        self.run_tool("kubectl wait --for=condition=Ready node -l pool=train --timeout=1s")
        self.run_tool("kubectl wait --for=condition=Ready node -l pool=none", rc=1)


TABLES = os.environ.get("GPUC_FLAG_TABLES")


@unittest.skipUnless(TABLES, "GPUC_FLAG_TABLES names the folder of the real flag tables")
class RealTables(Case):
    def setUp(self):
        super().setUp()
        self.env["GPUC_FLAG_TABLES"] = TABLES

    def test_flags_are_in_the_real_tables(self):
        code = ("from standins import az, cli, gcloud\n"
                "for tool in (gcloud.TOOL, az.TOOL):\n"
                "    for name, command in tool.commands.items():\n"
                "        real = tool.tables(name, command)\n"
                "        extra = sorted(set(command.flags) - set(real[0])) if real else []\n"
                "        extra and print(tool.name, name, *extra)\n")
        process = subprocess.run(["python3", "-c", code], env=self.env, cwd=HERE.parent, text=True,
                                 capture_output=True, check=True)
        self.assertEqual("", process.stdout)

    def test_gcloud_flags_are_checked(self):
        where = ("--project=p", "--zone=us-central1-a")
        self.run_tool("gcloud container clusters create c --enable-shielded-nodes --num-nodes=1 --quiet", *where)
        line = "gcloud container node-pools create train --cluster=c"
        self.run_tool(line + " --threads-per-core=1 --no-enable-autoupgrade", *where)
        self.run_tool(line + " --gpu-count=1", *where, rc=2)
        self.run_tool("gcloud container node-pools update train --cluster=c --spot", *where, rc=2)
        self.run_tool("gcloud container node-pools update train --cluster=c --flex-start", *where)

    def test_az_flags_are_checked(self):
        self.run_tool("az group create -n g -l westeurope")
        self.run_tool("az aks create -g g -n c --no-ssh-key --enable-keda --nodepool-name sys")
        self.run_tool("az aks nodepool add -g g --cluster-name c -n gpu1 --skip-gpu-driver-install", rc=2)
        self.run_tool("az aks nodepool add -g g --cluster-name c --nodepool-name gpu1 -s Standard_ND96isr_H100_v5 -z 1")
        self.run_tool("az aks nodepool update -g g --cluster-name c -n gpu1 --crg-id x", rc=2)
        self.run_tool("az aks nodepool update -g g --cluster-name c -n gpu1 --max-surge 33%")

    def test_eksctl_config_is_checked(self):
        file = self.folder / "cluster.yaml"
        file.write_text(CONFIG)
        self.run_tool(f"eksctl create cluster -f {file} --install-nvidia-plugin=false")
        file.write_text(CONFIG.replace("volumeSize", "diskSize"))
        self.run_tool(f"eksctl create nodegroup -f {file}", rc=1)
        self.assertIn('unknown field "managedNodeGroups.diskSize"', self.error)


if __name__ == "__main__":
    unittest.main()
