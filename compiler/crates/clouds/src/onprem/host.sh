# shellcheck shell=bash
# gpuc writes the values of the pool above this line.
# shellcheck disable=SC2154
#
# Run this script as root on each host of the pool. It installs the NVIDIA driver and container toolkit from NVIDIA's
# package repositories and adds the runtime `nvidia` to containerd. It is idempotent and never reboots the host.
#
#   --dry-run            show the commands without running them
#   --allow-disruption   change a driver that is loaded; drain the node first, and reboot the host afterwards
#   --allow-secure-boot  install kernel modules although Secure Boot may reject them until their key is enrolled
#   --any-host           continue although the name of this host is not in the pool's list
#
# Exit status: 0 if the host is ready, 1 on error, 3 if you must reboot the host and run this script again.

set -euo pipefail

usage="usage: $0 [--dry-run] [--allow-disruption] [--allow-secure-boot] [--any-host]"
dry_run=no
allow_disruption=no
allow_secure_boot=no
any_host=no
for argument in "$@"; do
  case $argument in
    --dry-run) dry_run=yes ;;
    --allow-disruption) allow_disruption=yes ;;
    --allow-secure-boot) allow_secure_boot=yes ;;
    --any-host) any_host=yes ;;
    -h | --help)
      echo "$usage"
      exit 0
      ;;
    *)
      printf 'error: unknown flag: %s\n%s\n' "$argument" "$usage" >&2
      exit 2
      ;;
  esac
done

# For the commands that this script prints.
any_host_flag=
[ "$any_host" = no ] || any_host_flag=' --any-host'

driver_branch=${driver_version%%.*}
case $distribution in
  rhel*) packages=rpm ;;
  *) packages=deb ;;
esac
case $kernel_modules in
  open) driver_package=nvidia-open ;;
  *) driver_package=cuda-drivers ;;
esac

# Replaced by tests.
modules=/sys/module
processes=/proc
apt=/etc/apt
keyrings=/usr/share/keyrings
yum_repositories=/etc/yum.repos.d
rpm_keys=/etc/pki/rpm-gpg
version_locks=/etc/dnf/plugins/versionlock.list
enabled_modules=/etc/dnf/modules.d
dpkg_journal=/var/lib/dpkg/updates
containerd_is_stale=/var/lib/gpuc/containerd-is-stale

nvidia_toolkit=https://nvidia.github.io/libnvidia-container
reboot_because=()
node=
changes_driver=no
old_driver=
written=no
refreshed=no
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

