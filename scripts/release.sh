#!/usr/bin/env bash
# Makes what people install: scripts/release.sh [program|static|wheel|deb|oci|sbom]...
#
# Without an argument: all of them. What is made is in target/packages, with SHA-256 sums. Two builds of one commit give the same
# bytes: times are those of the commit (SOURCE_DATE_EPOCH), and paths of this machine are cut off.
#
# The static program and the wheel are made for x86-64 and for aarch64, or for what ARCH names; the rest for this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
# Panics name files: without the folders of whoever built it.
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=/delaylab --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
# Assertions in C do, too.
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$PWD=/delaylab -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export CARGO_INCREMENTAL=0
packages=$PWD/target/packages
here=$(uname -m)
architectures=${ARCH:-x86_64 aarch64}
tools=$PWD/target/release-tools/bin
for what in "$@"; do
    case $what in
    program | static | wheel | deb | oci | sbom) ;;
    *)
        echo "usage: scripts/release.sh [program|static|wheel|deb|oci|sbom]..." >&2
        exit 2
        ;;
    esac
done
# What an earlier call left of another commit would be summed as if it were of this one.
commit=$(git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || echo unknown-dirty)
[[ $commit != *-dirty ]] || echo "release: files differ from those of the commit: no other build gives the same bytes" >&2
[[ $commit != *-dirty && $(cat "$packages/.commit" 2>/dev/null) == "$commit" ]] || rm -rf "$packages"
mkdir -p "$packages"
echo "$commit" >"$packages/.commit"

say() { printf '\n== %s\n' "$*" >&2; }

fetch_tools() { # maturin and cargo-zigbuild, with zig as the C compiler and linker for other targets
    scripts/venv.sh release-tools maturin==1.16.0 ziglang==0.16.0 cargo-zigbuild==0.24.1
    export PATH="$tools:$PATH"
}

cargo_tool() { # name version
    [ "$("$tools/bin/$1" --version 2>/dev/null | grep -o '[0-9][0-9.]*' | head -1)" = "$2" ] ||
        cargo install "$1" --version "$2" --locked --quiet --root "$tools"
    export PATH="$tools/bin:$PATH"
}

need_target() { # triple: the standard library for it
    [ -d "$(rustc --print target-libdir --target "$1")" ] && return
    if ! command -v rustup >/dev/null; then
        echo "release: this Rust has no standard library for $1, and rustup, which would add it, is missing: install Rust with rustup" >&2
        exit 3
    fi
    rustup target add "$1"
}

# For Debian 12 and later, and whatever has glibc 2.36.
program() {
    say "target/dist/delaylab"
    # Packed relocations, which glibc reads from 2.36 on, take half a megabyte less.
    RUSTFLAGS="$RUSTFLAGS -C link-arg=-Wl,-z,pack-relative-relocs" cargo build --profile dist --package delaylab-cli
}

static_program() { # architecture: where the static program for it is
    echo "$packages/delaylab-$version-$1-linux"
}

# For any Linux of its architecture. Names are resolved by /etc/hosts and DNS alone: musl knows no other name service.
static() {
    local architecture
    fetch_tools
    for architecture in $architectures; do
        say "a static program for $architecture"
        local target=$architecture-unknown-linux-musl
        need_target "$target"
        cargo zigbuild --profile dist --package delaylab-cli --target "$target"
        install -m 755 "target/$target/dist/delaylab" "$(static_program "$architecture")"
        built="$built$architecture "
    done
}

# What an earlier call left may be of another commit: cargo knows what there is to do.
built=" "
need_static() { # architecture
    [[ $built == *" $1 "* ]] || architectures=$1 static
}

# The program is the static one: a wheel is for any Linux.
wheel() {
    local architecture data=python/delaylab.data bill=delaylab.cdx.json
    fetch_tools
    # That of maturin itself names the folders of this machine.
    bill_of_materials python "python/$bill"
    trap 'rm -f "python/delaylab.cdx.json"' EXIT
    for architecture in $architectures; do
        need_static "$architecture"
        say "a wheel for $architecture"
        local target=$architecture-unknown-linux-gnu
        need_target "$target"
        rm -rf "$data"
        mkdir -p "$data/scripts"
        cp "$(static_program "$architecture")" "$data/scripts/delaylab"
        (cd python && maturin build --profile dist --zig --target "$target" --compatibility manylinux2014 --sbom-include "$bill" --out "$packages")
        rm -rf "$data"
    done
    rm "python/$bill"
}

