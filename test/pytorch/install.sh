#!/bin/bash
# Installs PyTorch into a virtual environment at the root of the tree (1.4 GB), with the packages that make models of it:
#
#   test/pytorch/install.sh          the newest of the versions below, into .venv-pytorch
#   test/pytorch/install.sh 2.9      another one, into .venv-pytorch-2.9
#
# Does nothing if that version is there. PyPI's wheel asks for 2.5 GB of CUDA packages that a run on the CPU never uses:
# they are left out and stub_cuda.py stands in for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$(cd "$here/../.." && pwd)/.venv-pytorch${1:+-$1}
case ${1:-} in
  "") torch=2.15.0 ;;
  2.12) torch=2.12.1 ;;
  2.9) torch=2.9.1 ;;
  *)
    echo "test/pytorch/install.sh: no version '$1': 2.9, 2.12, or none for the newest" >&2
    exit 1
    ;;
esac

# What reads and writes checkpoints and has models: safetensors, and transformers and peft with what they import of their
# dependencies (200 MB).
models=(safetensors==0.8.0 transformers==5.23.0 peft==0.21.2 accelerate==1.15.0 psutil==7.2.2 huggingface_hub==2.4.0
  tokenizers==0.23.3 regex==2026.11.15 PyYAML==6.0.3 packaging==26.3 tqdm==4.70.1 httpx2==2.16.2 httpcore2==2.16.2
  h11==0.16.0 anyio==4.16.0 idna==3.20 truststore==0.10.5)
installed="$torch ${models[*]}"
if [[ -e $venv/installed && $(cat "$venv/installed") == "$installed" ]]; then
  exit 0
fi
python=/usr/bin/python3
if ! "$python" -c 'import ensurepip' 2>/dev/null || ! command -v readelf gcc >/dev/null; then
  echo "test/pytorch/install.sh: missing packages; run: apt-get install python3-venv gcc binutils" >&2
  exit 1
fi
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --no-deps --only-binary :all: --disable-pip-version-check \
  "torch==$torch" numpy==2.3.5 typing_extensions==4.15.0 sympy==1.14.0 mpmath==1.3.0 networkx==3.6.1 \
  jinja2==3.1.6 MarkupSafe==3.0.3 fsspec==2025.12.0 filelock==3.20.1 "${models[@]}"
"$python" "$here/stub_cuda.py" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib"
"$venv/bin/python" -c 'import torch; assert torch.distributed.is_gloo_available(); print("PyTorch", torch.__version__)'
echo "$installed" >"$venv/installed"
