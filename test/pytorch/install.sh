#!/bin/bash
# Installs PyTorch, and the packages whose models test/import uses, into a virtual environment at the root of the tree (1.6 GB):
#
#   test/pytorch/install.sh          what test/import/requirements.txt names, into .venv-pytorch
#   test/pytorch/install.sh 2.9      with another PyTorch and without torchvision, into .venv-pytorch-2.9
#
# Does nothing if these versions are there. PyPI's wheel of PyTorch asks for 2.5 GB of CUDA packages that a run on the CPU never
# uses: they are left out and stub_cuda.py stands in for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/.venv-pytorch${1:+-$1}
versions=$(<"$root/test/import/requirements.txt")
instead() { sed -e "s/^torch==.*/torch==$1/" -e '/^torchvision==/d' <<<"$versions"; }
case ${1:-} in
  "") ;;
  2.12) versions=$(instead 2.12.1) ;;
  2.9) versions=$(instead 2.9.1) ;;
  *)
    echo "test/pytorch/install.sh: no version '$1': 2.9, 2.12, or none for the newest" >&2
    exit 1
    ;;
esac
if cmp --silent "$venv/installed" - <<<"$versions"; then
  exit 0
fi
python=/usr/bin/python3
if ! "$python" -c 'import ensurepip' 2>/dev/null || ! command -v readelf gcc >/dev/null; then
  echo "test/pytorch/install.sh: missing packages; run: apt-get install python3-venv gcc binutils" >&2
  exit 1
fi
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --no-deps --only-binary :all: --disable-pip-version-check -r <(echo "$versions")
"$python" "$here/stub_cuda.py" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib"
"$venv/bin/python" -c 'import torch; assert torch.distributed.is_gloo_available(); print("PyTorch", torch.__version__)'
echo "$versions" >"$venv/installed"
