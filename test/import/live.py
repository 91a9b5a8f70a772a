#!/usr/bin/env python3
"""One case of check_round_trip.py, with a Python that has torch: live.py CASE FOLDER. Prints the largest difference of the logits."""
import copy
import os
import sys
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import ppopt  # noqa: E402

torch.cuda.is_current_stream_capturing = lambda: False  # the stand-ins for CUDA of test/pytorch/install.sh have no stream to ask

TOLERANCE = 1e-5  # of the logits' largest element
BATCH, STEPS = 8, 20
ADAMW = dict(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)


class Tied(torch.nn.Module):
    """Without transformers: a tied head, buffers, a frozen parameter. The forward returns the loss and the logits."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = torch.nn.Embedding(40, 16), torch.nn.Linear(16, 40, bias=False)
        self.head.weight = self.embedding.weight
        self.norm, self.inner = torch.nn.LayerNorm(16), torch.nn.Linear(16, 16)
        self.inner.bias.requires_grad = False
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 16))
        self.norm.register_buffer("same", self.scale)
        for dtype in [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]:
            self.register_buffer(str(dtype)[6:] + "s", (100 * torch.randn(3, 5)).to(dtype))
        self.register_buffer("nothing", torch.zeros(0, 3))
        self.register_buffer("number", torch.tensor(7))
        self.register_buffer("left_out", torch.ones(2), persistent=False)

    def forward(self, x, y):
        logits = self.head(self.norm(F.gelu(self.inner(self.embedding(x))) * self.scale))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten()), logits


def tokens(rows, most):
    return torch.randint(0, most, (rows, 16))


def make_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(vocab_size=96, n_positions=32, n_embd=32, n_layer=2, n_head=2, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0,
                        use_cache=False, bos_token_id=None, eos_token_id=None)
    return GPT2LMHeadModel(config)


def make_lora():
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(make_gpt2(), LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=["c_attn"], fan_in_fan_out=True))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:  # zeros, by which the first gradients of lora_A would be zero
                parameter.normal_(std=0.05)
    return model


def make_vit():
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=16,
                                               patch_size=4, num_labels=5))


def language_data(rows):
    ids = tokens(rows, 96)
    return {"input_ids": ids, "labels": ids}


class TimeMajor(torch.nn.Module):
    """The batch is dimension 1 of both."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = torch.nn.LSTM(8, 8), torch.nn.Linear(8, 3)

    def forward(self, x, y):
        logits = self.head(self.layer(x)[0])
        return F.cross_entropy(logits.flatten(0, 1), y.flatten()), logits


