//! A fake host: the programs that the script calls, with the packages, modules and processes of a host in files.
//!
//! The programs behave as in the manual pages of dpkg-query, dpkg, apt-get, apt-mark, rpm and dnf with its modules and
//! version locks. Pinning packages are as in the driver installation guide of NVIDIA: each replaces the others, and
//! allows downgrades.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::script;

/// A host with fake programs.
pub(super) struct FakeHost {
    folder: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: i32,
    /// The commands that changed the host in this run, without those that prepare sources or kernels.
    pub(super) changes: Vec<String>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl FakeHost {
    /// A host without packages.
    pub(super) fn new() -> Self {
        let host = Self {
            folder: TempDir::new().unwrap(),
        };
        host.program("systemctl", "echo systemctl \"$@\" >> $here/calls");
        host.program("install", "for last; do :; done; : > \"$last\"");
        host
    }

    /// A host of pool `dgx` with 8 GPUs, containerd, the toolkit and these installed packages: `NAME VERSION`.
    pub(super) fn with_packages(packages: &[&str], offered: &[&str]) -> Self {
        let host = Self::new();
        let mut installed: Vec<String> = packages
            .iter()
            .map(|package| format!("{package} installed"))
            .collect();
        for name in [
            "ca-certificates 1-1",
            "curl 1-1",
            "gnupg 1-1",
            "linux-headers-6.8.0-1 6.8.0-1",
            "kernel-devel-6.8.0-1 6.8.0",
            "kernel-headers 6.8.0",
            "dnf-plugins-core 4.3",
            "dkms 3.0.11-1",
            "nvidia-container-toolkit 1.20.0-1",
        ] {
            installed.push(format!("{name} installed"));
        }
        host.write("packages", &(installed.join("\n") + "\n"));
        host.write("offered", &(offered.join("\n") + "\n"));
        for empty in [
            "holds",
            "locks",
            "apt/sources.list.d/x",
            "rpm-keys/x",
            "keyrings/x",
        ] {
            host.write(empty, "");
        }
        for folder in [
            "sys",
            "proc",
            "journal",
            "modules.d",
            "apt/apt.conf.d",
            "repos",
        ] {
            fs::create_dir_all(host.path(folder)).unwrap();
        }
        for (name, program) in PROGRAMS {
            host.program(name, program);
        }
        if let Some(version) = host.version_of("nvidia-open") {
            host.write("module", &version);
        }
        host
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Adds a program; `$here` in its script is the folder of the host.
    pub(super) fn program(&self, name: &str, script: &str) {
        let here = self.folder.path().display();
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\nhere={here}\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The version of an installed package without its revision.
    pub(super) fn version_of(&self, package: &str) -> Option<String> {
        self.read("packages").lines().find_map(|line| {
            let mut words = line.split(' ');
            let (name, version, status) = (words.next()?, words.next()?, words.next()?);
            let version = version.split('-').next()?.to_owned();
            (name == package && status == "installed").then_some(version)
        })
    }

    /// Loads the module of the installed driver, as before this run.
    pub(super) fn load(&self, version: &str) {
        self.write("sys/nvidia/version", version);
    }

    /// Restarts the host: the module on disk is loaded, and no process runs.
    pub(super) fn reboot(&self) {
        let _ = fs::remove_dir_all(self.path("proc"));
        fs::create_dir_all(self.path("proc")).unwrap();
        self.load(&self.read("module"));
    }

    /// Adds a process with an open file.
    pub(super) fn process(&self, id: u32, name: &str, file: &str) {
        let folder = format!("proc/{id}");
        self.write(&format!("{folder}/comm"), &format!("{name}\n"));
        fs::create_dir_all(self.path(&format!("{folder}/fd"))).unwrap();
        symlink(file, self.path(&format!("{folder}/fd/3"))).unwrap();
    }

    /// Calls functions of the script. Returns whether they succeed, the commands that changed the host, and errors.
    pub(super) fn run(&self, functions: &str) -> (bool, String, String) {
        let run = self.run_with("", &[], functions);
        (run.code == 0, self.read("calls"), run.stderr)
    }

    /// Runs the whole script with these settings and flags.
    pub(super) fn run_script(&self, settings: &str, flags: &[&str]) -> Run {
        let here = self.folder.path().display();
        let functions = format!(
            "modules={here}/sys processes={here}/proc apt={here}/apt keyrings={here}/keyrings \
             yum_repositories={here}/repos rpm_keys={here}/rpm-keys version_locks={here}/locks \
             enabled_modules={here}/modules.d dpkg_journal={here}/journal\n\
             check_host() {{ is_host_of_pool; }}\nforbid_nouveau() {{ :; }}\n{settings}\nmain"
        );
        let _ = fs::remove_file(self.path("calls"));
        self.run_with("set --", flags, &functions)
    }

    fn run_with(&self, prefix: &str, flags: &[&str], functions: &str) -> Run {
        let script = fs::read_to_string(script()).unwrap();
        let script = script.strip_suffix("\nmain\n").expect("`main` at the end");
        let stale = self.path("containerd-is-stale");
        let text = format!(
            "{prefix} {}\n{script}\ncontainerd_is_stale={}\n{functions}\n",
            flags.join(" "),
            stale.display()
        );
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .args(["-c", &text, "host-dgx.sh"])
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .output()
            .unwrap();
        Run {
            code: output.status.code().unwrap(),
            changes: self.read("calls").lines().map(str::to_owned).collect(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The programs of a host with packages.
const PROGRAMS: &[(&str, &str)] = &[
    ("hostname", "echo dgx-01"),
    ("id", "echo 0"),
    (
        "uname",
        "case $1 in -m) echo x86_64 ;; *) echo 6.8.0-1 ;; esac",
    ),
    ("mokutil", "echo SecureBoot disabled"),
    (
        "install",
        r#"for last; do :; done
        case $last in $here/*) exec /usr/bin/install "$@" ;; *) echo install "$last" >> $here/calls ;; esac"#,
    ),
    (
        "dpkg-query",
        r#"for last; do :; done
        case "$*" in
          *binary:Package*) awk '{ print $3, $2, $1 }' $here/packages ;;
          *) awk -v name="$last" '$1 == name { print $3, $2; found = 1 } END { exit !found }' $here/packages ;;
        esac"#,
    ),
    (
        "dpkg",
        r#"case $1 in
          --audit) grep -E 'half-configured$|unpacked$' $here/packages; exit 1 ;;
        esac
        echo dpkg "$1" >> $here/calls
        case $1 in
          --configure)
            [ ! -e $here/dpkg-fails ] || { echo "dpkg: error processing package nvidia-open (--configure)" >&2; exit 1; }
            sed -i -E 's/ (half-configured|unpacked)$/ installed/' $here/packages
            rm -f $here/journal/*
            ;;
          --install) echo "cuda-keyring 1.1-1 installed" >> $here/packages ;;
          --purge) sed -i "/^$2 /d" $here/packages ;;
        esac"#,
    ),
    ("apt-mark", "[ \"$1\" = showhold ] && cat $here/holds"),
    (
        "apt-cache",
        r#"case $1 in show) grep -q "^$2 " $here/offered ;; *) echo c=contrib ;; esac"#,
    ),
    (
        "apt-get",
        r#"if [ -n "$(ls $here/journal)" ] || grep -qE 'half-configured$|unpacked$' $here/packages; then
          echo "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem." >&2
          exit 100
        fi
        words=
        for word; do case $word in -* | DPkg* | install | update) ;; *) words="$words $word" ;; esac; done
        echo apt-get "$1"$words >> $here/calls
        [ "$1" = install ] || exit 0
        pin=$(sed -n 's/^nvidia-driver-pinning-\([^ ]*\) .*/\1/p' $here/packages)
        for word in $words; do
          version=$(awk -v name="$word" '$1 == name { print $2 }' $here/offered)
          case $word in
            nvidia-driver-pinning-* | nvidia-container* | linux-*) ;;
            *) version=$(printf '%s\n' "$version" | grep "^$pin[.-]") ;;
          esac
          version=$(printf '%s\n' "$version" | sort -V | tail -n 1)
          [ -n "$version" ] || version=$(awk -v name="$word" '$1 == name { print $2 }' $here/packages)
          [ -n "$version" ] || { echo "E: Unable to locate package $word" >&2; exit 100; }
          old=$(awk -v name="$word" '$1 == name { print $2 }' $here/packages)
          if [ "$version" != "$old" ] && grep -qx "$word" $here/holds; then
            echo "E: Held packages were changed and -y was used without --allow-change-held-packages." >&2
            exit 100
          fi
          case $word in nvidia-driver-pinning-*) sed -i '/^nvidia-driver-pinning-/d' $here/packages ;; esac
          sed -i "/^$word /d" $here/packages
          if [ -e $here/interrupt ] && [ "$word" = nvidia-open ]; then
            echo "$word $version unpacked" >> $here/packages
            exit 100
          fi
          echo "$word $version installed" >> $here/packages
          [ "$word" != nvidia-open ] || [ -e $here/build-fails ] || printf %s "${version%%-*}" > $here/module
        done"#,
    ),
    (
        "rpm",
        r#"for last; do :; done
        awk -v name="$last" '$1 == name { sub(/-.*/, "", $2); print $2; found = 1 } END { exit !found }' $here/packages ||
          { echo "package $last is not installed"; exit 1; }"#,
    ),
    (
        "dnf",
        r#"words=
        for word; do case $word in --setopt=*) words="$words $word" ;; -*) ;; *) words="$words $word" ;; esac; done
        set -- $words
        [ "$1" != repoquery ] || { grep "^$2 " $here/offered; exit 0; }
        echo dnf "$@" >> $here/calls
        stream=$(sed -n 's/^stream=//p' $here/modules.d/nvidia-driver.module 2>/dev/null)
        newest() { awk -v name="$1" '$1 == name { print $2 }' $here/offered | case $1 in nvidia-open) grep "^${stream%%-*}[.]" ;; *) cat ;; esac | sort -V | tail -n 1; }
        case "$1 $2" in
          "module enable" | "module switch-to")
            new=${3#nvidia-driver:}
            if [ "$2" = enable ] && [ -n "$stream" ] && [ "$stream" != "$new" ]; then
              echo "Error: It is not possible to switch enabled streams of a module unless explicitly enabled via" \
                "configuration option module_stream_switch." >&2
              exit 1
            fi
            printf '[nvidia-driver]\nname=nvidia-driver\nstream=%s\nprofiles=\nstate=enabled\n' "$new" \
              > $here/modules.d/nvidia-driver.module
            ;;
          "versionlock delete") shift 2; for lock; do grep -vxF -- "$lock" $here/locks > $here/kept; mv $here/kept $here/locks; done ;;
          "versionlock add") awk -v version="${3#*nvidia\*}" '{ sub(/\*/, "", version) }
              $1 ~ /nvidia/ && index($2, version) { print $1 "-3:" $2 "-1.el9.*" }' $here/offered >> $here/locks ;;
          "config-manager --add-repo") ;;
          install*)
            shift
            for word; do
              name=$word version=
              case $word in nvidia-open-*) name=nvidia-open version=${word#nvidia-open-} ;; esac
              [ -n "$version" ] || version=$(newest "$name")
              [ -n "$version" ] || version=$(awk -v name="$name" '$1 == name { print $2 }' $here/packages)
              [ -n "$version" ] || version=1
              lock=$(sed -n "s/^$name-3:\(.*\)-1.el9.*/\1/p" $here/locks)
              if [ -n "$lock" ] && [ "$lock" != "$version" ]; then
                echo "All matches were filtered out by exclude filtering for argument: $word" >&2
                exit 1
              fi
              sed -i "/^$name /d" $here/packages
              echo "$name $version installed" >> $here/packages
              [ "$name" != nvidia-open ] || [ -e $here/build-fails ] || printf %s "${version%%-*}" > $here/module
            done
            ;;
        esac"#,
    ),
    (
        "curl",
        r#"echo curl "$@" | sed "s,$here[^ ]*,FILE,; s,/tmp/[^ ]*,FILE," >> $here/calls
        out=
        while [ $# -gt 0 ]; do [ "$1" != --output ] || out=$2; shift; done
        case $out in *.key) cat $here/published-key > "$out" 2>/dev/null || exit 22 ;; *) echo downloaded > "$out" ;; esac"#,
    ),
    (
        "gpg",
        "for last; do :; done; while [ $# -gt 1 ]; do [ \"$1\" != --output ] || cp \"$last\" \"$2\"; shift; done",
    ),
    ("modinfo", "[ -e $here/module ] && cat $here/module"),
    (
        "dkms",
        r#"echo dkms "$@" >> $here/calls
        [ ! -e $here/build-fails ] || exit 10
        awk '$1 == "nvidia-open" { sub(/-.*/, "", $2); printf "%s", $2 }' $here/packages > $here/module"#,
    ),
    (
        "modprobe",
        "mkdir -p $here/sys/nvidia && cp $here/module $here/sys/nvidia/version",
    ),
    (
        "systemctl",
        r#"case "$*" in *is-enabled*) echo enabled ;; *is-active*) ;; *) echo systemctl "$@" >> $here/calls ;; esac"#,
    ),
    (
        "nvidia-smi",
        "for i in 1 2 3 4 5 6 7 8; do echo NVIDIA H100 80GB HBM3; done",
    ),
    (
        "nvidia-ctk",
        "echo NVIDIA Container Toolkit CLI version 1.20.0",
    ),
    (
        "containerd",
        r#"printf '%s\n' '[plugins."io.containerd.grpc.v1.cri"]' 'enable_cdi = true' 'BinaryName = "/usr/bin/nvidia-container-runtime"'"#,
    ),
];
