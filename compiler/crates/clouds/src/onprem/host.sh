# shellcheck shell=bash
# gpuc writes the values of the pool above this line.
# shellcheck disable=SC2154
#
# Run this script as root on each host of the pool. It installs the NVIDIA driver and container toolkit from NVIDIA's
# package repositories and adds the runtime `nvidia` to containerd. It is idempotent and never reboots the host.
#
#   --dry-run            show the commands without running them
#   --allow-secure-boot  install kernel modules although Secure Boot may reject them until their key is enrolled
#   --any-host           continue although the name of this host is not in the pool's list
#
# Exit status: 0 if the host is ready, 1 on error, 3 if you must reboot the host and run this script again.

set -euo pipefail

dry_run=no
allow_secure_boot=no
any_host=no
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=yes ;;
    --allow-secure-boot) allow_secure_boot=yes ;;
    --any-host) any_host=yes ;;
    -h | --help)
      echo "usage: $0 [--dry-run] [--allow-secure-boot] [--any-host]"
      exit 0
      ;;
    *)
      echo "usage: $0 [--dry-run] [--allow-secure-boot] [--any-host]" >&2
      exit 64
      ;;
  esac
done

driver_branch=${driver_version%%.*}
repositories=https://developer.download.nvidia.com/compute/cuda/repos
toolkit=https://nvidia.github.io/libnvidia-container
case $architecture in
  aarch64) repository_architecture=sbsa ;;
  *) repository_architecture=x86_64 ;;
esac
case $distribution in
  rhel*) packages=rpm ;;
  *) packages=deb ;;
esac
case $kernel_modules in
  open) driver_package=nvidia-open ;;
  *) driver_package=cuda-drivers ;;
esac

reboot_because=()
containerd_is_stale=/var/lib/gpuc/containerd-is-stale
written=no
refreshed=no
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

main() {
  check_host
  if ! driver_is_right; then
    check_secure_boot
    check_idle
  fi
  forbid_nouveau
  install_driver
  load_driver
  install_fabric_manager
  install_toolkit
  if [ "$kubernetes" = kubeadm ]; then
    configure_containerd
  else
    restart_for_runtime
  fi
  if [ "$dry_run" = yes ]; then
    echo "Dry run: nothing was changed."
    return 0
  fi
  if [ "${#reboot_because[@]}" -gt 0 ]; then
    printf 'Reboot required: %s.\n' "${reboot_because[@]}"
    echo "Drain the node, reboot it, and run this script again."
    exit 3
  fi
  verify
}

stop() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

warn() {
  printf 'warning: %s\n' "$1" >&2
}

# Runs a command that changes the host; in a dry run, only prints it.
change() {
  printf '+'
  printf ' %q' "$@"
  printf '\n'
  if [ "$dry_run" = no ]; then
    "$@"
  fi
}

# Writes a file if its contents differ. Sets `written` to yes or no.
put() {
  local path=$1 text=$2
  written=no
  if [ -f "$path" ] && [ "$(cat "$path")" = "$text" ]; then
    return 0
  fi
  written=yes
  printf '%s\n' "$text" >"$scratch/put"
  change install -D -m 0644 "$scratch/put" "$path"
}

# Checks of the host.

check_host() {
  local machine release
  if [ "$dry_run" = no ] && [ "$(id -u)" != 0 ]; then
    stop "run this script as root, or with --dry-run"
  fi
  if ! is_host_of_pool; then
    local stranger
    stranger="this host, $(hostname), is not in pool $pool: ${hosts[*]}"
    if [ "$dry_run" = no ] && [ "$any_host" = no ]; then
      stop "$stranger; if the node names differ from the host names, add --any-host"
    fi
    warn "$stranger"
  fi
  [[ $driver_version =~ ^[0-9]+(\.[0-9]+)*$ ]] ||
    stop "\`$driver_version\` is not a valid driver version"
  machine=$(uname -m)
  [ "$machine" = "$architecture" ] ||
    stop "pool $pool has $architecture hosts, but this host is $machine"
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-} ${PLATFORM_ID:-}")
  case "$distribution $release" in
    "ubuntu2204 ubuntu 22.04 "* | "ubuntu2404 ubuntu 24.04 "* | "debian12 debian 12 "*) ;;
    "rhel9 "*" platform:el9") ;;
    *) stop "pool $pool has hosts with $distribution, but this host runs $release" ;;
  esac
  if [ -e /etc/dgx-release ]; then
    stop "DGX OS includes its own driver; write \`driver: preinstalled\` for pool $pool"
  fi
  if [ -e /usr/bin/nvidia-uninstall ]; then
    stop "the driver was installed with NVIDIA's .run installer; run nvidia-uninstall, or write \`driver: preinstalled\`"
  fi
  command -v systemctl >/dev/null || stop "systemd is not installed"
  if [ "$packages" = rpm ]; then
    command -v curl >/dev/null || stop "curl is not installed"
  fi
}

