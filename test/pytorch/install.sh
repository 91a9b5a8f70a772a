#!/bin/bash
# Installs PyTorch, and the packages whose models test/import uses, into the virtual environment .venv-pytorch at the root of the
# tree (1.6 GB). test/import/requirements.txt has the versions; does nothing if they are there. PyPI's wheel of PyTorch asks for
# 2.5 GB of CUDA packages that a run on the CPU never uses: they are left out and stub_cuda.py stands in for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/.venv-pytorch
versions=$root/test/import/requirements.txt
if cmp --silent "$versions" "$venv/installed"; then
  exit 0
fi
python=/usr/bin/python3
if ! "$python" -c 'import ensurepip' 2>/dev/null || ! command -v readelf gcc >/dev/null; then
  echo "test/pytorch/install.sh: missing packages; run: apt-get install python3-venv gcc binutils" >&2
  exit 1
fi
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --no-deps --only-binary :all: --disable-pip-version-check -r "$versions"
"$python" "$here/stub_cuda.py" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib"
"$venv/bin/python" -c 'import torch, torchvision; assert torch.distributed.is_gloo_available(); print("PyTorch", torch.__version__)'
cp "$versions" "$venv/installed"