class Norms(torch.nn.Module):
    """Two batch norms, whose running statistics are trained too."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.GELU(),
                                          torch.nn.Linear(16, 16, bias=False),
                                          torch.nn.BatchNorm1d(16, momentum=0.3, affine=False), torch.nn.Linear(16, 5))

    def forward(self, x, y):
        logits = self.layers(x)
        return F.cross_entropy(logits, y), logits


# Of these the batch is another dimension than the first.
BATCH_DIMS = {"time_major": {"x": 1, "y": 1}}

MODELS = {
    "time_major": (TimeMajor, lambda rows: {"x": torch.randn(rows, 5, 8), "y": torch.randint(0, 3, (rows, 5))}),
    "batch_norm": (Norms, lambda rows: {"x": torch.randn(rows, 6), "y": torch.randint(0, 5, (rows,))}),
    "tied": (Tied, lambda rows: {"x": tokens(rows, 40), "y": tokens(rows, 40)}),
    "mpirun": (Tied, lambda rows: {"x": tokens(rows, 40), "y": tokens(rows, 40)}),
    "gpt2": (make_gpt2, language_data),
    "lora": (make_lora, language_data),
    "vit": (make_vit, lambda rows: {"pixel_values": torch.randn(rows, 3, 16, 16), "labels": torch.randint(0, 5, (rows,))}),
}


def outputs(model, batch):
    """The loss and the logits."""
    result = model(**batch)
    return result if isinstance(result, tuple) else (result.loss, result.logits)


def first_rows(case, data, first=0):
    """A batch as forward takes it."""
    dims = BATCH_DIMS.get(case, {})
    return {name: rows[first:first + BATCH].movedim(0, dims.get(name, 0)).contiguous() for name, rows in data.items()}


def train_in_pytorch(case, model, data):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], **ADAMW)
    losses = []
    for step in range(STEPS):
        loss = outputs(model, first_rows(case, data, step * BATCH))[0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check(case, folder):
    torch.manual_seed(0)
    make, make_data = MODELS[case]
    model = make().train()
    data = make_data(BATCH * STEPS)
    batch = first_rows(case, data)
    before = outputs(model, batch)[1].detach()
    theirs, other = copy.deepcopy(model), copy.deepcopy(model)
    expected = train_in_pytorch(case, theirs, data)
    train = ppopt.compile(model, batch, mesh="dp=2", zero=3, optimizer="adamw", batch_dim=BATCH_DIMS.get(case), folder=folder)
    losses = train.fit(data, steps=STEPS, lr=ADAMW["lr"], launch="mpirun" if case == "mpirun" else "threads", no_shuffle=True,
                       betas=ADAMW["betas"], eps=ADAMW["eps"], weight_decay=ADAMW["weight_decay"])
    assert len(losses) == STEPS, losses
    train.load_into(model)

    # The plain way of docs/import.md, into a module with other buffers.
    buffers = {name: value for name, value in theirs.state_dict().items() if name in dict(theirs.named_buffers(remove_duplicate=False))}
    for name in buffers:
        other.get_buffer(name).zero_()
    other.load_state_dict(safetensors.torch.load_file(train.parameters))
    for name, value in buffers.items():
        if name.endswith(("running_mean", "running_var")):
            torch.testing.assert_close(other.get_buffer(name), value, rtol=TOLERANCE, atol=TOLERANCE)
        elif not name.endswith("num_batches_tracked"):
            assert torch.equal(other.get_buffer(name), value), f"{name} has other values"

    with torch.no_grad():
        logits, wanted, plain = (outputs(each.eval(), batch)[1] for each in (model, theirs, other))
    error, moved = ((logits - each).abs().max().item() / wanted.abs().max().item() for each in (wanted, before))
    print(f"{case}: logits within {error:.2e} of PyTorch's after {STEPS} steps that changed them by {moved:.2g}; "
          f"losses {losses[0]:.6f} to {losses[-1]:.6f}, PyTorch's {expected[0]:.6f} to {expected[-1]:.6f}")
    assert torch.equal(logits, plain), "load_state_dict has other logits than load_into"
    assert moved > 100 * TOLERANCE, "training changes nothing"
    assert error <= TOLERANCE, f"allowed {TOLERANCE}"


def expect_error(text, call):
    try:
        call()
    except ppopt.Error as error:
        assert text in str(error), f"not '{text}': {error}"
    else:
        raise AssertionError(f"no error '{text}'")


class Sorted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return ((x * self.w).sort().values[:, 0]).mean()


def check_errors(folder):
    """The tools' own messages arrive; another model is refused; a second fit goes on from the first, one that resumes as
    if it had not stopped; a model without loss gets one."""
    torch.manual_seed(0)
    x, y = tokens(4, 40), tokens(4, 40)
    expect_error("no program /nowhere/ppopt", lambda: ppopt.compile(Tied(), (x, y), ppopt="/nowhere/ppopt"))
    expect_error("'aten.sort.default' is not supported", lambda: ppopt.compile(Sorted(), (torch.randn(2, 4),)))
    expect_error("axis dq=2 cuts nothing", lambda: ppopt.compile(Tied(), (x, y), mesh="dq=2"))
    model = Tied()
    train = ppopt.compile(model, (x, y), folder=folder)
    before = copy.deepcopy(model.state_dict())
    train.load_into(model)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items()), "the import has other parameters"
    expect_error("missing: y; not an input: z", lambda: train.fit({"x": x, "z": y}, steps=1, lr=0.1))
    first = train.fit({"x": x, "y": y}, steps=3, lr=0.1)
    second = train.fit(train.executable[:-len("train")] + "fit0.data.safetensors", steps=1, lr=0.1)
    assert len(first) == 3 and second[0] < first[0], (first, second)
    wider = Tied()
    wider.inner = torch.nn.Linear(16, 8)
    expect_error("inner.weight is float32 [16, 16] in the export and float32 [8, 16] in the model", lambda: train.load_into(wider))
    expect_error("inner.weight is float32 [16, 16] in the export and float64 [16, 16] in the model", lambda: train.load_into(Tied().double()))
    wider.extra = torch.nn.Linear(2, 2)
    expect_error("extra.weight is not in the export", lambda: train.load_into(wider))
    del wider.inner, wider.extra
    expect_error("inner.weight is not in the model", lambda: train.load_into(wider))

    linear = torch.nn.Linear(4, 2)
    fits = ppopt.compile(linear, (torch.randn(4, 4),), loss="mse", targets="goal")
    losses = fits.fit({"input": torch.randn(8, 4), "goal": torch.randn(8, 2).numpy()}, steps=2, lr=0.1)
    assert len(losses) == 2
    fits.load_into(linear)

    data = {"input": torch.randn(16, 4), "goal": torch.randn(16, 2)}
    straight, stopped = (ppopt.compile(linear, (torch.randn(4, 4),), loss="mse", targets="goal") for _ in range(2))
    expected = straight.fit(data, steps=4, lr=0.1)
    kept = os.path.join(folder, "checkpoints")
    losses = stopped.fit(data, steps=2, lr=0.1, checkpoint=kept) + stopped.fit(data, steps=4, lr=0.1, checkpoint=kept, resume=True)
    assert losses == expected, (losses, expected)
    print("errors: as they should be")


if __name__ == "__main__":
    check_errors(sys.argv[2]) if sys.argv[1] == "errors" else check(sys.argv[1], sys.argv[2])
