"""follow_sum.py parameters FILE                       writes parameters for ppopt-train-program (generation_program.h)
follow_sum.py vocabulary FOLDER SIZE                writes GPT-2's two files: the tokens are a, b, c, ...
follow_sum.py check PROMPT COUNT [SIZE] COMMAND...  runs the command with --generate; it prints the text that follows

The model's next token is twice the sum of those it has seen plus one, modulo 8; it sees 16, and where these are full goes on from the
last 8. SIZE: of the tokenizer; a token that it lacks is never chosen, and the first is the likeliest then."""

import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import safetensors_io

LETTERS = "abcdefgh"


def continue_text(text, count, size):
    seen, tokens = [], []
    for token in [LETTERS.index(letter) for letter in text]:
        tokens.append(token)
    for i in range(len(text) + count):
        if i >= len(tokens):
            following = (2 * sum(seen) + 1) % 8
            tokens.append(following if following < size else 0)
        if len(seen) == 16:
            seen = seen[-8:]
        seen.append(tokens[i])
    return "".join(LETTERS[token] for token in tokens)


def main():
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "parameters":
        safetensors_io.write(rest[0], {"w": np.array([3.0, 0.0]), "unused": np.zeros((1, 3), np.float32)})
    elif what == "vocabulary":
        os.makedirs(rest[0], exist_ok=True)
        with open(os.path.join(rest[0], "vocab.json"), "w") as file:
            json.dump({letter: i for i, letter in enumerate(LETTERS[:int(rest[1])])}, file)
        with open(os.path.join(rest[0], "merges.txt"), "w") as file:
            file.write("#version: 0.2\n")
    else:
        prompt, count = rest[0], int(rest[1])
        size = int(rest[2]) if rest[2].isdigit() else 8
        command = rest[3 if rest[2].isdigit() else 2:]
        done = subprocess.run([*command, "--generate", str(count), "--prompt", prompt], capture_output=True, text=True)
        text = continue_text(prompt, count, size)
        if done.returncode != 0 or done.stdout != text + "\n" \
                or f"\ngenerated {count} tokens in " not in done.stderr:
            sys.exit(f"expected {text}, got status {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
