"""What harnesses share. They compile for the built-in device, wherever they run: what `ppopt machine` measured decides where models are cut."""
import os

from support.mpirun import ENVIRONMENT

os.environ.update(ENVIRONMENT)
os.environ["PPOPT_DEVICE"] = "builtin"
