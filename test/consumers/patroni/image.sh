#!/bin/bash
# image.sh TAG FILE: writes an image of Patroni and PostgreSQL as a docker-archive, from packages of Debian 12 or what this
# machine has in its place. It installs nothing here.
set -euo pipefail
tag=$1 file=$2
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
mkdir -p "$temp/cache/archives/partial" "$temp/image/usr/"{bin,lib,lib64,sbin}
touch "$temp/installed"

# With no package installed, all that these need comes along.
nice apt-get -o Dir::State::status="$temp/installed" -o Dir::Cache="$temp/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3 -qq -y \
	--no-install-recommends --download-only install patroni python3-etcd postgresql-15 coreutils dash libc-bin >/dev/null

root=$temp/image
for dir in bin lib lib64 sbin; do ln -s "usr/$dir" "$root/$dir"; done
for package in "$temp"/cache/archives/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink --no-same-owner; done
ln -sf dash "$root/usr/bin/sh"
install -d -m 1777 "$root/tmp"
# What initdb asks for: who it is.
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'postgres:x:999:999:postgres:/tmp:/bin/sh' >>"$root/etc/passwd"
echo 'postgres:x:999:' >"$root/etc/group"
rm -rf "$root"/usr/share/{doc,man,locale,info} "$root/etc/patroni"

tar -c -C "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -f "$temp/layer.tar" .
digest=$(sha256sum <"$temp/layer.tar" | cut -d' ' -f1)
cat >"$temp/config.json" <<JSON
{"architecture": "$(dpkg --print-architecture)", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ["sha256:$digest"]},
 "config": {"User": "999:999", "Env": ["PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin", "LANG=C.UTF-8"], "Entrypoint": ["/usr/bin/patroni"]}}
JSON
echo '[{"Config": "config.json", "RepoTags": ["'"$tag"'"], "Layers": ["layer.tar"]}]' >"$temp/manifest.json"
tar -c -C "$temp" -f "$file" manifest.json config.json layer.tar
