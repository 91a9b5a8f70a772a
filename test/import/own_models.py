"""The models of make_archives.py that a user writes in PyTorch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from archive_model import LAYERS, SEQ, VOCAB, WIDTH, Model, ids


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 3))

    def forward(self, x, y):
        return F.mse_loss(self.layers(x), y)


def mlp():
    return Model(Mlp(), lambda rows: {"x": torch.randn(rows, 6), "y": torch.randn(rows, 3)}, types=("f32", "f64"), core=True)


class Dlrm(nn.Module):
    """Tables of categories and an MLP of numbers, multiplied pair by pair."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20, 8, mode="sum") for _ in range(3))
        self.bottom = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense, sparse, clicked):
        vectors = torch.stack([self.bottom(dense)] + [table(sparse[:, k]) for k, table in enumerate(self.tables)], 1)
        products, pairs = torch.bmm(vectors, vectors.transpose(1, 2)), torch.tril_indices(4, 4, -1)
        features = torch.cat([vectors[:, 0], products[:, pairs[0], pairs[1]]], 1)
        return F.binary_cross_entropy_with_logits(self.top(features).squeeze(1), clicked)


def dlrm():
    return Model(Dlrm(), lambda rows: {"dense": torch.randn(rows, 4), "sparse": torch.randint(0, 20, (rows, 3, 2)),
                                       "clicked": torch.rand(rows).round()}, core=True)


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.embedding, self.layer, self.head = nn.Embedding(VOCAB, 8), layer, nn.Linear(8, VOCAB)

    def forward(self, tokens, targets):
        states, _ = self.layer(self.embedding(tokens))
        return F.cross_entropy(self.head(states).flatten(0, 1), targets.flatten())


def tokens_and_targets(length=6):
    return lambda rows: {"tokens": ids(rows, length), "targets": ids(rows, length)}


def lstm():
    return Model(Recurrent(nn.LSTM(8, 8, batch_first=True)), tokens_and_targets(), core=True)


def gru():
    """Two layers."""
    return Model(Recurrent(nn.GRU(8, 8, num_layers=2, batch_first=True)), tokens_and_targets())


class MixerLayer(nn.Module):
    def __init__(self, patches, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(patches, 8), nn.GELU(), nn.Linear(8, patches))
        self.channels = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, kernel_size=4, stride=4)
        self.layers = nn.Sequential(*(MixerLayer(4, WIDTH) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, image, label):
        x = self.patches(image).flatten(2).transpose(1, 2)
        return F.cross_entropy(self.head(self.norm(self.layers(x)).mean(1)), label)


def images(rows):
    return {"image": torch.randn(rows, 3, 8, 8), "label": torch.randint(0, 5, (rows,))}


def mixer():
    """An MLP-Mixer."""
    return Model(Mixer(), images, core=True)


class Experts(nn.Module):
    """All experts compute; their results are weighted by a softmax."""

    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 12), nn.SiLU(), nn.Linear(12, width)) for _ in range(experts))

    def forward(self, x):
        weights = self.gate(x).softmax(dim=-1)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-2)
        return (weights.unsqueeze(-1) * outputs).sum(dim=-2)