main() {
  check_host
  plan_driver
  plan_toolkit
  forbid_nouveau
  add_driver_source
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
    echo "Run these commands, the last one when the script has printed \`Ready\`:"
    kubectl_command drain "$node" --ignore-daemonsets --delete-emptydir-data
    echo "  sudo reboot                 # on this host"
    echo "  sudo bash ${0##*/}$any_host_flag  # on this host, when it is back"
    kubectl_command uncordon "$node"
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

# A command for the machine that has the kubeconfig of the cluster.
kubectl_command() {
  printf '  kubectl --context'
  printf ' %q' "$context" "$@"
  printf '\n'
}

# Stops, or, in a dry run, only warns.
refuse() {
  if [ "$dry_run" = no ]; then
    stop "$1"
  fi
  warn "$1"
}

has_text() {
  [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

# Writes a file if its contents differ. Sets `written` to yes or no.
put() {
  local path=$1 text=$2
  written=no
  if has_text "$path" "$text"; then
    return 0
  fi
  written=yes
  printf '%s\n' "$text" >"$scratch/put"
  change install -D -m 0644 "$scratch/put" "$path"
}

remove() {
  if [ -e "$1" ]; then
    change rm -f "$1"
  fi
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
    stop "the driver was installed with NVIDIA's .run installer; drain the node and run nvidia-uninstall, or write \`driver: preinstalled\`"
  fi
  command -v systemctl >/dev/null || stop "systemd is not installed"
  if [ "$packages" = rpm ]; then
    command -v curl >/dev/null || stop "curl is not installed"
  fi
}

# The node name is usually the host name, short or fully qualified. A pool with `existing` lists no hosts: the kubelet
# names a node by the host name, in lower case. Sets `node`.
is_host_of_pool() {
  local host
  node=$(hostname | tr '[:upper:]' '[:lower:]')
  [ "${#hosts[@]}" -gt 0 ] || return 0
  for host in "${hosts[@]}"; do
    if [ "$host" = "$(hostname)" ] || [ "${host%%.*}" = "$(hostname -s)" ]; then
      node=$host
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
    complete_installation
    change apt-get update
    refreshed=yes
  fi
}

# apt refuses every command until an interrupted installation is complete. dpkg only completes it.
complete_installation() {
  if [ -n "$(ls "$dpkg_journal" 2>/dev/null)" ] || [ -n "$(dpkg --audit 2>/dev/null || true)" ]; then
    change env DEBIAN_FRONTEND=noninteractive dpkg --configure -a ||
      stop "an installation was interrupted, and dpkg cannot complete it: correct the error above, then run this script again"
  fi
}

# Package managers run without questions and do not restart services. apt waits while another process installs packages.
install_packages() {
  if [ "$packages" = rpm ]; then
    change dnf --assumeyes install --allowerasing "$@"
  else
    refresh
    change env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l \
      apt-get install --yes --allow-downgrades --option DPkg::Lock::Timeout=600 "$@"
  fi
}

# check_holds PURPOSE PATTERN EXCEPTION: a held package is a decision of the user. apt does not change it either.
check_holds() {
  local held
  [ "$packages" = deb ] || return 0
  held=$(apt-mark showhold 2>/dev/null | grep -E "$2" | grep -Ev "$3" | tr '\n' ' ') || true
  if [ -n "$held" ]; then
    refuse "$1 must change, but packages are held; run apt-mark unhold ${held% }"
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

# Package sources. A source with a key in the file is a mirror. The other sources are NVIDIA's own, for which the proxy
# is used. A file with this comment was written by this script; other files of NVIDIA's sources are left alone unless
# the input names a mirror or a proxy.
written_by_gpuc='# Written by gpuc.'

is_by_gpuc() {
  [ -f "$1" ] && [ "$(sed -n 1p "$1")" = "$written_by_gpuc" ]
}

# download FILE URL [PROXY]
download() {
  local options=(--fail --silent --show-error --location)
  if [ -n "${3-}" ]; then
    options+=(--proxy "$3")
  fi
  change curl "${options[@]}" --output "$1" "$2"
}

# The file of this host with the key of a mirror. apt tells the two formats of a key by the suffix.
key_path() {
  if [ "$packages" = rpm ]; then
    echo "$rpm_keys/RPM-GPG-KEY-gpuc-$1"
  elif [ -f "$keyrings/gpuc-$1.gpg" ]; then
    echo "$keyrings/gpuc-$1.gpg"
  else
    echo "$keyrings/gpuc-$1.asc"
  fi
}

# put_key NAME KEY: installs the key of a mirror, from a URL or from a file of this host.
put_key() {
  local name=$1 source=$2 path
  case $source in
    /*) [ -s "$source" ] || refuse "$source: the key of a package source in the input is not on this host" ;;
    *)
      download "$scratch/$name.key" "$source"
      source=$scratch/$name.key
      ;;
  esac
  if [ "$packages" = deb ] && [ -s "$source" ]; then
    if grep -q 'BEGIN PGP PUBLIC KEY BLOCK' "$source"; then
      remove "$keyrings/gpuc-$name.gpg"
      path=$keyrings/gpuc-$name.asc
    else
      remove "$keyrings/gpuc-$name.asc"
      path=$keyrings/gpuc-$name.gpg
    fi
  else
    path=$(key_path "$name")
  fi
  if ! cmp --silent "$source" "$path"; then
    change install -D -m 0644 "$source" "$path"
  fi
}

apt_source() {
  printf '%s\n' "$written_by_gpuc" "deb [signed-by=$(key_path "$1")] $2 /"
}

# rpm_source NAME URL KEY CHECKS…
rpm_source() {
  local name=$1 url=$2 key=$3 checks=("${@:4}")
  printf '%s\n' "$written_by_gpuc" "[$name]" "name=$name" "baseurl=$url" enabled=1 "${checks[@]}" "gpgkey=$key"
}

apt_proxies() {
  local host
  for host in "$@"; do
    printf 'Acquire::https::Proxy::%s "%s";\n' "$host" "$proxy"
  done
}

# The proxy applies to the servers of NVIDIA only, so that the host reaches its other sources as before.
put_apt_proxies() {
  local hosts=() path=$apt/apt.conf.d/80gpuc-proxy
  [ -n "$cuda_key" ] || hosts+=(developer.download.nvidia.com)
  [ -n "$toolkit_key" ] || hosts+=(nvidia.github.io)
  if [ -n "$proxy" ] && [ "${#hosts[@]}" -gt 0 ]; then
    put "$path" "$(echo "$written_by_gpuc" && apt_proxies "${hosts[@]}")"
  else
    remove "$path"
  fi
}

cuda_source() {
  if [ "$packages" = deb ]; then
    apt_source cuda "$cuda_repository"
  elif [ -n "$cuda_key" ]; then
    rpm_source "cuda-$distribution" "$cuda_repository" "file://$(key_path cuda)" gpgcheck=1
  else
    # The key that NVIDIA's own file names.
    rpm_source "cuda-$distribution" "$cuda_repository" "$cuda_repository/D42D0685.pub" gpgcheck=1 "proxy=$proxy"
  fi
}

cuda_source_path() {
  if [ "$packages" = deb ]; then
    echo "$apt/sources.list.d/gpuc-cuda.list"
  else
    echo "$yum_repositories/cuda-$distribution.repo"
  fi
}

# Whether the source that the input names is set up, and no other that this script once set up.
cuda_source_is_right() {
  local path
  path=$(cuda_source_path)
  if [ -n "$cuda_key" ]; then
    has_text "$path" "$(cuda_source)" && { [ "$packages" = rpm ] || ! is_installed cuda-keyring; }
  elif [ -n "$proxy" ] && [ "$packages" = rpm ]; then
    has_text "$path" "$(cuda_source)"
  elif is_by_gpuc "$path"; then
    return 1
  fi
}

add_driver_source() {
  local path
  path=$(cuda_source_path)
  if [ "$packages" = deb ]; then
    put_apt_proxies
  fi
  if [ "$changes_driver" = no ] && driver_is_pinned && cuda_source_is_right; then
    return 0
  fi
  if [ "$packages" = deb ]; then
    install_missing ca-certificates curl gnupg
    if [ "$distribution" = debian12 ] && ! grep -q 'c=contrib' <<<"$(apt-cache policy)"; then
      stop "NVIDIA's packages require Debian's component contrib: add it to the sources of apt"
    fi
  fi
  if [ -n "$cuda_key" ]; then
    put_key cuda "$cuda_key"
  fi
  if [ "$packages" = rpm ]; then
    add_driver_source_rpm "$path"
  elif [ -n "$cuda_key" ]; then
    put "$path" "$(cuda_source)"
    # This package is NVIDIA's own source.
    if is_installed cuda-keyring; then
      change dpkg --purge cuda-keyring
    fi
    refreshed=no
  else
    remove "$path"
    if ! is_installed cuda-keyring; then
      download "$scratch/cuda-keyring.deb" "$cuda_repository/cuda-keyring_1.1-1_all.deb" "$proxy"
      change dpkg --install "$scratch/cuda-keyring.deb"
      refreshed=no
    fi
  fi
}

add_driver_source_rpm() {
  local path=$1
  install_missing dnf-plugins-core
  if [ -n "$cuda_key$proxy" ]; then
    put "$path" "$(cuda_source)"
  elif [ ! -e "$path" ] || is_by_gpuc "$path"; then
    remove "$path"
    change dnf config-manager --add-repo "$cuda_repository/cuda-$distribution.repo"
  fi
}

# DKMS builds the kernel modules. It is part of EPEL, which requires CRB. Hosts that have it in their own sources, such
# as those of Satellite, need neither.
add_dkms_source() {
  local options=()
  if is_installed dkms || is_offered dkms; then
    return 0
  fi
  # shellcheck source=/dev/null
  if [ "$(. /etc/os-release && echo "$ID")" = rhel ]; then
    change subscription-manager repos --enable "codeready-builder-for-rhel-9-$architecture-rpms"
  else
    change dnf config-manager --set-enabled crb
  fi
  if [ -n "$proxy" ]; then
    options=("--setopt=proxy=$proxy")
  fi
  change dnf --assumeyes "${options[@]}" install https://dl.fedoraproject.org/pub/epel/epel-release-latest-9.noarch.rpm
}

# The driver.

forbid_nouveau() {
  put /etc/modprobe.d/gpuc-nouveau.conf 'blacklist nouveau
options nouveau modeset=0'
  # An initramfs that still contains nouveau would load it before this file is read.
  if [ "$written" = yes ] || [ -e "$modules/nouveau" ]; then
    if [ "$packages" = rpm ]; then
      change dracut --force
    else
      change update-initramfs -u
    fi
  fi
  if [ -e "$modules/nouveau" ]; then
    reboot_because+=("the nouveau driver uses the GPUs")
  fi
}

# Decides whether the driver changes, before anything changes. A driver that is loaded serves the pods of a node: it
# changes only with --allow-disruption, and while no process uses the GPUs.
plan_driver() {
  local reason
  old_driver=$(version_of "$driver_package")
  if driver_is_right; then
    if driver_is_fixed; then
      return 0
    fi
    reason="driver $old_driver has vulnerabilities; $min_driver fixes them ($driver_fix)"
    if [ -e "$modules/nvidia" ] && [ "$allow_disruption" = no ]; then
      warn "$reason"
      explain_driver_change
      return 0
    fi
    echo "Update: $reason."
  else
    reason="the driver must change from ${old_driver:-another one} to $driver_version"
    if [ -e "$modules/nvidia" ] && [ "$allow_disruption" = no ]; then
      explain_driver_change
      refuse "$reason, but it is loaded: to allow this, add --allow-disruption"
    fi
  fi
  changes_driver=yes
  check_secure_boot
  check_idle
  check_holds "the driver" 'nvidia|cuda-drivers|libcuda' container
}

explain_driver_change() {
  {
    echo "Change the driver of one node at a time, with these commands:"
    kubectl_command drain "$node" --ignore-daemonsets --delete-emptydir-data
    echo "  sudo bash ${0##*/}$any_host_flag --allow-disruption  # on this host; it prints the next commands"
  } >&2
}

install_driver() {
  local new
  if [ "$changes_driver" = yes ]; then
    if [ "$packages" = rpm ]; then
      install_driver_rpm
    else
      install_driver_deb
    fi
    if [ "$dry_run" = no ]; then
      new=$(version_of "$driver_package")
      if ! driver_is_right || ! driver_is_pinned; then
        stop "$driver_package is at version $new after the installation, not $driver_version; check the package sources of this host"
      fi
      if [ "$new" != "$old_driver" ]; then
        echo "Changed: the driver on disk, from ${old_driver:-none} to $new."
      fi
      driver_is_fixed ||
        warn "the package sources of this host have no driver $min_driver, which fixes vulnerabilities of $new ($driver_fix)"
    fi
  elif ! driver_is_pinned; then
    pin_driver
  fi
  build_module
}

# Keeps other upgrades of the host from changing the driver.
pin_driver() {
  if [ "$packages" = rpm ]; then
    change dnf --assumeyes module enable "nvidia-driver:$(wanted_stream)"
  else
    # It replaces the pinning package of another version.
    install_packages "nvidia-driver-pinning-$driver_version"
  fi
}

install_driver_deb() {
  local related
  # The pinning package determines the versions of the other packages, so it is installed first.
  pin_driver
  check_headers
  mapfile -t related < <(related_packages)
  install_packages "$(headers_package)" "$driver_package" "${related[@]}"
}

# The installed packages of the same driver release, except for those with the branch in their names, which other
# packages replace. On Debian, they depend on each other's minimum versions only.
related_packages() {
  [ -n "$old_driver" ] || return 0
  # shellcheck disable=SC2016
  dpkg-query --show --showformat='${db:Status-Status} ${Version} ${binary:Package}\n' |
    awk -v driver="$old_driver" -v own="$driver_package" -v branch="-${old_driver%%.*}" '
      { version = $2; sub(/^[0-9]+:/, "", version); sub(/-.*/, "", version) }
      $1 == "installed" && version == driver && $3 != own && $3 !~ /pinning/ && !index($3, branch) { print $3 }
    '
}

headers_package() {
  if [ "$packages" = rpm ]; then
    echo "kernel-devel-$(uname -r)"
  else
    echo "linux-headers-$(uname -r)"
  fi
}

# Package sources often have the headers of new kernels only.
check_headers() {
  local package
  package=$(headers_package)
  if ! is_installed "$package" && ! is_offered "$package"; then
    refuse "no package source has $package: install the newest kernel, reboot this host, then run this script again"
  fi
}

# The version of the kernel module for the running kernel; empty if there is none.
module_version() {
  modinfo -F version nvidia 2>/dev/null || true
}

# DKMS does not build the module for a kernel that was installed without its headers.
build_module() {
  local module version
  if [ "$dry_run" = yes ] && [ "$changes_driver" = yes ]; then
    return 0
  fi
  version=$(version_of "$driver_package")
  if [ "$(module_version)" = "$version" ]; then
    return 0
  fi
  check_headers
  install_missing "$(headers_package)"
  if command -v dkms >/dev/null; then
    change dkms autoinstall -k "$(uname -r)" || true
  fi
  module=$(module_version)
  if [ "$dry_run" = no ] && [ "$module" != "$version" ]; then
    stop "kernel $(uname -r) has ${module:-no} kernel module \`nvidia\`, not $version: run dkms status, and correct the error of the build"
  fi
}

is_stated_version() {
  case $1 in
    "$driver_version" | "$driver_version".*) return 0 ;;
  esac
  return 1
}

# Whether the driver has no vulnerability that NVIDIA has fixed in this branch. `min_driver` is empty if the input
# states an exact version, which is not exceeded, or if no fix is known.
driver_is_fixed() {
  [ -z "$min_driver" ] || is_at_least "$(version_of "$driver_package")" "$min_driver"
}

# Whether the stated version is installed, from the stream of its branch if it is from any.
driver_is_right() {
  is_stated_version "$(version_of "$driver_package")" || return 1
  [ "$packages" = deb ] || [ -z "$(enabled_stream)" ] || driver_is_pinned
}

driver_is_pinned() {
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
  local file=$enabled_modules/nvidia-driver.module
  if [ -f "$file" ] && grep -q '^state=enabled' "$file"; then
    sed -n 's/^stream=//p' "$file"
  fi
}

install_driver_rpm() {
  local package=$driver_package locks
  add_dkms_source
  check_headers
  if [ "$driver_version" != "$driver_branch" ]; then
    install_missing python3-dnf-plugin-versionlock
    package=$driver_package-$driver_version
  fi
  # Version locks for another version would block this one. Those of the container toolkit are not of the driver.
  mapfile -t locks < <(grep -Es 'nvidia|cuda-drivers' "$version_locks" | grep -Ev '^[#!]|container' | grep -vF ":$driver_version-")
  if [ "${#locks[@]}" -gt 0 ]; then
    change dnf --assumeyes versionlock delete "${locks[@]}"
  fi
  case $(enabled_stream) in
    "$(wanted_stream)") ;;
    "") pin_driver ;;
    *) change dnf --assumeyes --allowerasing module switch-to "nvidia-driver:$(wanted_stream)" ;;
  esac
  if [ "$driver_version" != "$driver_branch" ]; then
    change dnf --assumeyes versionlock add "*nvidia*$driver_version*" "cuda-drivers*$driver_version*"
  fi
  install_packages "$(headers_package)" kernel-headers "$package"
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
  [ -e "$modules/nvidia" ] || return 0
  busy=$(gpu_processes)
  if [ -n "$busy" ]; then
    printf '%s\n' "$busy" >&2
    explain_driver_change
    refuse "the driver must change, but the processes above use the GPUs: drain the node first"
  fi
}