# The node name is usually the host name, short or fully qualified. A pool with `existing` lists no hosts.
is_host_of_pool() {
  local host
  [ "${#hosts[@]}" -gt 0 ] || return 0
  for host in "${hosts[@]}"; do
    if [ "$host" = "$(hostname)" ] || [ "${host%%.*}" = "$(hostname -s)" ]; then
      return 0
    fi
  done
  return 1
}

# Packages.

# The version of an installed package without epoch and revision; empty if it is not installed.
version_of() {
  local version
  if [ "$packages" = rpm ]; then
    rpm -q --queryformat '%{VERSION}\n' "$1" 2>/dev/null | sed -n '/not installed/d;1p' || true
    return 0
  fi
  version=$(dpkg-query --show --showformat='${db:Status-Status} ${Version}' "$1" 2>/dev/null) || true
  case $version in
    "installed "*)
      version=${version#installed }
      version=${version#*:}
      echo "${version%%-*}"
      ;;
  esac
}

is_installed() {
  [ -n "$(version_of "$1")" ]
}

refresh() {
  if [ "$packages" = deb ] && [ "$refreshed" = no ]; then
    change apt-get update
    refreshed=yes
  fi
}

# Package managers run without questions and do not restart services.
install_packages() {
  if [ "$packages" = rpm ]; then
    change dnf --assumeyes install --allowerasing "$@"
  else
    refresh
    change env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l \
      apt-get install --yes --allow-downgrades "$@"
  fi
}

install_missing() {
  local package missing=()
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    install_packages "${missing[@]}"
  fi
}

# The first of these packages that is installed; else the first that a repository contains; else the first.
choose() {
  local package
  for package in "$@"; do
    if is_installed "$package"; then
      echo "$package"
      return 0
    fi
  done
  for package in "$@"; do
    if is_offered "$package"; then
      echo "$package"
      return 0
    fi
  done
  echo "$1"
}

is_offered() {
  if [ "$packages" = rpm ]; then
    [ -n "$(dnf --quiet repoquery "$1" 2>/dev/null)" ]
  else
    apt-cache show "$1" >/dev/null 2>&1
  fi
}

add_driver_repository() {
  local url=$repositories/$distribution/$repository_architecture
  if [ "$packages" = deb ]; then
    install_missing ca-certificates curl gnupg
    if [ "$distribution" = debian12 ] && ! grep -q 'c=contrib' <<<"$(apt-cache policy)"; then
      stop "NVIDIA's packages require Debian's component contrib: add it to the sources of apt"
    fi
    if ! is_installed cuda-keyring; then
      change curl --fail --silent --show-error --location --output "$scratch/cuda-keyring.deb" \
        "$url/cuda-keyring_1.1-1_all.deb"
      change dpkg --install "$scratch/cuda-keyring.deb"
      refreshed=no
    fi
    return 0
  fi
  # DKMS builds the kernel modules. It is part of EPEL, which requires CRB.
  install_missing dnf-plugins-core
  if ! is_installed epel-release; then
    # shellcheck source=/dev/null
    if [ "$(. /etc/os-release && echo "$ID")" = rhel ]; then
      change subscription-manager repos --enable "codeready-builder-for-rhel-9-$architecture-rpms"
    else
      change dnf config-manager --set-enabled crb
    fi
    change dnf --assumeyes install https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
  fi
  if [ ! -e "/etc/yum.repos.d/cuda-$distribution.repo" ]; then
    change dnf config-manager --add-repo "$url/cuda-$distribution.repo"
  fi
}

# The driver.

forbid_nouveau() {
  put /etc/modprobe.d/gpuc-nouveau.conf 'blacklist nouveau
options nouveau modeset=0'
  # An initramfs that still contains nouveau would load it before this file is read.
  if [ "$written" = yes ] || [ -e /sys/module/nouveau ]; then
    if [ "$packages" = rpm ]; then
      change dracut --force
    else
      change update-initramfs -u
    fi
  fi
  if [ -e /sys/module/nouveau ]; then
    reboot_because+=("the nouveau driver uses the GPUs")
  fi
}

install_driver() {
  if driver_is_right; then
    return 0
  fi
  add_driver_repository
  if [ "$packages" = rpm ]; then
    install_driver_rpm
  else
    # The pinning package determines the branch of the other packages, so it is installed first.
    install_packages "nvidia-driver-pinning-$driver_version"
    install_packages "linux-headers-$(uname -r)" "$driver_package"
  fi
  if [ "$dry_run" = no ] && ! driver_is_right; then
    stop "$driver_package is at version $(version_of "$driver_package") after the installation, not $driver_version"
  fi
}

driver_is_right() {
  local version
  version=$(version_of "$driver_package")
  case $version in
    "$driver_version" | "$driver_version".*) ;;
    *) return 1 ;;
  esac
  if [ "$packages" = deb ]; then
    is_installed "nvidia-driver-pinning-$driver_version"
  else
    [ "$(enabled_stream)" = "$(wanted_stream)" ]
  fi
}