class MixtureOfExperts(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.experts = nn.Embedding(VOCAB, WIDTH), nn.RMSNorm(WIDTH), Experts(WIDTH, 3)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        x = x + self.experts(self.norm(x))
        return F.cross_entropy(self.head(x).view(-1, VOCAB), targets.view(-1))


def moe():
    return Model(MixtureOfExperts(), tokens_and_targets(), core=True)


class TextClassifier(nn.Module):
    """The padding mask is computed from the tokens."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Parameter(torch.zeros(SEQ, WIDTH))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 2, 24, dropout=0.0, batch_first=True) for _ in range(2))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, tokens, label):
        padding = tokens == 0
        x = self.embedding(tokens) + self.positions
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        kept = (~padding).unsqueeze(-1)
        return F.cross_entropy(self.head((x * kept).sum(1) / kept.sum(1)), label)


def text_classifier():
    """nn.TransformerEncoderLayer."""
    def draw(rows):
        lengths = torch.randint(SEQ // 2, SEQ + 1, (rows, 1))
        return {"tokens": torch.where(torch.arange(SEQ) < lengths, torch.randint(1, VOCAB, (rows, SEQ)), 0),
                "label": torch.randint(0, 3, (rows,))}
    return Model(TextClassifier(), draw)


class EinsumAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.qkv = nn.Parameter(torch.randn(3, WIDTH, 2, WIDTH // 2) / 4)
        self.out = nn.Parameter(torch.randn(2, WIDTH // 2, WIDTH) / 4)
        self.register_buffer("mask", torch.ones(SEQ, SEQ).tril().bool())

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        q, k, v = torch.einsum("bsw,nwhd->nbshd", x, self.qkv)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / 8 ** 0.5
        weights = scores.masked_fill(~self.mask, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        x = x + torch.einsum("bqhd,hdw->bqw", mixed, self.out)
        return F.cross_entropy(torch.einsum("bsw,vw->bsv", x, self.embedding.weight).flatten(0, 1), targets.flatten())


def einsum():
    """Attention by einsum, with the causal mask as a buffer; the embedding is the head too."""
    return Model(EinsumAttention(), tokens_and_targets(SEQ), core=True)


class Dynamic(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(VOCAB, WIDTH), nn.Embedding(16, WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens, targets):
        batch, length = tokens.shape
        x = self.embedding(tokens) + self.positions(torch.arange(length))
        q, k, v = (f(x).view(batch, length, 2, WIDTH // 2).transpose(1, 2) for f in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, WIDTH)
        return F.cross_entropy(self.head(x).reshape(batch * length, VOCAB), targets.reshape(batch * length))


def dynamic():
    """Batch and sequence are named dimensions with ranges."""
    batch, seq = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("seq", min=4, max=16)
    return Model(Dynamic(), tokens_and_targets(SEQ), dims={n: {0: batch, 1: seq} for n in ("tokens", "targets")}, core=True)


def dynamic_batch():
    """The batch alone is named."""
    batch = torch.export.Dim("batch", min=2, max=64)
    return Model(Mlp(), lambda rows: {"x": torch.randn(rows, 6), "y": torch.randn(rows, 3)}, dims={"x": {0: batch}, "y": {0: batch}})


class DynamicRows(nn.Module):
    """Much has the number of rows as a size, and nothing computes with it."""

    def __init__(self):
        super().__init__()
        self.embedding, self.positions = nn.Embedding(VOCAB, WIDTH), nn.Embedding(16, WIDTH)
        self.first, self.head = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Linear(WIDTH, 5)

    def forward(self, tokens, label):
        rows, length = tokens.shape
        x = self.embedding(tokens) + self.positions(torch.arange(length).expand(rows, length))
        x = torch.cat([self.first.expand(rows, -1, -1), x], 1)
        mask = torch.ones(rows, 1, length + 1, length + 1, dtype=torch.bool).tril()
        heads = x.view(rows, length + 1, 2, WIDTH // 2).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)
        x = x + mixed.transpose(1, 2).reshape(rows, length + 1, WIDTH)
        each = F.cross_entropy(self.head(x[:, -1]), label, reduction="none")
        return (each * torch.full((rows,), 0.5, dtype=each.dtype)).mean()


def dynamic_rows():
    rows = torch.export.Dim("rows", min=2, max=64)
    return Model(DynamicRows(), lambda rows: {"tokens": ids(rows, 6), "label": torch.randint(0, 5, (rows,))},
                 dims={"tokens": {0: rows}, "label": {0: rows}})


# With the batch in dimension 1, as recurrent layers and transformers have it by default.

class TimeMajor(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.layer, self.head = nn.Embedding(VOCAB, 8), nn.LSTM(8, 8), nn.Linear(8, VOCAB)

    def forward(self, tokens, targets):
        states, _ = self.layer(self.embedding(tokens))
        return F.cross_entropy(self.head(states).flatten(0, 1), targets.flatten())


def lstm_time_major():
    return Model(TimeMajor(), tokens_and_targets(), batch_dims={"tokens": 1, "targets": 1})


class Encoder(nn.Module):
    """The label has one dimension, which is the batch."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 2, dim_feedforward=24, dropout=0.0)
        self.layers, self.head = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False), nn.Linear(WIDTH, 5)

    def forward(self, x, label):
        return F.cross_entropy(self.head(self.layers(x).mean(0)), label)


