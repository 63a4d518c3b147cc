#!/bin/sh
# sysroot.sh -- download packages of Debian with their dependencies, and unpack them, without root
#
#     [RELEASE=bullseye] [MIRROR=...] sysroot.sh FOLDER ARCHITECTURE PACKAGE...
#
# The files go to FOLDER/root.  Without RELEASE, the packages are those of this machine's release.

mkdir -p "$1/apt/state/lists/partial" "$1/apt/cache/archives/partial" "$1/root"
folder=$(realpath "$1") arch=$2
shift 2
packages="$*" apt=$folder/apt
: >"$apt/state/status"
set -- -q -y -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o Dir::State="$apt/state" \
    -o Dir::State::status="$apt/state/status" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 \
    -o APT::Sandbox::User="$(id -un)"
if [ "$RELEASE" ]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "${MIRROR:-http://deb.debian.org/debian} $RELEASE main" >"$apt/sources.list"
    set -- "$@" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=-
fi
apt-get "$@" update >"$apt/log" 2>&1            # a missing list may not be needed
# shellcheck disable=SC2086
apt-get "$@" --no-install-recommends --download-only install $packages >>"$apt/log" 2>&1 ||
    { tail -n 20 "$apt/log"; exit 1; }
for package in "$apt/cache/archives"/*.deb; do dpkg-deb -x "$package" "$folder/root" || exit 1; done
touch "$folder/fetched"
