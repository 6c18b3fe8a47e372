#!/bin/sh
# fitness.sh: says what this machine lacks for a localkube, a line each, and fails if that is anything. make runs it
# before the first build, localkube before all else.
# fitness.sh packages: prints the Debian packages that are missing.
set -u
cache=${LOCALKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etcd-steward/localkube}
state=/var/lib/etcd-steward-localkube

# What localkube runs of the system, and the Debian package that has it.
packages() {
	while read -r tool package; do
		command -v "$tool" >/dev/null || echo "$package"
	done <<-EOF | sort -u
		containerd containerd
		ctr containerd
		runc runc
		/usr/lib/cni/ptp containernetworking-plugins
		nft nftables
		ip iproute2
		iptables iptables
		conntrack conntrack
		busybox busybox-static
		mkfs.ext4 e2fsprogs
		nsenter util-linux
		unshare util-linux
		mount mount
	EOF
}

fits=0
lacks() {
	[ "$fits" != 0 ] || echo "this machine lacks:"
	fits=1
	echo "  - $*"
}

# hasFree <GiB> <directory>, which may not be there yet.
hasFree() {
	directory=$2
	while [ ! -d "$directory" ]; do directory=$(dirname "$directory"); done
	free=$(df -Pk "$directory" | awk 'END {print int($4 / 1048576)}')
	[ "$free" -ge "$1" ]
}

[ "${1:-}" != packages ] || { packages; exit; }

if [ "$(uname -s)" != Linux ]; then
	lacks "Linux: localkube runs on nothing else, this is $(uname -s)"
	exit 1
fi
[ "$(id -u)" = 0 ] ||
	lacks "root, who makes network namespaces, mounts and cgroups: put sudo env \"PATH=\$PATH\" before the command"
grep -qw overlay /proc/filesystems || { modprobe overlay 2>/dev/null && grep -qw overlay /proc/filesystems; } ||
	lacks "the overlay filesystem, which is under every container: modprobe overlay"
[ -e /sys/fs/cgroup/cgroup.controllers ] || [ -e /sys/fs/cgroup/memory/cgroup.procs ] ||
	lacks "cgroups: mount them under /sys/fs/cgroup"
missing=$(packages | tr '\n' ' ')
[ -z "$missing" ] || command -v apt-get >/dev/null ||
	lacks "programs that there is no apt-get to install with; Debian has them in: $missing"

# A cache that has a Kubernetes needs neither Go nor much space.
if ! ls -d "$cache"/bin/kubernetes-*[0-9a-f] >/dev/null 2>&1; then
	command -v go >/dev/null || lacks "go in \$PATH, which builds Kubernetes: https://go.dev/dl"
	hasFree 12 "$cache" || lacks "12 GiB of free disk for $cache: free some, or set LOCALKUBE_CACHE to another disk"
fi
[ -e "$state/state.json" ] || hasFree 4 "$state" || lacks "4 GiB of free disk for $state: free some"
exit "$fits"
