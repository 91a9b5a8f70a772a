"""A small set of combinations in which each value of each factor meets each value of each other, as far as these may meet.

    rows = cover({"places": [2, 3], "launch": ["threads", "local"]}, allowed)

`allowed(row)` says whether a row, possibly of some factors only, breaks no rule; rules about two factors suffice that every
row which can be begun can be finished, and a pair that cannot be finished is left out. Deterministic.
"""
import itertools


def finish(row, factors, allowed):
    """A whole row that has the values of `row`, or None."""
    missing = [name for name in factors if name not in row]
    if not missing:
        return row
    for value in factors[missing[0]]:
        longer = dict(row, **{missing[0]: value})
        if allowed(longer):
            whole = finish(longer, factors, allowed)
            if whole:
                return whole
    return None


def pairs_of(row):
    return {frozenset(pair) for pair in itertools.combinations(row.items(), 2)}


def all_pairs(factors, allowed):
    """Every pair of values that some allowed row has."""
    pairs = []
    for one, other in itertools.combinations(factors, 2):
        for values in itertools.product(factors[one], factors[other]):
            row = {one: values[0], other: values[1]}
            if allowed(row) and finish(row, factors, allowed):
                pairs.append(frozenset(row.items()))
    return pairs


def new_pairs(row, name, value, missing):
    return sum(frozenset([item, (name, value)]) in missing for item in row.items())


def cover(factors, allowed, begun=()):
    """Ends the rows that are begun, then starts one with each pair that is missing; takes for each other factor the value
    that adds most."""
    pairs = all_pairs(factors, allowed)
    missing, rows = set(pairs), []
    for start in [*begun, *pairs]:
        if not isinstance(start, dict) and start not in missing:
            continue
        row = dict(start)
        for name in factors:
            if name in row:
                continue
            # Ties go to the value that the rows have least often, so that none is worn out.
            values = sorted(factors[name], key=lambda v: (-new_pairs(row, name, v, missing),
                                                          sum(r[name] == v for r in rows)))
            for value in values:
                longer = dict(row, **{name: value})
                if allowed(longer) and finish(longer, factors, allowed):
                    row = longer
                    break
        rows.append(row)
        missing -= pairs_of(row)
    assert_covered(rows, factors, allowed)
    return rows


def assert_covered(rows, factors, allowed):
    seen = set().union(*(pairs_of(row) for row in rows))
    for row in rows:
        assert set(row) == set(factors) and allowed(row), f"no row of these factors: {row}"
    for pair in all_pairs(factors, allowed):
        assert pair in seen, f"no row has {dict(pair)}"
    for name, values in factors.items():
        for value in values:
            assert any(row[name] == value for row in rows), f"no row has {name} {value}"
