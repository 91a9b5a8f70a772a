"""The models of make_archives.py that transformers and peft have, small and with random weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from archive_model import LAYERS, SEQ, VOCAB, WIDTH, Model, ids

BOTH = ("f32", "f64")


def tokens_and_labels(rows):
    return {"input_ids": ids(rows), "labels": ids(rows)}


class LanguageModel(nn.Module):
    """A wrapper that returns the loss alone, as users of torch.export write it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        return self.model(input_ids=input_ids, labels=labels, use_cache=False).loss


def of_config(cls, config):
    return cls._from_config(config, attn_implementation="sdpa")


def decoder_sizes(**further):
    return dict(vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=24, num_hidden_layers=LAYERS, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=16, bos_token_id=1, eos_token_id=2, pad_token_id=0, **further)


def gpt2_module(**further):
    import transformers
    return of_config(transformers.GPT2LMHeadModel, transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=16, n_embd=WIDTH, n_head=2, bos_token_id=1, eos_token_id=2,
        **{**dict(n_layer=LAYERS, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0), **further}))


def gpt2():
    """Tied: lm_head.weight is transformer.wte.weight."""
    return Model(LanguageModel(gpt2_module()), tokens_and_labels, types=BOTH, core=True)


def gpt2_dropout():
    """Training mode with dropout of 0.1, exported as a user would."""
    return Model(LanguageModel(gpt2_module(n_layer=1, resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)), tokens_and_labels,
                 types=("f32",), random=True)


def gpt2_evaluation():
    """The same in evaluation mode: the export has no dropout at all."""
    return Model(LanguageModel(gpt2_module(n_layer=1, resid_pdrop=0.1, embd_pdrop=0.1, attn_pdrop=0.1)), tokens_and_labels,
                 types=("f32",), train=False)


def llama():
    """Four heads share two key-value heads."""
    import transformers
    module = of_config(transformers.LlamaForCausalLM, transformers.LlamaConfig(**decoder_sizes()))
    return Model(LanguageModel(module), tokens_and_labels, types=BOTH, core=True)


def qwen2():
    """Exported without a wrapper: keyword arguments, constants among them; the output is a data class of loss and logits."""
    import transformers
    module = of_config(transformers.Qwen2ForCausalLM, transformers.Qwen2Config(**decoder_sizes()))
    return Model(module, tokens_and_labels, constants={"use_cache": False}, loss=lambda output: output.loss)


def mistral():
    """A window of 4, less than the sequence."""
    import transformers
    module = of_config(transformers.MistralForCausalLM, transformers.MistralConfig(**decoder_sizes(sliding_window=4)))
    return Model(LanguageModel(module), tokens_and_labels)


class MaskedLanguageModel(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, labels):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, labels=labels).loss


def bert():
    """The padding mask is an input; a third of the tokens are masked, and only their labels count."""
    import transformers
    module = of_config(transformers.BertForMaskedLM, transformers.BertConfig(
        vocab_size=VOCAB, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4, intermediate_size=24,
        max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))

    def draw(rows):
        tokens = torch.randint(4, VOCAB, (rows, SEQ))
        mask = (torch.arange(SEQ) < torch.randint(SEQ // 2, SEQ + 1, (rows, 1))).long()
        masked = (torch.rand(rows, SEQ) < 0.3) & mask.bool()
        masked[:, 0] = True
        return {"input_ids": torch.where(masked, 3, tokens * mask), "attention_mask": mask,
                "labels": torch.where(masked, tokens, -100)}
    return Model(MaskedLanguageModel(module), draw, types=BOTH, core=True)


class ImageClassifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values, labels):
        return F.cross_entropy(self.model(pixel_values=pixel_values).logits, labels)


def vit():
    """A convolution cuts the image into patches."""
    import transformers
    module = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4, intermediate_size=24, image_size=8, patch_size=4,
        num_labels=5, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    return Model(ImageClassifier(module),
                 lambda rows: {"pixel_values": torch.randn(rows, 3, 8, 8), "labels": torch.randint(0, 5, (rows,))},
                 types=BOTH, core=True)


def lora():
    """peft's LoRA on GPT-2: all but the adapters is frozen."""
    import peft
    adapted = peft.get_peft_model(gpt2_module(), peft.LoraConfig(
        r=2, lora_alpha=4, lora_dropout=0.0, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))
    return Model(LanguageModel(adapted), tokens_and_labels)