# The processes that have a device of the driver open, except for daemons, which remain on a drained node. The kernel
# shortens the names to 15 characters.
gpu_processes() {
  local process name
  find "$processes"/[0-9]*/fd -lname '/dev/nvidia*' -printf '%h\n' 2>/dev/null | sort -u |
    while IFS= read -r process; do
      process=${process%/fd}
      name=$(cat "$process/comm" 2>/dev/null) || continue
      case $name in
        nvidia-persiste* | nv-fabricmanage* | nvlsm | nv-hostengine | nvidia-cuda-mps* | dcgm-exporter) ;;
        gpuc-runtime | nvidia-device-p* | gpu-feature-dis* | gpu-kubelet-plu* | nvidia-mig-mana*) ;;
        *) echo "${process##*/}, $name" ;;
      esac
    done || true
}

load_driver() {
  local loaded on_disk
  if [ "$dry_run" = yes ] && [ "$changes_driver" = yes ]; then
    change modprobe nvidia
    return 0
  fi
  if [ ! -e "$modules/nvidia" ]; then
    if [ -e "$modules/nouveau" ]; then
      return 0
    fi
    if ! change modprobe nvidia; then
      reboot_because+=("the kernel module nvidia cannot be loaded")
      return 0
    fi
  fi
  loaded=$(cat "$modules/nvidia/version" 2>/dev/null) || loaded=unknown
  on_disk=$(module_version)
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
    if [ ! -e "$modules/ib_umad" ]; then
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

plan_toolkit() {
  if ! toolkit_is_right; then
    check_holds "the NVIDIA Container Toolkit" 'nvidia-container' '^$'
  fi
}

toolkit_source() {
  if [ "$packages" = deb ]; then
    if [ -n "$toolkit_key" ]; then
      apt_source toolkit "$toolkit_repository"
    else
      echo "deb [signed-by=$keyrings/nvidia-container-toolkit-keyring.gpg] $toolkit_repository /"
    fi
  elif [ -n "$toolkit_key" ]; then
    rpm_source nvidia-container-toolkit "$toolkit_repository" "file://$(key_path toolkit)" repo_gpgcheck=1 gpgcheck=0
  else
    # The checks and the key of NVIDIA's own file: NVIDIA signs this repository, not its packages.
    rpm_source nvidia-container-toolkit "$toolkit_repository" "$nvidia_toolkit/gpgkey" repo_gpgcheck=1 gpgcheck=0 "proxy=$proxy"
  fi
}

toolkit_source_path() {
  if [ "$packages" = deb ]; then
    echo "$apt/sources.list.d/nvidia-container-toolkit.list"
  else
    echo "$yum_repositories/nvidia-container-toolkit.repo"
  fi
}

toolkit_source_is_right() {
  local path
  path=$(toolkit_source_path)
  if [ -n "$toolkit_key" ] || { [ -n "$proxy" ] && [ "$packages" = rpm ]; }; then
    has_text "$path" "$(toolkit_source)"
  elif is_by_gpuc "$path"; then
    return 1
  fi
}

add_toolkit_source() {
  local path keyring=$keyrings/nvidia-container-toolkit-keyring.gpg
  path=$(toolkit_source_path)
  if [ "$packages" = deb ]; then
    install_missing ca-certificates curl gnupg
  fi
  if [ -n "$toolkit_key" ]; then
    put_key toolkit "$toolkit_key"
  elif [ "$packages" = deb ] && [ ! -s "$keyring" ]; then
    download "$scratch/toolkit.key" "$nvidia_toolkit/gpgkey" "$proxy"
    change gpg --batch --yes --dearmor --output "$scratch/toolkit.gpg" "$scratch/toolkit.key"
    change install -D -m 0644 "$scratch/toolkit.gpg" "$keyring"
  fi
  if [ "$packages" = deb ] || [ -n "$toolkit_key$proxy" ]; then
    put "$path" "$(toolkit_source)"
    refreshed=no
  elif [ ! -s "$path" ] || is_by_gpuc "$path"; then
    download "$scratch/toolkit.repo" "$nvidia_toolkit/stable/rpm/nvidia-container-toolkit.repo"
    change install -D -m 0644 "$scratch/toolkit.repo" "$path"
  fi
}

install_toolkit() {
  if toolkit_is_right; then
    if ! toolkit_source_is_right; then
      add_toolkit_source
    fi
    return 0
  fi
  add_toolkit_source
  # Both package managers also upgrade a package. Running containers are not affected.
  if [ "$packages" = rpm ]; then
    install_packages --refresh nvidia-container-toolkit
  else
    install_packages nvidia-container-toolkit
  fi
  if [ "$dry_run" = no ] && ! toolkit_is_right; then
    stop "nvidia-container-toolkit is at version $(version_of nvidia-container-toolkit) after the installation; $min_toolkit or later fixes $toolkit_fix; check the package sources and version locks of this host"
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
  echo "Ready: number of GPUs: $count, driver $(cat "$modules/nvidia/version"), container toolkit $version"
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