wanted_stream() {
  if [ "$kernel_modules" = open ]; then
    echo "$driver_branch-open"
  else
    echo "$driver_branch-dkms"
  fi
}

enabled_stream() {
  local file=/etc/dnf/modules.d/nvidia-driver.module
  if [ -f "$file" ] && grep -q '^state=enabled' "$file"; then
    sed -n 's/^stream=//p' "$file"
  fi
}

install_driver_rpm() {
  local package=$driver_package locks=/etc/dnf/plugins/versionlock.list
  local kernel
  kernel=$(uname -r)
  if [ "$driver_version" != "$driver_branch" ]; then
    install_missing python3-dnf-plugin-versionlock
    package=$driver_package-$driver_version
  fi
  # Version locks for an earlier version would block this one.
  if grep -qs nvidia "$locks" && ! grep -qsF "nvidia*$driver_version*" "$locks"; then
    change dnf --assumeyes versionlock delete '*nvidia*'
  fi
  case $(enabled_stream) in
    "$(wanted_stream)") ;;
    "") change dnf --assumeyes module enable "nvidia-driver:$(wanted_stream)" ;;
    *) change dnf --assumeyes --allowerasing module switch-to "nvidia-driver:$(wanted_stream)" ;;
  esac
  if [ "$driver_version" != "$driver_branch" ]; then
    change dnf --assumeyes versionlock add "*nvidia*$driver_version*" "cuda-drivers*$driver_version*"
  fi
  install_packages "kernel-devel-$kernel" kernel-headers "$package"
}

# DKMS signs the modules that it builds with a key of this host, which must be enrolled in the firmware.
check_secure_boot() {
  if ! secure_boot_is_on; then
    return 0
  fi
  if [ "$allow_secure_boot" = no ]; then
    stop "Secure Boot is enabled: enroll the key that DKMS signs modules with (mokutil --import), then use --allow-secure-boot"
  fi
  warn "Secure Boot is enabled: the driver loads only if the key that DKMS signs modules with is enrolled"
}

secure_boot_is_on() {
  local variable=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  if command -v mokutil >/dev/null; then
    grep -q 'SecureBoot enabled' <<<"$(mokutil --sb-state 2>/dev/null)"
  else
    # The value follows four attribute bytes.
    [ -r "$variable" ] && [ "$(od -An -t u1 -j 4 -N 1 "$variable" | tr -d ' ')" = 1 ]
  fi
}

# The driver must not change while processes use the GPUs.
check_idle() {
  local busy
  if [ ! -e /sys/module/nvidia ] || ! command -v nvidia-smi >/dev/null; then
    return 0
  fi
  busy=$(nvidia-smi --query-compute-apps=pid,name --format=csv,noheader 2>/dev/null) || return 0
  if [ -n "$busy" ]; then
    printf '%s\n' "$busy" >&2
    stop "the driver must change, but the processes above use the GPUs; drain the node first"
  fi
}

load_driver() {
  local loaded on_disk
  if [ "$dry_run" = yes ] && ! driver_is_right; then
    change modprobe nvidia
    return 0
  fi
  if [ ! -e /sys/module/nvidia ]; then
    if [ -e /sys/module/nouveau ]; then
      return 0
    fi
    if ! change modprobe nvidia; then
      reboot_because+=("the kernel module nvidia cannot be loaded")
      return 0
    fi
  fi
  loaded=$(cat /sys/module/nvidia/version 2>/dev/null) || loaded=unknown
  on_disk=$(modinfo -F version nvidia 2>/dev/null) || on_disk=unknown
  if [ "$dry_run" = no ] && [ "$loaded" != "$on_disk" ]; then
    reboot_because+=("driver $loaded is loaded, $on_disk is installed")
    return 0
  fi
  # The daemon keeps the driver initialized, so that the first container does not wait for it.
  run_service nvidia-persistenced
}

