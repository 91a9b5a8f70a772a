"""Parameters that are trained differently: what a description says of them is in the model's text, or in flags of a plan."""
import copy
import fnmatch

from support.random_plans import pick


def lr_scale(entry):
    return entry.get("lr_scale", 1.0)


def decay_scale(entry):
    return 0.0 if entry.get("no_decay") else entry.get("decay_scale", 1.0)


# Of a flag: what it says of a parameter after its name; None where it can't say it.
SAID = {"--freeze": lambda entry: "" if entry.get("frozen") else None,
        "--lr-scale": lambda entry: f"={lr_scale(entry)!r}",
        "--decay": lambda entry: f"={decay_scale(entry)!r}"}
ATTRIBUTES = {"--freeze": ("frozen",), "--lr-scale": ("lr_scale",), "--decay": ("no_decay", "decay_scale")}
# What the text says where a flag says otherwise.
OTHERWISE = {"--freeze": [{}], "--lr-scale": [{}, {"lr_scale": 3.0}], "--decay": [{}, {"no_decay": True}, {"decay_scale": 5.0}]}


def matched(params, glob):
    return [entry for entry in params if fnmatch.fnmatchcase(entry["name"], glob)]


def draw_flags(random, description):
    """Flags that say some of it, by names or by globs."""
    params, flags = description["params"], []
    for flag, said in SAID.items():
        items = []
        for entry in params:
            if not any(entry.get(name) is not None for name in ATTRIBUTES[flag]) or random.random() < 0.4:
                continue
            name = entry["name"]
            glob = pick(random, [name, name, name[:2] + "*", name[:-1] + "?"])
            if any(said(other) != said(entry) for other in matched(params, glob)):
                glob = name
            items.append(glob + said(entry))
        if items:
            flags += [flag, "; ".join(dict.fromkeys(items))]
    return flags


def without_flags(description, flags):
    """The description of the text that these flags are compiled with: of what they say the text says nothing, or otherwise."""
    result = copy.deepcopy(description)
    for flag, said in SAID.items():
        for item in flags[flags.index(flag) + 1].split("; ") if flag in flags else ():
            glob = item.split("=")[0]
            for number, entry in enumerate(matched(result["params"], glob)):
                original = next(p for p in description["params"] if p["name"] == entry["name"])
                if glob + (said(original) or "") != item or said(original) is None:
                    raise ValueError(f"{flag} {item} is not what the description says of {entry['name']}")
                for name in ATTRIBUTES[flag]:
                    entry.pop(name, None)
                entry.update(OTHERWISE[flag][number % len(OTHERWISE[flag])])
    return result
