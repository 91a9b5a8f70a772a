#!/bin/bash
# Installs PyTorch, as pinned below, into the virtual environment .venv-pytorch at the root of the tree (1.4 GB). Does nothing
# if that version is there. PyPI's wheel asks for 2.5 GB of CUDA packages that a run on the CPU never uses: they are left
# out and stub_cuda.py stands in for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$(cd "$here/../.." && pwd)/.venv-pytorch
torch=2.15.0

# What reads and writes checkpoints: safetensors, and transformers with what it imports of its dependencies (160 MB).
install_checkpoints() {
  "$venv/bin/python" -c "from importlib.metadata import version as v
assert v('transformers') == '5.23.0' and v('safetensors') == '0.8.0'" 2>/dev/null ||
    "$venv/bin/pip" install --quiet --no-deps --only-binary :all: --disable-pip-version-check \
      safetensors==0.8.0 transformers==5.23.0 huggingface_hub==2.4.0 tokenizers==0.23.3 regex==2026.11.15 \
      PyYAML==6.0.3 packaging==26.3 tqdm==4.70.1 httpx2==2.16.2 httpcore2==2.16.2 h11==0.16.0 anyio==4.16.0 \
      idna==3.20 truststore==0.10.5
}
if [[ -e $venv/installed && $(cat "$venv/installed") == "$torch" ]]; then
  install_checkpoints
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
  jinja2==3.1.6 MarkupSafe==3.0.3 fsspec==2025.12.0 filelock==3.20.1
"$python" "$here/stub_cuda.py" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib"
"$venv/bin/python" -c 'import torch; assert torch.distributed.is_gloo_available(); print("PyTorch", torch.__version__)'
install_checkpoints
echo "$torch" >"$venv/installed"