run_service() {
  case $(systemctl is-enabled "$1" 2>/dev/null || true) in
    enabled | static | alias) ;;
    *) change systemctl enable "$1" ;;
  esac
  if [ "${#reboot_because[@]}" = 0 ] && ! systemctl --quiet is-active "$1"; then
    change systemctl start "$1"
  fi
}

# NVSwitches do not route traffic until the fabric manager has configured them. Its version must match the driver's.
install_fabric_manager() {
  local package version candidates
  if [ "$nvlink_subnet" = yes ]; then
    candidates=("nvlink5-$driver_branch" nvlink5)
    # The subnet manager accesses the switches through the InfiniBand management interface.
    put /etc/modules-load.d/gpuc-nvlink.conf ib_umad
    if [ ! -e /sys/module/ib_umad ]; then
      change modprobe ib_umad
    fi
  elif has_nvswitch; then
    candidates=(nvidia-fabricmanager)
    if [ "$driver_branch" -lt 580 ]; then
      if [ "$packages" = rpm ]; then
        candidates=(nvidia-fabric-manager nvidia-fabricmanager)
      else
        candidates=("nvidia-fabricmanager-$driver_branch")
      fi
    fi
  else
    return 0
  fi
  package=$(choose "${candidates[@]}")
  version=$(version_of "$driver_package")
  if [ "$(version_of "$package")" != "${version:-$driver_version}" ]; then
    if [ "$packages" = rpm ]; then
      install_packages "$package-${version:-$driver_version}*"
    else
      install_packages "$package=${version:-$driver_version}*"
    fi
  fi
  run_service nvidia-fabricmanager
}

