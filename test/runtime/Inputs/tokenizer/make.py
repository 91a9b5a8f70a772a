"""Makes the files beside it: a byte-level BPE trained by Hugging Face's `tokenizers` (0.23.3) on the pages of docs/, and
texts with the tokens that `tokenizers` gives them.

    python -m venv V && V/bin/pip install tokenizers && V/bin/python test/runtime/Inputs/tokenizer/make.py
"""

import glob
import json
import os
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..", "..", "..")

# What no page has: other scripts, so that merges of their bytes are learned.
foreign = ["Das größte Übel, sagte er, wäre es gewesen, zu schweigen. ", "Съешь же ещё этих мягких французских булок. ",
           "いろはにほへと ちりぬるを わかよたれそ ", "café naïve façade élève ", "🙂🙂👍🏽 👨‍👩‍👧 "]

texts = [
    "", " ", "  ", "\n", "\n\n", "\t", " \n ", "a", " a", "  a", "   a", "a ", "a  ", "a   ", "a\n", "a \n", "a\n\nb", "a \n b", "a\t\tb",
    "Hello, world!", "hello world", "The quick brown fox jumps over the lazy dog.",
    "it's we're you've I'm she'll he'd don't IT'S WE'RE 'S 's' 'tis 'll''d", "’s it’s", "'", "''", "' s",
    "0 12 3456 7890 1,000,000.50 x86_64 v2.0 ½ ² Ⅷ ٣٤٥ 三", "12abc34 abc12",
    "for (int i = 0; i < n; ++i) {\n  sum += a[i];  // add\n}\n", "#include <vector>\n\n\n\nint main() { return 0; }",
    "        indented\n\t\ttabs\n   \n  trailing  \n", "a\r\nb\r\n", "...!!! ?!? --- ___ ### $$$ %^&*", "((([[[{{{}}}]]])))",
    "Größe Übel ß", "naïve café", "Ünïcödé", "e\u0301 n\u0303 \u0301", "Съешь ещё этих булок", "いろはにほへと", "漢字かな交じり文", "한국어 텍스트",
    "مرحبا بالعالم", "שלום עולם", "हिन्दी पाठ", "ไทย", "🙂", "🙂🙂 👍🏽", "👨‍👩‍👧‍👦 family", "🇩🇪🇫🇷", "a🙂b 🙂 c", "𝒳𝔸 𐍈",
    "no\u00a0break \u2003em \u2028line \u3000wide \u200bzero \u1680ogham \u180emongolian \u0085next \u001cfile \ufefffeff",
    "   \u00a0  x", " \u3000\u3000 y", "x \u2003", "\x00\x01\x02\x7f", "\x80\x9f\xad", "tab\tcr\rvt\vff\f.",
    "<|endoftext|>", "one<|endoftext|>two <|endoftext|> three<|endoftext|>", "<|endoftext", "<|endoftext|", "|endoftext|>",
    "https://example.com/a?b=c&d=%20#e", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ababababababababab", "    " * 9, "\n" * 17,
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich 0123456789",
]


def random_texts(count):
    """Of characters of all kinds, so that the kinds meet in every order."""
    draw = random.Random(7)
    kinds = ["abcdeETSR", "0123½²٣", " ", "  ", "\n\t\r", "'s'ts'llved", ".,;(){}<>|", "äßéñ", "ещёбул", "いろ漢字", "🙂👍🏽\u200d", "\u00a0\u2003\u0085"]
    for _ in range(count):
        yield "".join(draw.choice(draw.choice(kinds)) for _ in range(draw.randrange(3, 60)))


def main():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<|endoftext|>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    pages = [open(path, encoding="utf-8").read() for path in sorted(glob.glob(os.path.join(root, "docs", "*.md")))]
    tokenizer.train_from_iterator(pages + [text * 200 for text in foreign], trainer)
    tokenizer.model.save(here)
    cases = [{"text": text, "tokens": tokenizer.encode(text).ids} for text in texts + list(random_texts(120))]
    for case in cases:
        assert tokenizer.decode(case["tokens"], skip_special_tokens=False) == case["text"], case
    with open(os.path.join(here, "texts.json"), "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