def encoder_time_major():
    rows = torch.export.Dim("rows", min=2, max=64)
    return Model(Encoder(), lambda rows: {"x": torch.randn(rows, 6, WIDTH), "label": torch.randint(0, 5, (rows,))}, batch_dims={"x": 1},
                 dims={"x": {1: rows}, "label": {0: rows}})


class Buffers(nn.Module):
    """Buffers that are saved, also some that nothing reads, one that is not, a tensor that is an attribute, and one made in forward."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.randn(6))
        self.register_buffer("deviation", torch.rand(6) + 0.5)
        self.register_buffer("order", torch.randperm(6), persistent=False)
        self.register_buffer("seen", torch.tensor(12))
        self.register_buffer("halves", torch.randn(2, 3).half())
        self.register_buffer("ones", torch.ones(300))
        self.register_buffer("bits", torch.rand(3, 5) < 0.5)
        self.register_buffer("bytes", torch.randint(0, 256, (150,), dtype=torch.uint8))
        self.register_buffer("codes", torch.randint(-128, 128, (7,), dtype=torch.int8))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("odd", torch.tensor([float("nan"), float("inf"), -0.0, 1e-45]))
        self.scale = torch.linspace(0.5, 1.5, 6, dtype=torch.float64)
        self.layer = nn.Linear(6, 3)
        self.layer.register_buffer("turned", torch.arange(6, dtype=torch.int16).view(2, 3).t())
        self.layer.register_buffer("mean", self.mean)  # the same tensor again

    def forward(self, x, y):
        x = (x - self.mean) / self.deviation
        x = x[:, self.order] * self.scale.to(x.dtype)
        return F.smooth_l1_loss(self.layer(x) * torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype), y)


def buffers():
    return Model(Buffers(), lambda rows: {"x": torch.randn(rows, 6), "y": torch.randn(rows, 3)}, types=("f32", "f64"), core=True)


class BatchNorms(nn.Module):
    """Of rows, with numbers and without a scale; of positions; and one whose statistics stay."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8, bias=False), nn.Linear(8, 3)  # a norm takes biases away
        self.rows, self.plain = nn.BatchNorm1d(8, eps=1e-3, momentum=0.3), nn.BatchNorm1d(8, affine=False)
        self.positions, self.fixed = nn.SyncBatchNorm(2), nn.BatchNorm1d(8).eval()

    def forward(self, x, y):
        x = self.plain(torch.tanh(self.rows(self.first(x))))
        x = self.positions(x.unflatten(1, (2, 4))).flatten(1)
        return F.mse_loss(self.last(x + self.fixed(x)), y)

    def train(self, mode=True):
        super().train(mode)
        self.fixed.eval()
        return self


def batch_norms():
    return Model(BatchNorms(), lambda rows: {"x": torch.randn(rows, 6), "y": torch.randn(rows, 3)}, types=("f32", "f64"), core=True, mixes_rows=True)


# Without a loss.

class Classifier(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, outputs))

    def forward(self, x):
        return self.layers(x)


def classifier():
    return Model(Classifier(5), lambda rows: {"x": torch.randn(rows, 6), "targets": torch.randint(0, 5, (rows,))},
                 criterion="cross_entropy")


def regression():
    return Model(Classifier(2), lambda rows: {"x": torch.randn(rows, 6), "targets": torch.randn(rows, 2)}, criterion="mse")


def detector():
    return Model(Classifier(3), lambda rows: {"x": torch.randn(rows, 6), "targets": torch.rand(rows, 3).round()}, criterion="bce")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCAB, WIDTH), nn.Linear(WIDTH, 7)

    def forward(self, tokens):
        return self.head(self.embedding(tokens).relu())


def tagger():
    """Logits for each position."""
    return Model(Tagger(), lambda rows: {"tokens": ids(rows), "targets": ids(rows, vocab=7)}, criterion="cross_entropy")