# NVSwitches are PCI bridges with NVIDIA's vendor ID.
has_nvswitch() {
  local device
  for device in /sys/bus/pci/devices/*; do
    if [ -r "$device/class" ] && [ "$(cat "$device/vendor" "$device/class" | tr '\n' ' ')" = "0x10de 0x068000 " ]; then
      return 0
    fi
  done
  return 1
}

# NVIDIA Container Toolkit.

install_toolkit() {
  local keyring=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg
  local repository=/etc/yum.repos.d/nvidia-container-toolkit.repo
  if toolkit_is_right; then
    return 0
  fi
  if [ "$packages" = rpm ]; then
    if [ ! -s "$repository" ]; then
      change curl --fail --silent --show-error --location --output "$scratch/toolkit.repo" \
        "$toolkit/stable/rpm/nvidia-container-toolkit.repo"
      change install -D -m 0644 "$scratch/toolkit.repo" "$repository"
    fi
  else
    install_missing ca-certificates curl gnupg
    if [ ! -s "$keyring" ]; then
      change curl --fail --silent --show-error --location --output "$scratch/toolkit.key" "$toolkit/gpgkey"
      change gpg --batch --yes --dearmor --output "$scratch/toolkit.gpg" "$scratch/toolkit.key"
      change install -D -m 0644 "$scratch/toolkit.gpg" "$keyring"
    fi
    # apt replaces $(ARCH) with the architecture.
    # shellcheck disable=SC2016
    put /etc/apt/sources.list.d/nvidia-container-toolkit.list \
      "deb [signed-by=$keyring] $toolkit/stable/deb/"'$(ARCH) /'
    refreshed=no
  fi
  # Both package managers also upgrade a package. Running containers are not affected.
  if [ "$packages" = rpm ]; then
    install_packages --refresh nvidia-container-toolkit
  else
    install_packages nvidia-container-toolkit
  fi
  if [ "$dry_run" = no ] && ! toolkit_is_right; then
    stop "nvidia-container-toolkit is at version $(version_of nvidia-container-toolkit) after the installation; $min_toolkit or later fixes $toolkit_fix; check the package sources of this host"
  fi
}

toolkit_is_right() {
  local version
  version=$(version_of nvidia-container-toolkit)
  [ -n "$version" ] && is_at_least "$version" "$min_toolkit"
}

is_at_least() {
  [ "$(printf '%s\n' "$1" "$2" | sort -V | sed -n 1p)" = "$2" ]
}

# containerd.

# Pods select the runtime `nvidia` by its RuntimeClass. It is never the default runtime: as the default, it would expose
# all GPUs to containers that request none.
configure_containerd() {
  local command=(nvidia-ctk runtime configure --runtime=containerd) configuration
  command -v containerd >/dev/null || stop "containerd is not installed"
  if ! containerd_is_right; then
    # The marker file persists if the run is interrupted between the change and the restart.
    change install -D -m 0644 /dev/null "$containerd_is_stale"
    configuration=$(containerd_configuration) || configuration=
    if ! cdi_is_enabled "$configuration"; then
      command+=(--cdi.enabled)
    fi
    change "${command[@]}"
    if [ "$dry_run" = no ] && ! containerd_is_right; then
      stop "containerd does not read the configuration that nvidia-ctk wrote; check the imports of /etc/containerd/config.toml"
    fi
    if [ "$dry_run" = yes ]; then
      change systemctl restart containerd
    fi
  fi
  if [ -e "$containerd_is_stale" ]; then
    # Running containers are not affected.
    change systemctl restart containerd
    change rm -f "$containerd_is_stale"
  fi
}

# The effective configuration of containerd, including imported files.
containerd_configuration() {
  containerd config dump 2>/dev/null
}

# Whether containerd has the runtime `nvidia` and injects CDI devices.
containerd_is_right() {
  local configuration
  configuration=$(containerd_configuration) || return 1
  grep -Eq "BinaryName = [\"'][^\"']*nvidia-container-runtime[\"']" <<<"$configuration" &&
    cdi_is_enabled "$configuration"
}

# The option `enable_cdi` of the CRI plugin decides. Without it, containerd's default applies: CDI is disabled in 1.x, and
# enabled since 2.0, where the option is deprecated.
cdi_is_enabled() {
  local setting version
  setting=$(awk '
    /^[[:space:]]*\[/ { is_cri = /io\.containerd\.(grpc\.v1\.cri|cri\.v1\.runtime).\][[:space:]]*$/ }
    is_cri && /^[[:space:]]*enable_cdi[[:space:]]*=/ { print $NF }
  ' <<<"$1")
  case $setting in
    true) return 0 ;;
    false) return 1 ;;
  esac
  # The third word is the version, with or without a `v`.
  version=$(containerd --version 2>/dev/null | awk '{ print $3 }') || return 1
  version=${version#v}
  [[ $version =~ ^[0-9]+\. ]] && is_at_least "$version" 2
}

# K3s and RKE2 detect the NVIDIA runtime at each start, and generate containerd's configuration themselves.
restart_for_runtime() {
  local configuration=/var/lib/rancher/$kubernetes/agent/etc/containerd/config.toml service
  if grep -qs nvidia-container-runtime "$configuration"; then
    return 0
  fi
  for service in "$kubernetes-agent" "$kubernetes-server" "$kubernetes"; do
    if systemctl --quiet is-active "$service"; then
      change systemctl restart "$service"
      if [ "$dry_run" = no ] && ! grep -qs nvidia-container-runtime "$configuration"; then
        stop "$service has not added the NVIDIA runtime to $configuration; check whether a config.toml.tmpl next to it omits the base template"
      fi
      return 0
    fi
  done
  stop "no service of $kubernetes is running on this host"
}

# Verification.

verify() {
  local names name wrong=no count version
  names=$(nvidia-smi --query-gpu=name --format=csv,noheader) || stop "nvidia-smi failed: $names"
  count=$(grep -c . <<<"$names" || true)
  [ "$count" = "$gpus_per_node" ] ||
    stop "number of GPUs: the driver detects $count, but pool $pool has $gpus_per_node per host"
  while IFS= read -r name; do
    is_product "$name" || wrong=$name
  done <<<"$names"
  if [ "$wrong" != no ]; then
    if [ "$gpu_products_known" = yes ]; then
      stop "this host has a GPU \`$wrong\`, but pool $pool has ${gpu_products[*]}"
    fi
    warn "this host has a GPU \`$wrong\`, but pool $pool should have ${gpu_products[*]}"
  fi
  version=$(nvidia-ctk --version) || stop "nvidia-ctk --version failed"
  version=$(sed -n 's/.* version //p' <<<"$version")
  is_at_least "$version" "$min_toolkit" ||
    stop "nvidia-ctk is at version $version; $min_toolkit or later fixes $toolkit_fix; remove the copy that is not from a package: $(command -v nvidia-ctk)"
  echo "Ready: number of GPUs: $count, driver $(cat /sys/module/nvidia/version), container toolkit $version"
}

# Whether the driver's name for a GPU is one of the pool's products, in the spelling of the node label.
is_product() {
  local product label
  label=$(tr -cd 'A-Za-z0-9._ -' <<<"$1" | sed -E 's/ +/-/g')
  for product in "${gpu_products[@]}"; do
    if [ "$product" = "$label" ]; then
      return 0
    fi
  done
  return 1
}

main