man_pages() { # program, command...: its page and those of its commands
    local delaylab=$1 page name
    shift
    page=$(IFS=- && echo "delaylab${*:+-$*}")
    "$delaylab" man "$@" | gzip -9n >"$packages/man/$page.1.gz"
    for name in $("$delaylab" "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
        [ "$name" = help ] || man_pages "$delaylab" "$@" "$name"
    done
}

documents() { # man pages, completions and the changelog, as Debian has them
    local delaylab=target/dist/delaylab
    rm -rf "$packages/man" "$packages/completions"
    mkdir -p "$packages/man" "$packages/completions"
    man_pages "$delaylab"
    "$delaylab" completions bash >"$packages/completions/delaylab"
    "$delaylab" completions zsh >"$packages/completions/_delaylab"
    "$delaylab" completions fish >"$packages/completions/delaylab.fish"
    gzip -9n <CHANGELOG.md >"$packages/changelog.gz"
    printf 'delaylab (%s-1) unstable; urgency=medium\n\n  * See /usr/share/doc/delaylab/changelog.gz.\n\n -- The delaylab authors <delaylab@localhost>  %s\n' \
        "$version" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$packages/changelog.Debian.gz"
}

# It would be installed where its dependencies are, and not start.
check_glibc() { # program
    local says needs
    says=$(sed -n 's/^depends = "libc6 (>= \([0-9.]*\)).*/\1/p' crates/cli/Cargo.toml)
    needs=$(objdump -T "$1" | grep -o 'GLIBC_[0-9][0-9.]*' | sort -uV | tail -1)
    needs=${needs#GLIBC_}
    [ "$(printf '%s\n' "$says" "$needs" | sort -V | tail -1)" = "$says" ] && return
    echo "release: built here, the program needs glibc $needs, and the Debian package is for glibc $says and later: make it on Debian 12. The others can be made here: scripts/release.sh static wheel oci sbom" >&2
    exit 3
}

deb() {
    program
    check_glibc target/dist/delaylab
    say "a Debian package"
    documents
    cargo_tool cargo-deb 3.8.0
    cargo deb --package delaylab-cli --profile dist --no-build --no-strip --output "$packages/"
}

# An OCI image layout of the static program alone, made without a daemon.
oci() {
    need_static "$here"
    say "an OCI image layout"
    local layout=$packages/oci created
    created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
    rm -rf "$layout"
    umoci init --layout "$layout"
    umoci new --image "$layout:$version"
    cp "$(static_program "$here")" "$packages/delaylab"
    chmod 755 "$packages/delaylab"
    touch -d "@$SOURCE_DATE_EPOCH" "$packages/delaylab"
    umoci insert --image "$layout:$version" --history.created "$created" --history.created_by scripts/release.sh \
        "$packages/delaylab" /usr/bin/delaylab
    umoci config --image "$layout:$version" --created "$created" --no-history --config.entrypoint /usr/bin/delaylab
    umoci gc --layout "$layout"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -C "$layout" -cf "$packages/delaylab-$version-oci.tar" .
    rm -rf "$layout" "$packages/delaylab"
}

# What the program is made of.
sbom() {
    bill_of_materials cli "$packages/delaylab-$version.cdx.json"
}

# What a crate is made of (CycloneDX).
bill_of_materials() { # crate, file to write
    say "a bill of materials of $1"
    fetch_tools
    cargo_tool cargo-cyclonedx 0.5.9
    # It writes beside every manifest, and where each is: in a copy, whose place is cut off.
    local copy=$PWD/target/sbom
    rm -rf "$copy"
    mkdir -p "$copy"
    git ls-files -z | tar --null --files-from - -c | tar -x -C "$copy"
    cargo cyclonedx --format json --spec-version 1.5 --manifest-path "$copy/crates/$1/Cargo.toml" --override-filename delaylab.cdx --quiet
    sed "s|$copy|/delaylab|g" "$copy/crates/$1/delaylab.cdx.json" >"$2"
    rm -rf "$copy"
}

[ $# -gt 0 ] || set -- static wheel deb oci sbom
for what in "$@"; do
    "$what"
done
(cd "$packages" && find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name .commit ! -name 'changelog*.gz' -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
