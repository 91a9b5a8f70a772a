"""A small GPT under the plans that runs are disturbed under."""

import os

from support.executable import checked, compile_model

MODEL = ["--layers", "2", "--width", "32", "--heads", "2", "--vocab", "256", "--seq", "16", "--batch", "8"]
PLANS = {"dp": ["--mesh", "dp=2", "--microbatches", "2"], "pp": ["--mesh", "dp=1,pp=2", "--microbatches", "4"],
         "both": ["--mesh", "dp=2,pp=2", "--microbatches", "4"],
         "shards": ["--mesh", "dp=2", "--microbatches", "2", "--zero", "3", "--bucket-bytes", "16KiB"]}


class Programs:
    def __init__(self, ppopt, directory):
        self.ppopt, self.directory, self.made = ppopt, directory, {}

    def get(self, plan):
        if plan not in self.made:
            model = os.path.join(self.directory, "model.mlir")
            checked([self.ppopt, "model", "gpt", *MODEL, "-o", model])
            self.made[plan] = compile_model(self.ppopt, model, os.path.join(self.directory, plan),
                                            [*PLANS[plan], "--threads", "1"])
        return self.made[plan]
