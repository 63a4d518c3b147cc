"""Chapter 8's tables, from the logs of the exact suites.

    tables.py forms LOG...      per operator: cases, draws, largest output, degrees and doubt of a case, seconds
    tables.py claims LOG...     per suite: the tests that compared numbers
"""

import pathlib
import re
import sys

LINE = re.compile(r"    (?:equal in|(\S+) \d+:) (\d+) draws[;,] (?:.*y )?(\d+).*; degrees (\d+), of arguments (\d+), "
                  r"of exponents (\d+): doubt 2\^(-?\d+); ([\d.]+) s")
HEADS = {"forms": "operator cases draws entries_of_y degree of_arguments of_exponents doubt seconds",
         "claims": "suite test numbers_compared degree doubt"}
table, rows = sys.argv[1], {}
for path in map(pathlib.Path, sys.argv[2:]):
    operator = ""
    for line in path.read_text().splitlines():
        operator = line.split()[0] if re.match("[a-z]", line) else operator
        found = LINE.match(line)
        key = operator if table == "forms" else (path.stem.removeprefix("test_"), found and found[1])
        if found and int(found[3]):
            rows.setdefault(key, []).append([float(number) for number in found.groups()[1:]])
print("# " + HEADS[table].replace(" ", "\t").replace("_", " "))
for key, lines in rows.items():
    draws, numbers, degree, argument, exponent, doubt, seconds = zip(*lines)
    if table == "forms":
        row = [key, len(lines), draws[0], max(numbers), max(degree), max(argument), max(exponent)]
    else:
        row = [*key, sum(numbers), max(degree)]
    row += [f"2^{max(doubt):.0f}"] + [f"{sum(seconds):.0f}"] * (table == "forms")
    print(*(word if isinstance(word, str) else f"{word:.0f}" for word in row), sep="\t")
