#!/bin/bash
# image.sh TAG FILE: writes an image of Patroni and PostgreSQL as a docker-archive, from packages of the Debian or Ubuntu that
# this machine runs. It installs nothing here. The versions that ran are those of Debian 12.
set -euo pipefail
tag=$1 file=$2
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
root=$temp/root
mkdir -p "$temp/cache/archives/partial" "$root/usr/"{bin,lib,lib64,sbin}
touch "$temp/installed"

# Where nothing counts as installed, all that a package needs comes along.
download() {
	apt-get -o Dir::State::status="$temp/installed" -o Dir::Cache="$temp/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3 -qq -y \
		--no-install-recommends --download-only install patroni python3-etcd postgresql coreutils dash libc-bin >/dev/null
}
download 2>/dev/null || { apt-get update -qq; download; }

for dir in bin lib lib64 sbin; do ln -s "usr/$dir" "$root/$dir"; done
for package in "$temp"/cache/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
done
ln -sf dash "$root/usr/bin/sh"
install -d -m 1777 "$root/tmp"
# initdb asks who it is.
printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'postgres:x:999:999:postgres:/tmp:/bin/sh' >"$root/etc/passwd"
echo 'postgres:x:999:' >"$root/etc/group"
rm -rf "$root"/usr/share/{doc,man,locale,info} "$root/etc/patroni"
programs=$(cd "$root" && ls -d usr/lib/postgresql/*/bin | tail -1)

tar -c -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -f "$temp/layer.tar" .
digest=$(sha256sum <"$temp/layer.tar" | cut -d' ' -f1)
cat >"$temp/config.json" <<JSON
{"architecture": "$(dpkg --print-architecture)", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]},
 "config": {"User": "999:999", "Env": ["PATH=/$programs:/usr/bin:/bin", "LANG=C.UTF-8"], "Entrypoint": ["/usr/bin/patroni"]}}
JSON
echo '[{"Config": "config.json", "RepoTags": ["'"$tag"'"], "Layers": ["layer.tar"]}]' >"$temp/manifest.json"
tar -c -C "$temp" -f "$file" manifest.json config.json layer.tar
